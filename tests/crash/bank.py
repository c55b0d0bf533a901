"""Transfers between accounts: no crash makes or destroys money.

Each transfer changes two balances and writes a line into a ledger, in one transaction. After a
restart the balances add up to what they did at first, each is what the ledger says, the index on
the balances agrees, and every acknowledged transfer is in the ledger.
"""

from __future__ import annotations

import random
from typing import Any, TextIO

from tests.crash.writer import Connect, Writer, brief

ACCOUNTS = 100
OPENING = 1000
TABLES = ("crash.account", "crash.transfer")
CREATE = (
    "CREATE TABLE crash.account (id INT NOT NULL PRIMARY KEY, balance INT NOT NULL, "
    "KEY balance (balance)) ENGINE=ROCKSDB",
    "CREATE TABLE crash.transfer (clerk INT NOT NULL, id INT NOT NULL, source INT NOT NULL, "
    "target INT NOT NULL, amount INT NOT NULL, PRIMARY KEY (clerk, id), KEY source (source), "
    "KEY target (target)) ENGINE=ROCKSDB",
    "INSERT INTO crash.account VALUES "
    + ",".join(f"({number},{OPENING})" for number in range(ACCOUNTS)),
)


class Promise:
    """The transfers of one clerk."""

    def __init__(self, clerk: int) -> None:
        self.clerk = clerk
        self.next_id = 1
        self.done: set[int] = set()
        self.pending: int | None = None


class Clerk(Writer):
    """Makes transfers for one promise during one round."""

    def __init__(
        self, promise: Promise, connect: Connect, journal: TextIO, random_numbers: random.Random
    ) -> None:
        super().__init__(f"clerk-{promise.clerk}", connect, journal, random_numbers)
        self.promise = promise

    def step(self, cursor: Any) -> None:
        source, target = self.random.sample(range(ACCOUNTS), 2)
        amount = self.random.randint(1, 50)
        number = self.promise.next_id
        self.promise.next_id += 1
        cursor.execute("BEGIN")
        if self.random.random() < 0.5:
            cursor.execute(
                f"SELECT balance FROM crash.account WHERE id IN ({source},{target}) FOR UPDATE"
            )
        for account, change in ((source, -amount), (target, amount)):
            cursor.execute(
                f"UPDATE crash.account SET balance = balance + ({change}) WHERE id = {account}"
            )
        cursor.execute(
            f"INSERT INTO crash.transfer VALUES "
            f"({self.promise.clerk},{number},{source},{target},{amount})"
        )
        if self.random.random() < 0.15:
            cursor.execute("ROLLBACK")
            return
        self.promise.pending = number
        cursor.execute("COMMIT")
        self.promise.done.add(number)
        self.promise.pending = None
        self.acknowledge(f"{number}: {amount} from {source} to {target}")

    def refused(self) -> None:
        self.promise.pending = None


def check(promises: list[Promise], cursor: Any) -> list[str]:
    """What does not add up after a restart; also decides what was under way."""
    wrong = []
    for promise in promises:
        cursor.execute(f"SELECT id FROM crash.transfer WHERE clerk = {promise.clerk}")
        found = {row[0] for row in cursor.fetchall()}
        if lost := promise.done - found:
            wrong.append(f"clerk {promise.clerk}: acknowledged transfers are lost: {brief(lost)}")
        if extra := found - promise.done - {promise.pending}:
            wrong.append(f"clerk {promise.clerk}: transfers that failed are there: {brief(extra)}")
        promise.done, promise.pending = found, None
    for index in ("PRIMARY", "balance"):
        cursor.execute(
            f"SELECT COUNT(*), SUM(balance) FROM crash.account FORCE INDEX ({index}) "
            "WHERE balance > -1000000000"
        )
        count, total = cursor.fetchone()
        if (count, int(total or 0)) != (ACCOUNTS, ACCOUNTS * OPENING):
            wrong.append(
                f"crash.account by index {index}: {count} accounts with {total} in all, not "
                f"{ACCOUNTS} with {ACCOUNTS * OPENING}"
            )
    cursor.execute("SELECT source, target, amount FROM crash.transfer")
    balances = dict.fromkeys(range(ACCOUNTS), OPENING)
    for source, target, amount in cursor.fetchall():
        balances[source] -= amount
        balances[target] += amount
    cursor.execute("SELECT id, balance FROM crash.account FORCE INDEX (PRIMARY)")
    found_balances = dict(cursor.fetchall())
    if found_balances != balances:
        differing = [n for n in balances if balances[n] != found_balances.get(n)]
        wrong.append(f"crash.account differs from the ledger in accounts {brief(differing)}")
    return wrong
