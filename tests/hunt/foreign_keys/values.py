"""Types of columns, and the few values that each has here, so that rows often have parents."""

from __future__ import annotations

from random import Random

# Too long for some columns of its class: a value that CASCADE cannot hand on.
LONG = "'abcdefghijkl'"
BLOB = "blob"
STRINGS = ("'a'", "'A'", "'a '", "'b'", "'B  '", "''", "' '", "'ä'", "'ab'")
# Types of one class may reference each other: "VARCHAR of a collation", or one type alone.
TYPES: dict[str, tuple[str, ...]] = {
    "int(11)": ("INT",),
    "int(10) unsigned": ("INT UNSIGNED",),
    "smallint(6)": ("SMALLINT",),
    "bigint(20)": ("BIGINT",),
    "decimal(6,2)": ("DECIMAL(6,2)",),
    "double": ("DOUBLE",),
    "date": ("DATE",),
    "datetime(3)": ("DATETIME(3)",),
    "enum('x','y','z')": ("ENUM('x','y','z')",),
    "varbinary": ("VARBINARY(6)", "VARBINARY(9)"),
    BLOB: ("BLOB", "TEXT"),
    # With NO PAD InnoDB finds no CHAR by a VARCHAR: it compares the spaces behind its values.
    "utf8mb4_unicode_nopad_ci": tuple(
        f"VARCHAR({length}) COLLATE utf8mb4_unicode_nopad_ci" for length in (8, 20)
    ),
    **{
        collation: tuple(
            f"{sql} CHARACTER SET {collation.partition('_')[0]} COLLATE {collation}"
            for sql in ("VARCHAR(8)", "VARCHAR(8)", "VARCHAR(20)", "CHAR(8)")
        )
        for collation in (
            "utf8mb4_general_ci",
            "utf8mb4_bin",
            "utf8mb4_unicode_ci",
            "latin1_swedish_ci",
            "latin1_general_cs",
        )
    },
}
VALUES: dict[str, tuple[str, ...]] = {
    "decimal(6,2)": ("0", "1.5", "-1.5", "1.50", "2"),
    "double": ("0", "-0e0", "1.5", "-1.5", "1e300"),
    "date": ("'2026-01-01'", "'2026-01-02'", "'2026-02-01'"),
    "datetime(3)": (
        "'2026-01-01'",
        "'2026-01-01 00:00:00.001'",
        "'2026-01-02 10:00:00'",
    ),
    "enum('x','y','z')": ("'x'", "'y'", "'z'"),
    BLOB: ("'a'", "''", "REPEAT('blob', 3000)"),
    "varbinary": ("'a'", "'A'", "'a '", "'b'", "''", "0x6100", "0xff"),
}
# Columns of keys are of these.
OF_KEYS = tuple(kind for kind in TYPES if kind != BLOB)
INTEGERS = ("1", "2", "3", "4", "5")
SIGNED = (*INTEGERS, "0", "-1")
# What names a row; each table has a unique key of it, and many references go to it.
ROWS = 12
# A type that no other class may reference, or be referenced by, in InnoDB either. DECIMAL, DATETIME
# and VARBINARY are all bytes to InnoDB, which lets them reference each other.
BYTES = ("decimal(6,2)", "datetime(3)", "varbinary")


def class_of(column_type: str, collation: str) -> str:
    """The class of a column, as information_schema describes it."""
    if column_type in ("text", "blob"):
        return BLOB
    if collation and not column_type.startswith("enum"):
        return collation
    return "varbinary" if column_type.startswith("varbinary") else column_type


def random_type(chance: Random, kind: str) -> str:
    """A type of a class."""
    return chance.choice(TYPES[kind])


def value(chance: Random, kind: str) -> str:
    """One of the values of a class; never NULL."""
    if kind == "varbinary" and chance.random() < 0.02:
        return "'1234567'"
    if kind in VALUES:
        return chance.choice(VALUES[kind])
    if kind.endswith("unsigned"):
        return chance.choice(INTEGERS)
    if "int(" in kind:
        return chance.choice(SIGNED)
    return LONG if chance.random() < 0.02 else chance.choice(STRINGS)


def fit(child: str, parent: str) -> bool:
    """Whether both engines have the same opinion of a reference between these classes."""
    if BLOB in (child, parent):
        return False
    return child == parent or not (child in BYTES and parent in BYTES)


def virtual(chance: Random, name: str, kind: str) -> tuple[str, str, str]:
    """A virtual column of another one: its type, its class, its expression.

    Expressions never fail: with InnoDB they do so also for the value that a row has had before.
    """
    whether = ("INT", "int(11)", f"{name} IS NULL")
    if kind == BLOB:
        longer = ("BLOB", BLOB, f"CONCAT({name}, '!')")
        return chance.choice([("INT", "int(11)", f"LENGTH({name})"), longer, whether])
    if "int(" in kind:
        shifted = ("BIGINT", "bigint(20)", f"COALESCE({name}, 1) + 1")
        return chance.choice([("INT", "int(11)", f"{name} % 3"), shifted, whether])
    if "_" in kind:
        sql = f"VARCHAR(30) CHARACTER SET {kind.partition('_')[0]} COLLATE {kind}"
        longer = (sql, kind, f"CONCAT({name}, 'q')")
        return chance.choice([(sql, kind, f"LEFT({name}, 1)"), longer, whether])
    if kind == "date":
        return "INT", "int(11)", f"TO_DAYS({name})"
    if kind in ("varbinary", "datetime(3)"):
        return "INT", "int(11)", f"LENGTH({name})"
    return chance.choice([("INT", "int(11)", f"{name} > 1"), whether])
