"""Differences from InnoDB on purpose, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

from tests.hunt.foreign_keys.schema import ForeignKey, Schema, Table
from tests.hunt.session import Answer

# A duplicate, a parent with children, a child without its parent.
RULES = (1062, 1451, 1452)
# Also a duplicate in a child that CASCADE or SET NULL changes.
BROKEN = (*RULES, 1761, 1762)
# A column that a foreign key keeps from taking another type, or NOT NULL.
OF_COLUMNS = (1830, 1832, 1833)
# A value that a column does not take.
OF_VALUES = (1264, 1265, 1292, 1366, 1406)
NOT_FOUND = 1032
# Also a chain that is too long.
OF_ROWS = (*BROKEN, 1296)


@dataclass(frozen=True)
class Told:
    """A statement and what both engines answered; InnoDB is not asked what ours alone refuses."""

    statement: str
    ours: Answer
    theirs: Answer | None
    # foreign_key_checks.
    checks: bool = True
    # Whether rows were written unchecked before.
    is_loose: bool = False
    # Whether ours has no orphans but those that there were.
    is_old: bool = False
    # The tables of before, and the level of the session.
    schema: Schema = field(default_factory=Schema)
    level: str = ""
    # LOCK TABLES, as long as it holds.
    locks: str = ""
    # Whether both have decided the transaction that was prepared last.
    is_decided: bool = False

    @property
    def right(self) -> int:
        """The number of InnoDB's error."""
        return self.theirs.error if self.theirs else 0


@dataclass(frozen=True)
class Reason:
    """Why two answers may differ."""

    name: str
    why: str
    holds: Callable[[Told], bool]


def has_clauses(told: Told) -> bool:
    """Whether the statement is an ALTER TABLE with several clauses."""
    return re.match(r"ALTER .*, (ADD|DROP|RENAME) ", told.statement) is not None


def share_a_column(told: Told) -> bool:
    """Whether two foreign keys of a table that is concerned share a column and its parent's."""
    return any(
        one.parent == other.parent and set(_pairs(one)) & set(_pairs(other))
        for table in _concerned(told)
        for one, other in combinations(table.foreign_keys, 2)
    )


def reference_each_other(told: Told) -> bool:
    """Whether a table that is named gets a new parent's value by what follows from its own rows."""
    schema = told.schema
    return any(
        other.parent == table.full and set(other.columns) & set(one.parent_columns)
        for table in schema.named(told.statement)
        for one in table.foreign_keys
        if (parent := schema.table(one.parent))
        for other in parent.foreign_keys
    )


def comes_back(told: Told) -> bool:
    """Whether foreign keys lead from a table that is named to itself."""
    schema = told.schema
    for table in schema.named(told.statement):
        parents = [key.parent for key in table.foreign_keys]
        for parent in parents:
            found = schema.table(parent)
            if found is None:
                continue
            parents += [key.parent for key in found.foreign_keys if key.parent not in parents]
        if table.full in parents:
            return True
    return False


def may_equal_several(told: Told) -> bool:
    """Whether a row that is given may be equal to several, in another order in InnoDB.

    At READ COMMITTED it looks for a hash last, and always for a key that was added in place.
    """
    tables = told.schema.named(told.statement)
    if "ON DUPLICATE KEY" in told.statement and any(
        sum(index.unique and index.name != "PRIMARY" for index in table.indexes) > 1
        for table in tables
    ):
        return True
    return (
        told.level == "READ COMMITTED"
        and re.search("IGNORE|ON DUPLICATE KEY|REPLACE", told.statement) is not None
        and any(table.is_hashed for table in tables)
    )


def has_changed_more(told: Told) -> bool:
    """Whether InnoDB has changed fewer rows."""
    return told.theirs is not None and told.theirs.changed < told.ours.changed


def has_virtual_keys(told: Told, *, unique: bool = False) -> bool:
    """Whether a table that is named has an index, or a UNIQUE one, of a virtual column."""
    return any(
        (index.unique or not unique)
        and any(column.virtual and column.name in index.columns for column in table.columns)
        for table in told.schema.named(told.statement)
        for index in table.indexes
    )


def of_named(told: Told) -> list[ForeignKey]:
    """The foreign keys of the tables that are named."""
    return [key for table in told.schema.named(told.statement) for key in table.foreign_keys]


def gives_spaces(told: Told) -> bool:
    """Whether a VARCHAR may get the value of a CHAR by CASCADE."""
    schema = told.schema
    for table in _concerned(told):
        for key in table.foreign_keys:
            parent = schema.table(key.parent)
            for mine, theirs in _pairs(key):
                child_column, column = table.column(mine), parent and parent.column(theirs)
                if column and child_column and column.fixed and not child_column.fixed:
                    return True
    return False


def has_past(told: Told) -> bool:
    """Whether a table that is concerned, or a parent of one, has rows of the past."""
    tables = _concerned(told)
    parents = [told.schema.table(key.parent) for table in tables for key in table.foreign_keys]
    return any(table and table.is_versioned for table in (*tables, *parents))


def names_locked(told: Told) -> bool:
    """Whether InnoDB misses the lock of a table that LOCK TABLES has named."""
    assert told.theirs is not None
    named = re.search(r"Table '(\w+)' was not locked", told.theirs.message)
    return named is not None and re.search(rf"\b{named[1]} WRITE", told.locks) is not None


def _pairs(key: ForeignKey) -> list[tuple[str, str]]:
    return list(zip(key.columns, key.parent_columns, strict=True))


def _concerned(told: Told) -> list[Table]:
    """The tables that are named, with all that may follow from their rows."""
    schema = told.schema
    found = schema.named(told.statement)
    for table in found:
        children = {key.child for key in schema.parents_of(table)}
        found += [child for child in schema.tables if child.full in children and child not in found]
    return found


# Ours alone refuses: then nothing has happened, and InnoDB is not asked.
REFUSALS = (
    Reason(
        "renamed in a copy",
        "ours renames a column of a foreign key in a statement of its own",
        lambda told: (
            told.ours.error == 1235
            and told.statement.startswith("ALTER")
            and "RENAME COLUMN" in told.statement
        ),
    ),
    Reason(
        "needed indexes",
        "ours keeps an index that a foreign key needs, unchecked too",
        lambda told: (
            told.ours.error == 1553 and not told.checks and told.statement.startswith("ALTER")
        ),
    ),
    Reason(
        "nulls of SET NULL",
        "ours lets no column that SET NULL needs become NOT NULL, unchecked too",
        lambda told: (
            told.ours.error == 1830 and not told.checks and told.statement.startswith("ALTER")
        ),
    ),
    Reason(
        "a needed primary key",
        "InnoDB takes another primary key, though a foreign key of the table to itself needs this",
        lambda told: told.ours.error == 1553 and "DROP PRIMARY KEY" in told.statement,
    ),
)
# One of them alone refuses: the tables are not the same any more, and the script ends.
ENDS = (
    Reason(
        "does not fit who waits for it",
        "ours refuses a table that does not fit foreign keys which wait for it, unchecked too",
        lambda told: (
            told.ours.error in (1005, 1025)
            and not told.right
            and told.statement.startswith(("CREATE", "RENAME", "ALTER"))
        ),
    ),
    Reason(
        "an orphan that was there",
        "InnoDB looks for the parent of a value that stays when it writes its row anew",
        lambda told: told.is_loose and not told.ours.error and told.is_old and told.right == 1452,
    ),
    Reason(
        "a child that goes with its parent",
        "InnoDB sees the row that an action comes back to, whose turn it is, as a child still",
        lambda told: not told.ours.error and told.is_old and told.right == 1451,
    ),
    Reason(
        "a row of the past that is there",
        "InnoDB leaves one behind by each action, however many a row sees at one time",
        lambda told: not told.ours.error and told.right == 1761,
    ),
    Reason(
        "two foreign keys of one column",
        "InnoDB does not see that the parent's row, from which CASCADE comes, gets the value too",
        lambda told: (
            # Also what comes next: another table's value, or a trigger without its table.
            told.ours.error in (0, NOT_FOUND, 1146, *OF_VALUES)
            and told.right == 1452
            and told.is_old
            and share_a_column(told)
        ),
    ),
    Reason(
        "a row that its trigger's parent takes away",
        "InnoDB writes it all the same, also without its parent",
        lambda told: told.ours.error == NOT_FOUND and not told.right and told.is_old,
    ),
    Reason(
        "a parent that comes by the row's own CASCADE",
        "ours looks for parents before children follow; InnoDB by the order of the indexes",
        lambda told: told.ours.error == 1452 and not told.right and reference_each_other(told),
    ),
    Reason(
        "a row that is its own parent",
        "ours takes it; InnoDB does if the parent's index comes before the child's",
        lambda told: (
            told.ours.error in (0, *OF_VALUES)
            and told.right == 1452
            and told.is_old
            and any(key.parent == key.child for key in of_named(told))
        ),
    ),
    Reason(
        "a row that is its own parent, and goes",
        "ours keeps it by RESTRICT; InnoDB by the order of the indexes",
        lambda told: (
            told.ours.error == 1451
            and not told.right
            and any(key.parent == key.child for key in of_named(told))
        ),
    ),
    Reason(
        "a long chain of rows that have a past",
        "InnoDB follows it for one row, and leaves a child without its parent",
        lambda told: (
            told.ours.error == 1296 and not told.right and has_past(told) and comes_back(told)
        ),
    ),
    Reason(
        "a parent that has a past",
        "InnoDB may not find it any more when a statement has been rolled back",
        lambda told: not told.ours.error and told.right == 1452 and told.is_old and has_past(told),
    ),
    Reason(
        "children under LOCK TABLES",
        "InnoDB misses the lock of a table that is locked, as its foreign keys lead back to it",
        lambda told: told.right == 1100 and names_locked(told),
    ),
    Reason(
        "a row of a prepared transaction",
        "InnoDB waits for it, ours does not see it yet",
        lambda told: not told.ours.error and not told.ours.changed and told.right == 1205,
    ),
    Reason(
        "another name in the same statement",
        "ours looks for the parent's columns by their new names, InnoDB unchecked not at all",
        lambda told: (
            told.ours.error == 1215
            and not told.right
            and not told.checks
            and "RENAME COLUMN" in told.statement
        ),
    ),
    Reason(
        "rows of the past in a copy",
        "InnoDB meets equal long values among them",
        lambda told: (
            not told.ours.error
            and told.right == 1062
            and told.statement.startswith("ALTER")
            and any(table.is_hashed for table in told.schema.named(told.statement))
        ),
    ),
    Reason(
        "a longer VARCHAR",
        "ours makes it, of one side at a time",
        lambda told: (
            not told.ours.error
            and told.right in (1832, 1833)
            and re.search(r"MODIFY \w+ VAR(CHAR|BINARY)", told.statement) is not None
        ),
    ),
    Reason(
        "equal to several rows",
        "which of them is changed is left open",
        lambda told: told.ours.error != told.right and may_equal_several(told),
    ),
    Reason(
        "UPDATE IGNORE at READ COMMITTED",
        "InnoDB refuses it where a UNIQUE key is hashed",
        lambda told: not told.ours.error and told.right == 1235,
    ),
    Reason(
        "an index of InnoDB that is damaged",
        "that of a virtual BLOB, where rows have versions",
        lambda told: told.ours.error in (0, *BROKEN) and told.right in (1712, 1034),
    ),
    Reason(
        "a UNIQUE key in place of a primary one",
        "InnoDB drops it although a foreign key needs it, where the table has no primary key",
        lambda told: (
            told.ours.error == 1553
            and not told.right
            and all(
                index.name != "PRIMARY"
                for table in told.schema.named(told.statement)
                for index in table.indexes
            )
        ),
    ),
    Reason(
        "another index serves",
        "InnoDB does not see, of a column that it renames, that another index serves its parent",
        lambda told: (
            not told.ours.error
            and told.right == 1553
            and re.search(r"RENAME COLUMN .*DROP |DROP .*RENAME COLUMN", told.statement) is not None
        ),
    ),
    Reason(
        "an added index serves",
        "InnoDB does not see that an index which is added with it takes the place of another",
        lambda told: (
            not told.ours.error
            and told.right == 1553
            and re.search(r"ADD (UNIQUE|KEY|INDEX|PRIMARY)", told.statement) is not None
        ),
    ),
    Reason(
        "nulls of ON UPDATE CASCADE",
        "ours lets columns take NULL, or not, beside ON UPDATE CASCADE; a NULL is 1451 then",
        lambda told: (
            not told.ours.error
            and told.right in (1830, 1833)
            and re.search(r"MODIFY|PRIMARY KEY", told.statement) is not None
        ),
    ),
    Reason(
        "the base of a stored column",
        "InnoDB refuses to add a foreign key of it unchecked, whatever the actions are",
        lambda told: not told.ours.error and told.right == 138,
    ),
    Reason(
        "rolled back, and there again",
        "InnoDB may forget over a kill that a prepared transaction was rolled back",
        lambda told: (
            (not told.ours.error and told.right == 1440)
            or (told.is_decided and told.ours.error == 1397 and not told.right)
        ),
    ),
    Reason(
        "a long unique value that CASCADE gives",
        "InnoDB makes a second row with it",
        lambda told: told.ours.error in (1761, 1762) and not told.right,
    ),
    Reason(
        "InnoDB's names",
        "InnoDB gives a foreign key that it adds in place a name which it has in use",
        lambda told: not told.ours.error and told.right == 1823,
    ),
    Reason(
        "refused by the copy alone",
        "ours drops a column at once; a copy computes generated columns again, and one may not fit",
        lambda told: (
            not told.ours.error
            and told.right in OF_VALUES
            and re.fullmatch(r"ALTER TABLE \S+ DROP COLUMN \S+", told.statement) is not None
        ),
    ),
    Reason(
        "renamed in a copy",
        "InnoDB refuses to rename a column of a foreign key in the copy that adds another",
        lambda told: not told.ours.error and told.right == 1846,
    ),
)
# Both refuse, with other numbers.
ERRORS: tuple[Reason, ...] = (
    Reason(
        "refused in place",
        "ours adds a foreign key in place and has the errors of that way; InnoDB does so unchecked",
        lambda told: (
            told.ours.error in (1215, 1826, 1830)
            and told.right in ((1005,) if told.checks else (138, 1005, 1822, 1823, 1825))
            and told.statement.startswith("ALTER")
        ),
    ),
    Reason(
        "a row that breaks two rules",
        "which one is told is left open",
        lambda told: told.ours.error in OF_ROWS and told.right in OF_ROWS,
    ),
    Reason(
        "a constraint's name that is in use there",
        "both refuse to rename the table; InnoDB takes the name for the table's",
        lambda told: told.ours.error == 1025 and told.right == 1050,
    ),
    Reason(
        "a needed index in a copy",
        "InnoDB sees it when the copy gets its name",
        lambda told: told.ours.error == 1553 and told.right == 1025,
    ),
    Reason(
        "duplicates in the copy of a parent",
        "InnoDB has an error of its own for them",
        lambda told: told.ours.error in (1062, 1830) and told.right == 1834,
    ),
    Reason(
        "a column of two foreign keys",
        "both refuse another type for it; which of the two is told is left open",
        lambda told: told.ours.error in OF_COLUMNS and told.right in OF_COLUMNS,
    ),
    Reason(
        "a column that is needed with its index",
        "both refuse to drop it; which of the two is told is left open",
        lambda told: told.ours.error == 1553 and told.right in (1828, 1829),
    ),
    Reason(
        "a prepared transaction that has changed nothing",
        "it outlives a kill in ours alone",
        lambda told: told.right == 1397 and not told.ours.error and told.statement.startswith("XA"),
    ),
    Reason(
        "a NULL in a column of ON UPDATE CASCADE",
        "InnoDB refuses that it becomes NOT NULL; ours says that a row has a NULL",
        lambda told: told.ours.error == 1265 and told.right in (1830, 1832, 1833),
    ),
    Reason(
        "several rows that take no other type",
        "a copy tells of the first in its own order, also of one without its parent",
        lambda told: (
            told.ours.error in (1452, *OF_VALUES)
            and told.right in (1452, *OF_VALUES)
            and told.statement.startswith("ALTER")
        ),
    ),
    Reason(
        "a column that SET NULL needs",
        "both refuse that it becomes NOT NULL; InnoDB sees it when the copy has its rows",
        lambda told: told.ours.error == 1830 and told.right in (1025, 1062),
    ),
    Reason(
        "a trigger that fails, of a row without its parent",
        "which is seen first is left open: the UNIQUE key for which REPLACE deletes, or the parent",
        lambda told: told.ours.error == 1146 and told.right == 1452 and "REPLACE" in told.statement,
    ),
    Reason(
        "several clauses",
        "which of them is refused first is left open",
        lambda told: told.ours.error != 0 and told.right != 0 and has_clauses(told),
    ),
)
# What IGNORE has kept quiet, or what was changed in place of a duplicate: other rows then.
QUIET = (
    Reason(
        "two foreign keys of one column, ignored",
        "InnoDB does not see that the parent's row, from which CASCADE comes, gets the value too",
        lambda told: "IGNORE" in told.statement and told.is_old and share_a_column(told),
    ),
    Reason(
        "foreign keys that lead back, ignored",
        "what a row meets of itself depends on the order of the indexes in InnoDB",
        lambda told: "IGNORE" in told.statement and told.is_old and comes_back(told),
    ),
    Reason(
        "equal to several rows",
        "which of them is changed is left open",
        may_equal_several,
    ),
    Reason(
        "a UNIQUE key of a virtual column",
        "InnoDB misses a value there that was changed to another that is equal, and takes it twice",
        lambda told: has_changed_more(told) and has_virtual_keys(told, unique=True),
    ),
    Reason(
        "an index of a virtual column, ignored",
        "with one InnoDB may refuse to change a parent whose value stays",
        lambda told: (
            told.is_old
            and "IGNORE" in told.statement
            and has_changed_more(told)
            and has_virtual_keys(told)
        ),
    ),
    Reason(
        "the spaces of a CHAR",
        "InnoDB gives them to a VARCHAR by CASCADE, by the character set",
        gives_spaces,
    ),
    Reason(
        "a chain of rows that have a past",
        "InnoDB leaves a child without its parent",
        lambda told: told.is_old and has_past(told) and comes_back(told),
    ),
    Reason(
        "a hashed key of rows that have a past",
        "InnoDB leaves such a row behind whose parent goes and comes back in one REPLACE",
        lambda told: (
            told.is_old
            and "REPLACE" in told.statement
            and any(table.is_hashed and table.is_versioned for table in _concerned(told))
        ),
    ),
    Reason(
        "numbers that LOAD DATA has handed out",
        "what a statement takes and does not use are gaps",
        lambda told: (
            told.statement.startswith("LOAD DATA")
            and any(
                column.counts
                for table in told.schema.named(told.statement)
                for column in table.columns
            )
        ),
    ),
)


def reason(reasons: tuple[Reason, ...], told: Told) -> Reason | None:
    """The first that holds."""
    return next((each for each in reasons if each.holds(told)), None)
