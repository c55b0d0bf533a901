"""What the server's schemas have: tables, keys, triggers and foreign keys."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.errors import CairnError
from cairn.migrate.link import Session, literal, name

SYSTEM = ("mysql", "information_schema", "performance_schema", "sys", "cairn_migrate")
STATE_SCHEMA = "cairn_migrate"
# What our shadows, the tables they have replaced, and our triggers are called.
PREFIX = "_cairn_migrate_"

Id = tuple[str, str]  # Schema and table.


def text_of(table: Id) -> str:
    """A table as people write it."""
    return f"{table[0]}.{table[1]}"


def sql_of(table: Id) -> str:
    """A table as SQL has it."""
    return f"{name(table[0])}.{name(table[1])}"


@dataclass(frozen=True)
class Column:
    name: str
    type: str  # DATA_TYPE: int, varchar
    nullable: bool = False
    generated: bool = False
    virtual: bool = False
    charset: str | None = None


@dataclass(frozen=True)
class ForeignKey:
    """A rule of a child; the parent may be missing."""

    child: Id
    constraint: str
    parent: Id
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table as information_schema and SHOW CREATE TABLE describe it. Sizes are estimates."""

    id: Id
    engine: str
    kind: str = "BASE TABLE"
    rows: int = 0
    data_bytes: int = 0
    options: str = ""
    definition: str = ""
    columns: tuple[Column, ...] = ()
    primary_key: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()

    def column(self, wanted: str) -> Column:
        return next(column for column in self.columns if column.name == wanted)

    @property
    def has_virtual(self) -> bool:
        return any(column.virtual for column in self.columns)

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns that an INSERT gives values to."""
        return tuple(column.name for column in self.columns if not column.generated)


@dataclass(frozen=True)
class Selection:
    """What of the server is looked at; nothing named: all but the server's own schemas."""

    schemas: tuple[str, ...] = ()
    tables: tuple[Id, ...] = ()

    def has(self, table: Id) -> bool:
        if not self.schemas and not self.tables:
            return table[0].lower() not in SYSTEM
        return table[0] in self.schemas or table in self.tables


def parse_table(text: str) -> Id:
    """The table that an option names, as SCHEMA.NAME; a name with a dot stands in backquotes."""
    parts: list[str] = []
    rest = text
    while rest:
        if rest.startswith("`"):
            end = rest.find("`", 1)
            if end < 0:
                break
            parts.append(rest[1:end])
            rest = rest[end + 1 :]
        else:
            part, _, _ = rest.partition(".")
            parts.append(part)
            rest = rest[len(part) :]
        if rest and not rest.startswith("."):
            break
        rest = rest[1:]
    if rest or len(parts) != 2 or not all(parts) or text.endswith("."):
        raise CairnError(f"{text}: name a table as SCHEMA.NAME.")
    return parts[0], parts[1]


def check_selection(session: Session, selection: Selection) -> None:
    """Every schema and table that an option names must be there, and be a user's."""
    present = {row[0] for row in session.rows("SHOW DATABASES")}
    for schema in (*selection.schemas, *(table[0] for table in selection.tables)):
        if schema.lower() in SYSTEM:
            raise CairnError(f"{schema} is the server's own schema: its tables stay as they are.")
        if schema not in present:
            raise CairnError(f"There is no schema {schema}, or the user may not see it.")
    for table in selection.tables:
        if not session.value(
            "SELECT 1 FROM information_schema.tables WHERE table_type <> 'VIEW' AND "
            f"table_schema = {literal(table[0])} AND table_name = {literal(table[1])}"
        ):
            raise CairnError(f"There is no table {text_of(table)}, or the user may not see it.")


def read(session: Session, selection: Selection) -> list[Table]:
    """The selected tables, whatever their engine, in order of their names. Views are left out."""
    found: list[Table] = []
    keys = foreign_keys(session)
    for row in session.rows(
        "SELECT table_schema, table_name, IFNULL(engine, ''), table_type, IFNULL(table_rows, 0), "
        "IFNULL(data_length, 0) + IFNULL(index_length, 0), IFNULL(create_options, '') "
        "FROM information_schema.tables WHERE table_type <> 'VIEW' "
        "AND table_type <> 'SYSTEM VIEW' ORDER BY 1, 2"
    ):
        table = (str(row[0]), str(row[1]))
        if table[0].lower() in SYSTEM or not selection.has(table) or table[1].startswith(PREFIX):
            continue
        found.append(_table(session, table, row[2:], keys))
    return found


def _table(session: Session, table: Id, facts: tuple, keys: list[ForeignKey]) -> Table:
    engine, kind, rows, data_bytes, options = facts
    where = f"table_schema = {literal(table[0])} AND table_name = {literal(table[1])}"
    columns = tuple(
        Column(row[0], row[1], row[2] == "YES", bool(row[3]), bool(row[4]), row[5])
        for row in session.rows(
            "SELECT column_name, data_type, is_nullable, "
            "IFNULL(generation_expression, '') <> '' OR extra LIKE '%GENERATED%', "
            "IFNULL(generation_expression, '') <> '' AND extra LIKE '%VIRTUAL%', "
            f"character_set_name FROM information_schema.columns WHERE {where} "
            "ORDER BY ordinal_position"
        )
    )
    primary = session.rows(
        f"SELECT column_name FROM information_schema.statistics WHERE {where} "
        "AND index_name = 'PRIMARY' ORDER BY seq_in_index"
    )
    return Table(
        table,
        str(engine),
        str(kind),
        int(rows),
        int(data_bytes),
        str(options),
        show_create(session, table),
        columns,
        tuple(row[0] for row in primary),
        triggers_of(session, table),
        tuple(key for key in keys if key.child == table),
    )


def triggers_of(session: Session, table: Id) -> tuple[str, ...]:
    """The names of the triggers of a table, without those that we have made."""
    rows = session.rows(
        "SELECT trigger_name FROM information_schema.triggers WHERE "
        f"event_object_schema = {literal(table[0])} AND event_object_table = {literal(table[1])} "
        f"AND LEFT(trigger_name, {len(PREFIX)}) <> '{PREFIX}' ORDER BY 1"
    )
    return tuple(row[0] for row in rows)


def show_create(session: Session, table: Id) -> str:
    return str(session.rows(f"SHOW CREATE TABLE {sql_of(table)}")[0][1])


def foreign_keys(session: Session) -> list[ForeignKey]:
    """All of the server's, between whatever schemas."""
    parts: dict[tuple[Id, str], tuple[Id, list[str], list[str]]] = {}
    for row in session.rows(
        "SELECT table_schema, table_name, constraint_name, referenced_table_schema, "
        "referenced_table_name, column_name, referenced_column_name "
        "FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL "
        "ORDER BY 1, 2, 3, ordinal_position"
    ):
        key = ((row[0], row[1]), row[2])
        _, columns, parents = parts.setdefault(key, ((row[3], row[4]), [], []))
        columns.append(row[5])
        parents.append(row[6])
    return [
        ForeignKey(child, constraint, parent, tuple(columns), tuple(parents))
        for (child, constraint), (parent, columns, parents) in parts.items()
    ]


def engines(session: Session) -> dict[Id, str]:
    """The engine of every table that is no view, as the server says it, in small letters."""
    return {
        (row[0], row[1]): str(row[2]).lower()
        for row in session.rows(
            "SELECT table_schema, table_name, IFNULL(engine, '') FROM information_schema.tables "
            "WHERE table_type <> 'VIEW' AND table_type <> 'SYSTEM VIEW'"
        )
    }
