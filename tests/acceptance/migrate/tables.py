"""The tables that are migrated: ten tied by foreign keys, and one of each other class of the plan.

Every row has an owner. Owner 0 has the rows that are loaded and never change; clients have theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "shop"
NOBODY = 0


@dataclass(frozen=True)
class Rule:
    """A foreign key to `id` of the parent; `action` is what a deleted parent does to the child."""

    child: str
    column: str
    parent: str
    action: str = "RESTRICT"


# A chain, a ring (orders and items), and two tables that reference themselves.
RULES = (
    Rule("categories", "above", "categories", "SET NULL"),
    Rule("products", "category", "categories"),
    Rule("customers", "country", "countries"),
    Rule("customers", "referrer", "customers", "SET NULL"),
    Rule("accounts", "customer", "customers", "CASCADE"),
    Rule("orders", "customer", "customers", "CASCADE"),
    Rule("orders", "last_item", "items", "SET NULL"),
    Rule("items", "ordered", "orders", "CASCADE"),
    Rule("items", "product", "products"),
    Rule("stock", "product", "products", "CASCADE"),
    Rule("stock", "warehouse", "warehouses"),
    Rule("shipments", "ordered", "orders", "CASCADE"),
    Rule("shipments", "warehouse", "warehouses"),
)
TIED = (
    "countries",
    "categories",
    "products",
    "customers",
    "accounts",
    "orders",
    "items",
    "warehouses",
    "stock",
    "shipments",
)
# What the columns of the tied tables are, beside id, owner and those of the rules.
_VALUES = {
    "customers": "name VARCHAR(40) NOT NULL",
    "accounts": "amount DECIMAL(12,2) NOT NULL",
    "orders": "note VARCHAR(60) CHARACTER SET utf8mb4",
    "items": "quantity INT NOT NULL",
    "stock": "quantity INT NOT NULL",
    "shipments": "sent DATETIME(3)",
}
_LINKS = {table: tuple(rule for rule in RULES if rule.child == table) for table in TIED}
COLUMNS = {
    table: (
        "id",
        "owner",
        *(rule.column for rule in _LINKS[table]),
        *([_VALUES[table].split()[0]] if table in _VALUES else []),
    )
    for table in TIED
}
# Tables by themselves: the way that the plan is to say, and the definition.
SINGLE = {
    "events": (
        "online",
        "(kind VARCHAR(12), id BIGINT, owner INT NOT NULL, code BIGINT NOT NULL, text BLOB, "
        "PRIMARY KEY (kind, id), UNIQUE KEY (code), KEY (owner)) CHARACTER SET latin1",
    ),
    "parts": (
        "online",
        "(id INT PRIMARY KEY, owner INT NOT NULL, value INT, KEY (owner)) "
        "PARTITION BY HASH (id) PARTITIONS 3",
    ),
    "computed": (
        "online",
        "(id INT PRIMARY KEY, owner INT NOT NULL, value INT NOT NULL, twice INT AS (value * 2) "
        "VIRTUAL, next INT AS (value + 1) STORED, KEY (twice), KEY (owner))",
    ),
    "log": ("held", "(id INT NOT NULL, owner INT NOT NULL, value INT, KEY (owner))"),
    "kinds": (
        "held",
        "(id ENUM('z', 'y', 'x') PRIMARY KEY, owner INT NOT NULL, value INT)",
    ),
    "audited": ("alter", "(id INT PRIMARY KEY, owner INT NOT NULL, value INT, KEY (owner))"),
}
MIGRATED = (*TIED, *SINGLE)
STAYING = "documents"  # FULLTEXT


def create() -> list[str]:
    """Statements that make the tables in InnoDB, without rows."""
    found = [f"CREATE DATABASE {SCHEMA}", f"USE {SCHEMA}", "SET foreign_key_checks = 0"]
    for table in TIED:
        parts = ["id INT PRIMARY KEY", "owner INT NOT NULL"]
        parts += [f"{rule.column} INT" for rule in _LINKS[table]]
        parts += [_VALUES[table]] if table in _VALUES else []
        parts += ["KEY (owner)"]
        parts += [
            f"CONSTRAINT {table}_{rule.column} FOREIGN KEY ({rule.column}) REFERENCES "
            f"{rule.parent} (id) ON DELETE {rule.action}"
            for rule in _LINKS[table]
        ]
        found.append(f"CREATE TABLE {table} ({', '.join(parts)}) ENGINE=InnoDB")
    for table, (_, definition) in SINGLE.items():
        body, _, partitions = definition.partition(" PARTITION BY")
        rest = f" PARTITION BY{partitions}" if partitions else ""
        found.append(f"CREATE TABLE {table} {body} ENGINE=InnoDB{rest}")
    found.append(
        "CREATE TRIGGER audit BEFORE UPDATE ON audited FOR EACH ROW SET NEW.value = NEW.value + 1"
    )
    found.append(
        f"CREATE TABLE {STAYING} (id INT PRIMARY KEY, t TEXT, FULLTEXT KEY (t)) ENGINE=InnoDB"
    )
    return found


def event_rows(rows: int) -> int:
    """How many events there are; so many that an online copy takes some time."""
    return max(10_000, rows // 10)


def load(rows: int) -> list[str]:
    """Statements that load about `rows` rows of nobody's into the tied tables, more beside."""
    few, some = max(1, rows // 1000), max(10, rows // 20)
    orders, items = rows // 4, rows - rows // 4 - 3 * (rows // 20)
    seq = f"{SCHEMA}.seq_1_to_"
    return [
        f"USE {SCHEMA}",
        "SET foreign_key_checks = 0",
        f"INSERT INTO countries SELECT seq, 0 FROM {seq}10",
        f"INSERT INTO categories SELECT seq, 0, NULLIF(seq DIV 2, 0) FROM {seq}20",
        f"INSERT INTO products SELECT seq, 0, 1 + seq % 20 FROM {seq}{few}",
        f"INSERT INTO warehouses SELECT seq, 0 FROM {seq}5",
        f"INSERT INTO stock SELECT seq, 0, seq, 1 + seq % 5, seq % 100 FROM {seq}{few}",
        f"INSERT INTO customers SELECT seq, 0, 1 + seq % 10, NULLIF(seq DIV 3, 0), "
        f"CONCAT('customer ', seq) FROM {seq}{some}",
        f"INSERT INTO accounts SELECT seq, 0, seq, seq * 1.25 FROM {seq}{some}",
        f"INSERT INTO orders SELECT seq, 0, 1 + seq % {some}, "
        f"IF(seq % 2, NULL, 1 + seq % {items}), IF(seq % 5, CONCAT('näh ', seq), NULL) "
        f"FROM {seq}{orders}",
        f"INSERT INTO items SELECT seq, 0, 1 + seq % {orders}, 1 + seq % {few}, seq % 9 "
        f"FROM {seq}{items}",
        f"INSERT INTO shipments SELECT seq, 0, 1 + seq % {orders}, 1 + seq % 5, "
        f"'2026-01-01' + INTERVAL seq SECOND FROM {seq}{some}",
        f"INSERT INTO events SELECT CONCAT('k', seq % 7), seq, 0, seq, REPEAT(CHAR(seq % 256), 20) "
        f"FROM {seq}{event_rows(rows)}",
        f"INSERT INTO parts SELECT seq, 0, seq FROM {seq}{some}",
        f"INSERT INTO computed (id, owner, value) SELECT seq, 0, seq FROM {seq}{some}",
        f"INSERT INTO log SELECT seq % 50, 0, seq FROM {seq}{some}",
        "INSERT INTO kinds VALUES ('x', 0, 1), ('z', 0, 2)",
        f"INSERT INTO audited SELECT seq, 0, seq FROM {seq}{some}",
        f"INSERT INTO {STAYING} VALUES (1, 'full text')",
    ]


def sums() -> dict[str, str]:
    """A query for each table whose result tells whether nobody's rows are as they were."""
    columns = dict(COLUMNS) | {
        "events": ("kind", "id", "code", "text"),
        "parts": ("id", "value"),
        "computed": ("id", "value", "twice", "next"),
        "log": ("id", "value"),
        "kinds": ("id", "value"),
        "audited": ("id", "value"),
    }
    return {
        table: f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', "
        f"{', '.join(f'IFNULL(HEX(CONCAT({name})), 0)' for name in names)}))) "
        f"FROM {SCHEMA}.{table} WHERE owner = {NOBODY}"
        for table, names in columns.items()
    }
