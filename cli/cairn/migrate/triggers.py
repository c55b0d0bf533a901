"""The triggers that a source has while it is copied: they carry changes, or keep writers out."""

from __future__ import annotations

from cairn.migrate.link import literal, name
from cairn.migrate.schema import PREFIX, Table, sql_of

# Deletes first: whatever the other two have carried is then deleted as well.
EVENTS = ("DELETE", "UPDATE", "INSERT")


def trigger_name(number: int, event: str) -> str:
    """The name of a trigger of the table with this number in the state."""
    return f"{PREFIX}{number}_{event.lower()}"


def gate(number: int) -> str:
    """The lock (GET_LOCK) whose holder keeps writers of a set out, by the set's number."""
    return f"cairn_migrate.gate.{number}"


def drop(table: Table, number: int) -> list[str]:
    schema = name(table.id[0])
    return [
        f"DROP TRIGGER IF EXISTS {schema}.{name(trigger_name(number, event))}" for event in EVENTS
    ]


def carrying(table: Table, number: int, shadow: str) -> list[str]:
    """Triggers that do to the shadow what clients do to the source.

    The shadow takes each row as it is after the change, whether the copy has come by already or
    not; the copy leaves rows alone that are there.
    """
    target = f"{name(table.id[0])}.{name(shadow)}"
    columns = ", ".join(map(name, table.stored))
    values = ", ".join(f"NEW.{name(column)}" for column in table.stored)
    old_row = " AND ".join(f"{name(key)} = OLD.{name(key)}" for key in table.primary_key)
    same_key = " AND ".join(f"OLD.{name(key)} <=> NEW.{name(key)}" for key in table.primary_key)
    replace = f"REPLACE INTO {target} ({columns}) VALUES ({values})"
    bodies = {
        "DELETE": f"DELETE FROM {target} WHERE {old_row}",
        "UPDATE": f"BEGIN IF NOT ({same_key}) THEN DELETE FROM {target} WHERE {old_row}; END IF; "
        f"{replace}; END",
        "INSERT": replace,
    }
    return [
        f"CREATE TRIGGER {name(table.id[0])}.{name(trigger_name(number, event))} AFTER {event} "
        f"ON {sql_of(table.id)} FOR EACH ROW {bodies[event]}"
        for event in EVENTS
    ]


def guarding(table: Table, number: int, set_number: int) -> list[str]:
    """Triggers that refuse changes between the end of the copy and the swap.

    Whoever swaps the tables holds the gate. Were a writer let in between, its change would be lost;
    so its statement fails as after a wait for a lock, which undoes that statement and no more.
    """
    body = (
        f"IF IS_USED_LOCK({literal(gate(set_number))}) IS NOT NULL THEN "
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = "
        "'Lock wait timeout exceeded; try restarting transaction (the table is being migrated)'; "
        "END IF"
    )
    return [
        f"CREATE TRIGGER {name(table.id[0])}.{name(trigger_name(number, event))} BEFORE {event} "
        f"ON {sql_of(table.id)} FOR EACH ROW {body}"
        for event in EVENTS
    ]
