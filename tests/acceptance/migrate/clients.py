"""Clients that write while tables are migrated, and know what each of their rows has to be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any

from tests.acceptance.migrate.tables import COLUMNS, RULES, SCHEMA

CONFLICTS = (1020, 1205, 1213)
LOST = (0, 2003, 2006, 2013, 2014, 1053, 1927, 1040)
NO_PARENT = 1452
RECONNECT_S = 120
# Where the keys of a client begin; loaded rows have smaller ones.
FIRST_KEY = 100_000_000
KEYS = 5_000_000

Rows = dict[str, dict[Any, tuple[Any, ...]]]  # Of each table, by key, in the order of columns.

# Key columns first, as in Rows; the tied tables have COLUMNS.
OWN_COLUMNS: dict[str, tuple[str, ...]] = dict(COLUMNS) | {
    "events": ("kind", "id", "owner", "code", "text"),
    "parts": ("id", "owner", "value"),
    "computed": ("id", "owner", "value"),
    "log": ("id", "owner", "value"),
    "audited": ("id", "owner", "value"),
}


class Change:
    """One transaction: statements, and what rows are after it."""

    def __init__(self, rows: Rows) -> None:
        self.rows = {table: dict(found) for table, found in rows.items()}
        self.statements: list[str] = []

    def put(self, table: str, *values: Any) -> None:
        """Inserts a row."""
        names = ", ".join(OWN_COLUMNS[table])
        self.statements.append(
            f"INSERT INTO {table} ({names}) VALUES ({', '.join(map(_literal, values))})"
        )
        self.rows[table][_key(table, values)] = values

    def set(self, table: str, key: Any, column: str, value: Any) -> None:
        position = OWN_COLUMNS[table].index(column)
        self.statements.append(
            f"UPDATE {table} SET {column} = {_literal(value)} WHERE {_where(table, key)}"
        )
        self._replace(table, key, position, value)

    def _replace(self, table: str, key: Any, position: int, value: Any) -> None:
        row = list(self.rows[table].pop(key))
        row[position] = value
        self.rows[table][_key(table, row)] = tuple(row)

    def delete(self, table: str, key: Any) -> None:
        self.statements.append(f"DELETE FROM {table} WHERE {_where(table, key)}")
        self._delete(table, key)

    def _delete(self, table: str, key: Any) -> None:
        """Takes the row away, and does to children what the foreign keys say."""
        self.rows[table].pop(key)
        for rule in RULES:
            if rule.parent != table:
                continue
            position = OWN_COLUMNS[rule.child].index(rule.column)
            children = [
                child for child, row in self.rows[rule.child].items() if row[position] == key
            ]
            for child in children:
                if rule.action == "SET NULL":
                    self._replace(rule.child, child, position, None)
                elif child in self.rows[rule.child]:
                    self._delete(rule.child, child)


class Client(threading.Thread):
    """Random transactions on rows of its own, until it is told to end."""

    def __init__(self, number: int, connect: Callable[[], Any], chance: Random) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.number = number
        self.committed = self.refused = self.lost = 0
        self.longest_s = 0.0
        self.error = ""
        self.ended = False
        self.rows: Rows = {table: {} for table in OWN_COLUMNS}
        self._connect, self._chance = connect, chance
        self._next = FIRST_KEY + number * KEYS
        self._pending: Change | None = None
        self._idle = threading.Event()
        self._go = threading.Event()
        self._go.set()

    def rest(self) -> None:
        """Waits until the transaction under way has ended, and begins no other."""
        self._idle.clear()
        self._go.clear()
        while self.is_alive() and not self._idle.wait(0.1):
            pass

    def go_on(self) -> None:
        self._go.set()

    def run(self) -> None:
        import pymysql

        while not self.ended:
            try:
                with self._connect() as connection, connection.cursor() as cursor:
                    self._settle(cursor)
                    while not self.ended:
                        self._one(cursor)
            except pymysql.MySQLError as error:
                if error.args and error.args[0] in LOST:
                    self.lost += 1
                    time.sleep(0.05)
                    continue
                self.error = f"{self.name}: {error}"
                self.ended = True
            except AssertionError as error:
                self.error = f"{self.name}: {error}"
                self.ended = True
        self._idle.set()

    def _settle(self, cursor: Any) -> None:
        """After a lost connection: the transaction under way is there as a whole or not at all."""
        if self._pending is None:
            return
        found = read(cursor, self.number)
        if found == self._pending.rows:
            self.rows = self._pending.rows
        else:
            assert found == self.rows, "after a lost connection: " + difference(self.rows, found)
        self._pending = None

    def _one(self, cursor: Any) -> None:
        import pymysql

        while not self._go.is_set() and not self.ended:
            self._idle.set()
            self._go.wait(0.1)
        begun = time.monotonic()
        try:
            if self._chance.random() < 0.03:
                self._must_be_refused(cursor)
                return
            change = self._change()
            cursor.execute("BEGIN")
            for statement in change.statements:
                cursor.execute(statement)
            self._pending = change
            cursor.execute("COMMIT")
            self._pending, self.rows = None, change.rows
            self.committed += 1
        except pymysql.MySQLError as error:
            if error.args[0] not in CONFLICTS:
                raise
            # A refused COMMIT has committed nothing.
            self._pending = None
            self.refused += 1
            cursor.execute("ROLLBACK")
        self.longest_s = max(self.longest_s, time.monotonic() - begun)

    def _must_be_refused(self, cursor: Any) -> None:
        """Foreign keys are in force at every moment."""
        import pymysql

        try:
            cursor.execute(
                f"INSERT INTO items VALUES ({self._key()}, {self.number}, {FIRST_KEY - 1}, 1, 1)"
            )
        except pymysql.MySQLError as error:
            if error.args[0] == NO_PARENT:
                return
            raise
        raise AssertionError("a row without its parent was taken")

    def _key(self) -> int:
        self._next += 1
        return self._next

    def _any(self, table: str) -> Any:
        keys = list(self.rows[table])
        return self._chance.choice(keys) if keys else None

    # ---- what it does ------------------------------------------------------------------------

    def _change(self) -> Change:
        kinds = [self._order] * 3 + [self._amount, self._drop_order, self._event, self._event]
        kinds += [self._customer, self._drop_customer, self._others, self._others]
        for _ in range(20):
            change = Change(self.rows)
            self._chance.choice(kinds)(change)
            if change.statements:
                return change
        change = Change(self.rows)
        self._customer(change)
        return change

    def _customer(self, change: Change) -> None:
        if len(self.rows["customers"]) > 30:
            return
        key, referrer = self._key(), self._any("customers")
        name = f"né{key}" if self._chance.random() < 0.5 else ""
        change.put("customers", key, self.number, self._chance.randint(1, 10), referrer, name)
        change.put("accounts", self._key(), self.number, key, f"{self._chance.randint(0, 999)}.50")

    def _order(self, change: Change) -> None:
        customer = self._any("customers")
        if customer is None or len(self.rows["orders"]) > 60:
            return
        key = self._key()
        change.put("orders", key, self.number, customer, None, "x" * self._chance.randint(0, 60))
        for _ in range(self._chance.randint(1, 3)):
            item = self._key()
            change.put("items", item, self.number, key, 1, self._chance.randint(1, 9))
        change.set("orders", key, "last_item", item)
        if self._chance.random() < 0.5:
            change.put("shipments", self._key(), self.number, key, 1, "2026-02-03 04:05:06.789")

    def _amount(self, change: Change) -> None:
        account = self._any("accounts")
        if account is not None:
            change.set("accounts", account, "amount", f"{self._chance.randint(0, 99999)}.25")

    def _drop_order(self, change: Change) -> None:
        order = self._any("orders")
        if order is not None:
            change.delete("orders", order)

    def _drop_customer(self, change: Change) -> None:
        customer = self._any("customers")
        if customer is not None and self._chance.random() < 0.3:
            change.delete("customers", customer)

    def _event(self, change: Change) -> None:
        event = self._any("events")
        choice = self._chance.random()
        if event is None or choice < 0.4 and len(self.rows["events"]) < 100:
            key = self._key()
            text = f"{self._chance.random()}".encode()
            change.put("events", f"k{key % 9}", key, self.number, key, text)
        elif choice < 0.6:
            change.set("events", event, "kind", f"k{self._chance.randint(10, 99)}")
        elif choice < 0.7:
            change.set("events", event, "code", self._key())
        elif choice < 0.85:
            change.set("events", event, "text", b"\x00\xff'\\")
        else:
            change.delete("events", event)

    def _others(self, change: Change) -> None:
        table = self._chance.choice(("parts", "computed", "log", "audited"))
        row = self._any(table)
        choice = self._chance.random()
        value = self._chance.randint(-1000, 1000)
        if row is None or choice < 0.5 and len(self.rows[table]) < 100:
            change.put(table, self._key(), self.number, value)
        elif choice < 0.6 and table == "parts":
            change.set(table, row, "id", self._key())
        elif choice < 0.8:
            change.set(table, row, "value", value)
            if table == "audited":  # Its trigger adds one.
                change.rows[table][row] = (row, self.number, value + 1)
        else:
            change.delete(table, row)


def _key(table: str, values: Any) -> Any:
    return (values[0], values[1]) if table == "events" else values[0]


def _where(table: str, key: Any) -> str:
    if table == "events":
        return f"kind = '{key[0]}' AND id = {key[1]}"
    return f"id = {key}"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    data = value if isinstance(value, bytes) else value.encode()
    if isinstance(value, bytes):
        return f"x'{data.hex()}'"
    return f"'{value}'"


def read(cursor: Any, number: int) -> Rows:
    """The rows of a client, as the server has them."""
    found: Rows = {}
    for table, names in OWN_COLUMNS.items():
        columns = ", ".join(
            f"CAST({name} AS CHAR)" if name in ("amount", "sent") else name for name in names
        )
        cursor.execute(f"SELECT {columns} FROM {SCHEMA}.{table} WHERE owner = {number}")
        found[table] = {_key(table, row): tuple(row) for row in cursor.fetchall()}
    return found


def difference(expected: Rows, found: Rows) -> str:
    """The first row that differs, in words; empty: none does."""
    for table, rows in expected.items():
        for key in sorted(rows.keys() | found[table].keys(), key=str):
            if rows.get(key) != found[table].get(key):
                return f"{table} {key}: {found[table].get(key)} instead of {rows.get(key)}"
    return ""
