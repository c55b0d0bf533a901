"""The consistency conditions of TPC-C (clause 3.3.2), each as a query of what violates it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Condition:
    """`query` counts what violates the condition; `{w}` in it is the number of a warehouse."""

    clause: str
    text: str
    query: str
    after_load_only: bool = False


_LINES = """(SELECT ol_d_id, ol_o_id, COUNT(*) AS lines_, SUM(ol_delivery_d IS NULL) AS open_,
    SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) AS delivered
    FROM order_line WHERE ol_w_id = {w} GROUP BY ol_d_id, ol_o_id) AS l"""

_DELIVERED = f"""(SELECT o_d_id, o_c_id, SUM(delivered) AS delivered FROM orders
    JOIN {_LINES} ON ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = {{w}}
    GROUP BY o_d_id, o_c_id) AS o"""

_PAID = """(SELECT h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history WHERE h_c_w_id = {w}
    GROUP BY h_c_d_id, h_c_id) AS h"""

CONDITIONS = (
    Condition(
        "3.3.2.1",
        "w_ytd is the sum of d_ytd",
        """SELECT COUNT(*) FROM warehouse WHERE w_id = {w}
        AND w_ytd <> (SELECT COALESCE(SUM(d_ytd), 0) FROM district WHERE d_w_id = {w})""",
    ),
    Condition(
        "3.3.2.2",
        "d_next_o_id follows the greatest number in orders and in new_orders",
        """SELECT COUNT(*) FROM district
        LEFT JOIN (SELECT o_d_id, MAX(o_id) AS last FROM orders WHERE o_w_id = {w}
          GROUP BY o_d_id) AS o ON o_d_id = d_id
        LEFT JOIN (SELECT no_d_id, MAX(no_o_id) AS last_new FROM new_orders WHERE no_w_id = {w}
          GROUP BY no_d_id) AS n ON no_d_id = d_id
        WHERE d_w_id = {w} AND
          (d_next_o_id - 1 <> COALESCE(last, 0) OR d_next_o_id - 1 <> last_new)""",
    ),
    Condition(
        "3.3.2.3",
        "the numbers in new_orders have no gaps",
        """SELECT COUNT(*) FROM (SELECT no_d_id FROM new_orders WHERE no_w_id = {w}
        GROUP BY no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS gaps""",
    ),
    Condition(
        "3.3.2.4",
        "o_ol_cnt of all orders is the number of order lines",
        """SELECT COUNT(*) FROM (SELECT o_d_id, SUM(o_ol_cnt) AS counted FROM orders
          WHERE o_w_id = {w} GROUP BY o_d_id) AS o
        LEFT JOIN (SELECT ol_d_id, COUNT(*) AS present FROM order_line WHERE ol_w_id = {w}
          GROUP BY ol_d_id) AS l ON ol_d_id = o_d_id WHERE counted <> COALESCE(present, 0)""",
    ),
    Condition(
        "3.3.2.5",
        "an order has no carrier exactly while it is a new order",
        """SELECT COUNT(*) FROM (SELECT d, o FROM (
          SELECT o_d_id AS d, o_id AS o, o_carrier_id IS NULL AS open_ FROM orders
            WHERE o_w_id = {w}
          UNION ALL SELECT no_d_id, no_o_id, -1 FROM new_orders WHERE no_w_id = {w}) AS both_
          GROUP BY d, o HAVING SUM(open_) <> 0) AS differing""",
    ),
    Condition(
        "3.3.2.6",
        "o_ol_cnt of each order is the number of its order lines",
        f"""SELECT COUNT(*) FROM orders LEFT JOIN {_LINES} ON ol_d_id = o_d_id AND ol_o_id = o_id
        WHERE o_w_id = {{w}} AND o_ol_cnt <> COALESCE(lines_, 0)""",
    ),
    Condition(
        "3.3.2.7",
        "an order line has no delivery date exactly while its order has no carrier",
        f"""SELECT COUNT(*) FROM orders JOIN {_LINES} ON ol_d_id = o_d_id AND ol_o_id = o_id
        WHERE o_w_id = {{w}} AND open_ <> IF(o_carrier_id IS NULL, lines_, 0)""",
    ),
    Condition(
        "3.3.2.8",
        "w_ytd is the sum of the warehouse's history",
        """SELECT COUNT(*) FROM warehouse WHERE w_id = {w}
        AND w_ytd <> (SELECT COALESCE(SUM(h_amount), 0) FROM history WHERE h_w_id = {w})""",
    ),
    Condition(
        "3.3.2.9",
        "d_ytd is the sum of the district's history",
        """SELECT COUNT(*) FROM district LEFT JOIN (SELECT h_d_id, SUM(h_amount) AS paid
          FROM history WHERE h_w_id = {w} GROUP BY h_d_id) AS h ON h_d_id = d_id
        WHERE d_w_id = {w} AND d_ytd <> COALESCE(paid, 0)""",
    ),
    Condition(
        "3.3.2.10",
        "c_balance is what was delivered without what was paid",
        f"""SELECT COUNT(*) FROM customer LEFT JOIN {_DELIVERED} ON o_d_id = c_d_id
          AND o_c_id = c_id
        LEFT JOIN {_PAID} ON h_c_d_id = c_d_id AND h_c_id = c_id
        WHERE c_w_id = {{w}} AND c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)""",
    ),
    Condition(
        "3.3.2.11",
        "2,100 orders of each district are delivered",
        """SELECT COUNT(*) FROM district
        LEFT JOIN (SELECT o_d_id, COUNT(*) AS all_ FROM orders WHERE o_w_id = {w}
          GROUP BY o_d_id) AS o ON o_d_id = d_id
        LEFT JOIN (SELECT no_d_id, COUNT(*) AS new FROM new_orders WHERE no_w_id = {w}
          GROUP BY no_d_id) AS n ON no_d_id = d_id
        WHERE d_w_id = {w} AND COALESCE(all_, 0) - COALESCE(new, 0) <> 2100""",
        after_load_only=True,
    ),
    Condition(
        "3.3.2.12",
        "c_balance and c_ytd_payment are what was delivered",
        f"""SELECT COUNT(*) FROM customer LEFT JOIN {_DELIVERED} ON o_d_id = c_d_id
          AND o_c_id = c_id
        WHERE c_w_id = {{w}} AND c_balance + c_ytd_payment <> COALESCE(delivered, 0)""",
    ),
)

# How many rows clause 4.3.3 wants of each table for a warehouse; order lines are random.
ROWS_OF_WAREHOUSE = {
    "warehouse": 1,
    "district": 10,
    "customer": 30_000,
    "history": 30_000,
    "orders": 30_000,
    "new_orders": 9_000,
    "stock": 100_000,
}
ITEMS = 100_000
TABLES = (*ROWS_OF_WAREHOUSE, "order_line", "item")


def violations(cursor: Any, warehouses: int, *, loaded: bool) -> Iterator[str]:
    """What violates the conditions, and what CHECK TABLE finds.

    `loaded` tells that nothing has run since the load.
    """
    for condition in CONDITIONS:
        if condition.after_load_only and not loaded:
            continue
        for warehouse in range(1, warehouses + 1):
            cursor.execute(condition.query.format(w=warehouse))
            ((count,),) = cursor.fetchall()
            if count:
                yield (
                    f"{condition.clause} ({condition.text}): {count} violations in warehouse "
                    f"{warehouse}"
                )
    for table in ("customer", "orders"):  # Those with an index besides the primary key.
        cursor.execute(f"CHECK TABLE {table}")
        answers = [f"{kind}: {text}" for _, _, kind, text in cursor.fetchall()]
        if answers != ["status: OK"]:
            yield f"CHECK TABLE {table}: {'; '.join(answers)}"


def contents(cursor: Any) -> dict[str, tuple[int, int]]:
    """The number of rows of each table, and a sum over all their columns."""
    found = {}
    for table in TABLES:
        cursor.execute(
            "SELECT column_name, is_nullable FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position",
            (table,),
        )
        columns = ",".join(
            f"COALESCE({name}, '-')" if nullable == "YES" else name
            for name, nullable in cursor.fetchall()
        )
        cursor.execute(f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {columns}))) FROM {table}")
        ((rows, total),) = cursor.fetchall()
        found[table] = (int(rows), int(total or 0))
    return found


def wrong_counts(found: dict[str, tuple[int, int]], warehouses: int) -> Iterator[str]:
    """Tables that have not the number of rows that the initial population has."""
    wanted = {table: count * warehouses for table, count in ROWS_OF_WAREHOUSE.items()}
    wanted["item"] = ITEMS
    for table, count in wanted.items():
        if found[table][0] != count:
            yield f"{table} has {found[table][0]} rows after the load instead of {count}"
