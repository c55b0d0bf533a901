"""The ten foreign keys of TPC-C (clause 1.3), and the rows that would break them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ForeignKey:
    """Columns of `child` reference as many of `parent`."""

    child: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]

    def clause(self) -> str:
        return (
            f"ADD FOREIGN KEY ({', '.join(self.columns)}) "
            f"REFERENCES {self.parent} ({', '.join(self.parent_columns)})"
        )

    def orphans(self) -> str:
        """A query that counts children without their parent; no column of them is NULL."""
        pairs = zip(self.columns, self.parent_columns, strict=True)
        joined = " AND ".join(f"c.{own} = p.{other}" for own, other in pairs)
        return (
            f"SELECT COUNT(*) FROM {self.child} AS c LEFT JOIN {self.parent} AS p ON {joined} "
            f"WHERE p.{self.parent_columns[0]} IS NULL"
        )


FOREIGN_KEYS = (
    ForeignKey("district", ("d_w_id",), "warehouse", ("w_id",)),
    ForeignKey("customer", ("c_w_id", "c_d_id"), "district", ("d_w_id", "d_id")),
    ForeignKey(
        "history",
        ("h_c_w_id", "h_c_d_id", "h_c_id"),
        "customer",
        ("c_w_id", "c_d_id", "c_id"),
    ),
    ForeignKey("history", ("h_w_id", "h_d_id"), "district", ("d_w_id", "d_id")),
    ForeignKey("orders", ("o_w_id", "o_d_id", "o_c_id"), "customer", ("c_w_id", "c_d_id", "c_id")),
    ForeignKey(
        "new_orders", ("no_w_id", "no_d_id", "no_o_id"), "orders", ("o_w_id", "o_d_id", "o_id")
    ),
    ForeignKey(
        "order_line", ("ol_w_id", "ol_d_id", "ol_o_id"), "orders", ("o_w_id", "o_d_id", "o_id")
    ),
    ForeignKey("order_line", ("ol_supply_w_id", "ol_i_id"), "stock", ("s_w_id", "s_i_id")),
    ForeignKey("stock", ("s_w_id",), "warehouse", ("w_id",)),
    ForeignKey("stock", ("s_i_id",), "item", ("i_id",)),
)


def statements() -> Iterator[str]:
    """Adds all of them to tables that are loaded, and the indexes that they need."""
    for table in dict.fromkeys(key.child for key in FOREIGN_KEYS):
        clauses = [key.clause() for key in FOREIGN_KEYS if key.child == table]
        yield f"ALTER TABLE {table} {', '.join(clauses)}"


def violations(cursor: Any) -> Iterator[str]:
    """Which of them are broken, in words."""
    for key in FOREIGN_KEYS:
        cursor.execute(key.orphans())
        ((count,),) = cursor.fetchall()
        if count:
            yield f"{count} rows of {key.child} without their row of {key.parent}"
