"""Clients that change the table while a tool works, and know what each row must be."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

from tests.acceptance.schema_tools.table import (
    ARCHIVED_BEFORE,
    COLUMNS,
    CUSTOMERS_OF_CLIENT,
    KEY_STEP,
    Row,
    random_values,
    with_values,
)
from tests.crash.writer import CONFLICTS

# InnoDB's word for a deadlock over the AUTO-INC lock of a table that a tool fills.
_NO_NUMBER = 1467
# On average between transactions: gh-ost applies one change at a time, all of them before it copies
# more rows, so it would never end under clients that outrun it.
PAUSE_S = 0.05
# A transaction that is refused so often in a row does not get through.
MAX_TRIES = 100
# Who is refused waits a moment, longer each time, or the same few transactions meet for ever.
FIRST_RETRY_PAUSE_S = 0.002
LONGEST_RETRY_PAUSE_S = 0.1
_READ = f"SELECT {', '.join(COLUMNS)} FROM orders WHERE id = %s"
_INSERT = f"INTO orders ({', '.join(COLUMNS)}) VALUES "
_PLACES = f"({', '.join(['%s'] * len(COLUMNS))})"
_ORDERED = COLUMNS.index("ordered")
_CUSTOMER = COLUMNS.index("customer")
_CODE = COLUMNS.index("code")


class Wrong(Exception):
    """A statement that did something else than it must."""


def is_old(row: Row) -> bool:
    """Whether the archiver may take this row away at any time."""
    return bool(row[_ORDERED] < ARCHIVED_BEFORE)


class Client(threading.Thread):
    """Random transactions over rows that nobody else changes, and additions to shared ones.

    Once the thread has ended, `rows` is what its rows must be, `added` how many cents the committed
    transactions have added to the amounts of shared rows, and `error` what went wrong.
    """

    def __init__(
        self,
        number: int,
        connect: Callable[[], Any],
        seed: str,
        rows: dict[int, Row],
        shared: list[int],
        engine: str,
    ) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.rows = rows
        self.added: Counter[int] = Counter()
        self.committed = 0
        self.rolled_back = 0
        self.longest = (0.0, "")  # In seconds, and what it was.
        self.refused: Counter[str] = Counter()
        self.error = ""
        self.ends = threading.Event()
        self._number = number
        self._connect = connect
        self._seed = seed
        self._shared = shared
        self._allowed = (*CONFLICTS, _NO_NUMBER) if engine == "InnoDB" else CONFLICTS
        self._codes = 0
        self._fresh = 0  # How many keys it has used up.
        # Not behind the last row, where AUTO_INCREMENT goes on.
        self._places = sorted(key // KEY_STEP for key in rows)[:-1]

    def run(self) -> None:
        try:
            with self._connect() as connection, connection.cursor() as cursor:
                number = 0
                pace = Random(self._seed)
                while not self.ends.is_set():
                    number += 1
                    self._until_done(cursor, f"{self._seed}.{number}", pace)
                    self.ends.wait(pace.uniform(0, 2 * PAUSE_S))
        except Exception as error:  # Whatever it is, it must not end a client in silence.
            self.error = f"{self.name}: {type(error).__name__}: {error}"

    def _until_done(self, cursor: Any, seed: str, pace: Random) -> None:
        """Runs one transaction, and again the same one as long as it is told to try again."""
        import pymysql

        begun = time.monotonic()
        tries = 0
        while True:
            tries += 1
            transaction = Transaction(self, cursor, Random(seed))
            try:
                transaction.run()
            except pymysql.MySQLError as error:
                if error.args[0] not in self._allowed:
                    raise Wrong(f"{error.args} for {transaction.last}") from error
                self.refused[_reason(error)] += 1
                cursor.execute("ROLLBACK")
                if tries == MAX_TRIES:
                    raise Wrong(f"{tries} tries in a row were refused at last: {error}") from error
                time.sleep(pace.uniform(0, _longest_pause_s(tries)))
            else:
                break
        seconds = time.monotonic() - begun
        self.longest = max(self.longest, (seconds, f"{tries} tries"))

    def fresh_key(self) -> int:
        """A key between those of the first rows that no row has had."""
        self._fresh += 1
        lap, place = divmod(self._fresh, len(self._places))
        if lap >= KEY_STEP - 1:
            raise Wrong("the keys are used up: give it more rows")
        return self._places[place] * KEY_STEP + 1 + lap

    def fresh_code(self) -> str:
        """A code that no row has had."""
        self._codes += 1
        return f"c{self._number}-{self._codes}"

    def random_customer(self, chance: Random) -> int:
        return (self._number + 1) * CUSTOMERS_OF_CLIENT + chance.randrange(CUSTOMERS_OF_CLIENT)

    def shared_key(self, chance: Random) -> int:
        return chance.choice(self._shared)


def _longest_pause_s(tries: int) -> float:
    return min(LONGEST_RETRY_PAUSE_S, FIRST_RETRY_PAUSE_S * 2 ** min(tries, 10))


def _reason(error: Exception) -> str:
    number, text = error.args[0], str(error.args[-1])
    return f"{number} snapshot conflict" if "snapshot conflict" in text else str(number)


class Transaction:
    """One attempt at a transaction; its changes become the client's when it commits."""

    def __init__(self, client: Client, cursor: Any, chance: Random) -> None:
        self.last = ""
        self._client = client
        self._cursor = cursor
        self._chance = chance
        self._changes: dict[int, Row | None] = {}
        self._added: Counter[int] = Counter()

    def run(self) -> None:
        chance = self._chance
        steps = [
            self._insert,
            self._insert_several,
            self._insert_ignored,
            self._update,
            self._update,
            self._update_by_code,
            self._update_customer,
            self._move,
            self._delete,
            self._replace,
            self._upsert,
            self._add_to_shared,
            self._add_to_shared,
            self._read,
            self._read_locked,
        ]
        if chance.random() < 0.2:  # One statement by itself.
            chance.choice(steps)()
        else:
            self._cursor.execute("BEGIN")
            if chance.random() < 0.5:
                self._read()
            for _ in range(chance.randint(2, 5)):
                chance.choice(steps)()
            if chance.random() < 0.15:
                self._execute("ROLLBACK")
                self._client.rolled_back += 1
                return
            self._execute("COMMIT")
        for key, row in self._changes.items():
            if row is None:
                self._client.rows.pop(key, None)
            else:
                self._client.rows[key] = row
        self._client.added.update(self._added)
        self._client.committed += 1

    # ---- what it knows ---------------------------------------------------------------------------

    def _row(self, key: int) -> Row | None:
        return self._changes[key] if key in self._changes else self._client.rows.get(key)

    def _any_key(self, *, old: bool = True) -> int:
        """The key of one of its rows; of one that no archiver takes away, if that is wished for."""
        keys = list(self._client.rows)
        while True:
            key = self._chance.choice(keys)
            row = self._row(key)
            if row is not None and (old or not is_old(row)):
                return key

    def _change(self, key: int, row: Row, **values: Any) -> None:
        changed = with_values(row, **values)
        if changed[0] != key:
            self._changes[key] = None
        self._changes[changed[0]] = changed

    def _new_row(self, key: int) -> Row:
        values = random_values(self._chance)
        values["id"] = key
        values["customer"] = self._client.random_customer(self._chance)
        values["code"] = self._client.fresh_code()
        return tuple(values[column] for column in COLUMNS)

    # ---- statements ------------------------------------------------------------------------------

    def _execute(self, text: str, values: tuple[Any, ...] = ()) -> int:
        self.last = f"{text} {values}"
        return int(self._cursor.execute(text, values or None))

    def _require(self, found: object, wanted: object) -> None:
        if found != wanted:
            raise Wrong(f"{self.last} gives {found}, not {wanted}")

    def _matched(self, count: int, row: Row) -> bool:
        """Whether a statement met its one row, which may be missing only if it is an old one."""
        if count != 1 and not (count == 0 and is_old(row)):
            raise Wrong(f"{self.last} matches {count} rows; it must match {row}")
        return count == 1

    def _insert(self) -> None:
        row = self._new_row(0)
        columns = COLUMNS[1:]
        places = ", ".join(["%s"] * len(columns))
        text = f"INSERT INTO orders ({', '.join(columns)}) VALUES ({places})"
        self._require(self._execute(text, row[1:]), 1)
        key = self._cursor.lastrowid
        if self._row(key) is not None:
            raise Wrong(f"{self.last} gives the row the key {key}, which another one has")
        self._changes[key] = with_values(row, id=key)

    def _insert_several(self) -> None:
        rows = [self._new_row(self._client.fresh_key()) for _ in range(self._chance.randint(2, 6))]
        values = tuple(value for row in rows for value in row)
        count = self._execute(f"INSERT {_INSERT}{', '.join([_PLACES] * len(rows))}", values)
        self._require(count, len(rows))
        self._changes.update({row[0]: row for row in rows})

    def _insert_ignored(self) -> None:
        """A duplicate of a code: nothing happens."""
        there = self._row(self._any_key(old=False))
        assert there is not None
        row = with_values(self._new_row(self._client.fresh_key()), code=there[_CODE])
        self._require(self._execute(f"INSERT IGNORE {_INSERT}{_PLACES}", row), 0)

    def _update(self) -> None:
        key = self._any_key()
        row = self._row(key)
        assert row is not None
        columns = self._chance.sample(
            ["state", "amount", "weight", "name", "note", "body", "ordered", "changed", "flags"],
            self._chance.randint(1, 4),
        )
        new = random_values(self._chance)
        values = {column: new[column] for column in columns}
        text = f"UPDATE orders SET {', '.join(f'{c} = %s' for c in columns)} WHERE id = %s"
        if self._matched(self._execute(text, (*values.values(), key)), row):
            self._change(key, row, **values)

    def _update_by_code(self) -> None:
        key = self._any_key()
        row = self._row(key)
        assert row is not None
        values = {
            "code": self._client.fresh_code(),
            "customer": self._client.random_customer(self._chance),
        }
        text = "UPDATE orders SET code = %s, customer = %s WHERE code = %s"
        if self._matched(self._execute(text, (*values.values(), row[_CODE])), row):
            self._change(key, row, **values)

    def _update_customer(self) -> None:
        """All rows of a customer, by the index."""
        row = self._row(self._any_key(old=False))
        assert row is not None
        customer = row[_CUSTOMER]
        keys = self._client.rows.keys() | self._changes.keys()
        of_customer = [
            (key, found)
            for key in keys
            if (found := self._row(key)) and found[_CUSTOMER] == customer and not is_old(found)
        ]
        changed = random_values(self._chance)["changed"]
        count = self._execute(
            "UPDATE orders SET changed = %s WHERE customer = %s AND ordered >= %s",
            (changed, customer, ARCHIVED_BEFORE),
        )
        self._require(count, len(of_customer))
        for key, found in of_customer:
            self._change(key, found, changed=changed)

    def _move(self) -> None:
        """Another primary key; that of an old row stays, lest it moves behind the archiver."""
        key = self._any_key(old=False)
        row = self._row(key)
        assert row is not None
        other = self._client.fresh_key()
        count = self._execute("UPDATE orders SET id = %s WHERE id = %s", (other, key))
        if self._matched(count, row):
            self._change(key, row, id=other)

    def _delete(self) -> None:
        key = self._any_key()
        row = self._row(key)
        assert row is not None
        if self._matched(self._execute("DELETE FROM orders WHERE id = %s", (key,)), row):
            self._changes[key] = None

    def _replace(self) -> None:
        row = self._new_row(self._any_key(old=False))
        # The server counts the row twice, or once if it changes it in place.
        self._execute(f"REPLACE {_INSERT}{_PLACES}", row)
        self._changes[row[0]] = row

    def _upsert(self) -> None:
        key = self._any_key(old=False)
        there = self._row(key)
        assert there is not None
        row = with_values(self._new_row(self._client.fresh_key()), code=there[_CODE])
        self._execute(
            f"INSERT {_INSERT}{_PLACES} ON DUPLICATE KEY UPDATE "
            "amount = VALUES(amount), name = VALUES(name)",
            row,
        )
        values = dict(zip(COLUMNS, row, strict=True))
        self._change(key, there, amount=values["amount"], name=values["name"])

    def _add_to_shared(self) -> None:
        key = self._client.shared_key(self._chance)
        cents = self._chance.randrange(1, 10_000)
        text = "UPDATE orders SET amount = amount + %s WHERE id = %s"
        self._require(self._execute(text, (Decimal(cents) / 100, key)), 1)
        self._added[key] += cents

    def _read(self, clause: str = "") -> None:
        key = self._any_key()
        row = self._row(key)
        assert row is not None
        if self._matched(self._execute(f"{_READ}{clause}", (key,)), row):
            self._require(self._cursor.fetchone(), row)

    def _read_locked(self) -> None:
        self._read(self._chance.choice((" FOR UPDATE", " LOCK IN SHARE MODE")))
