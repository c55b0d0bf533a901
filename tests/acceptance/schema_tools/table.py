"""The table that the tools change, its first rows, and what its rows must be in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

SCHEMA = "tools"
TABLE = "orders"
ARCHIVE = "orders_archive"
COLUMNS = (
    "id",
    "customer",
    "code",
    "state",
    "amount",
    "weight",
    "name",
    "note",
    "body",
    "ordered",
    "changed",
    "flags",
)
# Rows of before are purged, rows of before are archived; clients never make a row that old.
PURGED_BEFORE = date(2005, 1, 1)
ARCHIVED_BEFORE = date(2010, 1, 1)
# Between the keys of the first rows is room for those that clients give to rows: one key for each.
KEY_STEP = 16
# Rows of this customer belong to all clients, which add to their amounts.
SHARED_CUSTOMER = 0
SHARED_ROWS = 16
CUSTOMERS_OF_CLIENT = 1000
ROWS_OF_CUSTOMER = 8

Row = tuple[Any, ...]


def definition(name: str, engine: str) -> str:
    return (
        f"CREATE TABLE {SCHEMA}.{name} ("
        "id BIGINT NOT NULL AUTO_INCREMENT, customer INT NOT NULL, "
        "code VARCHAR(24) CHARACTER SET ascii NOT NULL, "
        "state ENUM('new','paid','sent') NOT NULL, amount DECIMAL(12,2) NOT NULL, weight DOUBLE, "
        "name VARCHAR(40), note TEXT, body VARBINARY(64), ordered DATE NOT NULL, "
        "changed DATETIME(6) NOT NULL, flags SET('gift','fragile','late') NOT NULL, "
        "PRIMARY KEY (id), UNIQUE KEY code (code), KEY customer (customer, ordered), "
        f"KEY name (name(10)), KEY state (state, amount)) ENGINE={engine} CHARSET=utf8mb4"
    )


def client_of(customer: int) -> int:
    """The client that owns the rows of a customer; -1 for those that all share."""
    return -1 if customer == SHARED_CUSTOMER else customer // CUSTOMERS_OF_CLIENT - 1


def first_rows(count: int, clients: int, chance: Random) -> list[Row]:
    """Rows of all ages, dealt to the clients; the first ones are those that all share."""
    rows = []
    per_client = max(1, count // clients // ROWS_OF_CUSTOMER)
    for number in range(1, count + 1):
        customer = SHARED_CUSTOMER
        ordered = ARCHIVED_BEFORE + timedelta(days=chance.randrange(4000))
        if number > SHARED_ROWS:
            owner = number % clients
            offset = chance.randrange(min(per_client, CUSTOMERS_OF_CLIENT))
            customer = (owner + 1) * CUSTOMERS_OF_CLIENT + offset
            ordered = date(2000, 1, 1) + timedelta(days=chance.randrange(8000))
        values = random_values(chance) | {"ordered": ordered}
        values |= {"id": number * KEY_STEP, "customer": customer, "code": f"first-{number}"}
        rows.append(tuple(values[column] for column in COLUMNS))
    return rows


def random_values(chance: Random) -> dict[str, Any]:
    """Values of all columns but the keys."""
    letters = "aäßéЖ漢😀 '\"\\%_\n\0"
    text = "".join(chance.choices(letters, k=chance.randrange(30)))
    flags = [flag for flag in ("gift", "fragile", "late") if chance.random() < 0.3]
    return {
        "state": chance.choice(("new", "paid", "sent")),
        "amount": Decimal(chance.randrange(-(10**6), 10**9)) / 100,
        # As many digits as Perl keeps of a number: pt-archiver takes rows through it.
        "weight": chance.choice((None, 0.0, round(chance.uniform(-1e9, 1e9), 3))),
        "name": chance.choice((None, f"{chance.choice('abcdefgh')}{text}")),
        "note": chance.choice((None, text * chance.choice((0, 1, 40)))),
        "body": chance.choice((None, chance.randbytes(chance.randrange(64)))),
        "ordered": ARCHIVED_BEFORE + timedelta(days=chance.randrange(4000)),
        "changed": datetime(2020, 1, 1) + timedelta(microseconds=chance.randrange(10**14)),
        "flags": ",".join(flags),
    }


def with_values(row: Row, **values: Any) -> Row:
    """The row with other values in some columns."""
    return tuple(values.get(column, value) for column, value in zip(COLUMNS, row, strict=True))


def differences(wanted: Mapping[int, Row], found: Iterable[Row], shown: int = 5) -> list[str]:
    """How rows differ from what they must be; the first few, and how many there are."""
    texts = []
    seen = set()
    for row in found:
        key = row[0]
        if key in seen:
            texts.append(f"row {key} is there twice")
        elif key not in wanted:
            texts.append(f"row {key} must not be there: {row}")
        elif row != wanted[key]:
            pairs = zip(COLUMNS, wanted[key], row, strict=True)
            changed = "; ".join(f"{c} is {f!r}, not {w!r}" for c, w, f in pairs if w != f)
            texts.append(f"row {key}: {changed}")
        seen.add(key)
    texts += [f"row {key} is missing: {wanted[key]}" for key in wanted if key not in seen]
    more = len(texts) - shown
    return [*texts[:shown], *([f"and {more} more rows"] if more > 0 else [])]
