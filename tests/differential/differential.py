"""Run one random stream of statements on InnoDB and on ROCKSDB in lockstep and compare."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any

import pymysql
from model import AVOID
from pymysql.constants import CLIENT
from statements import Generator, Statement

ENGINES = ("innodb", "rocksdb")


class Difference(Exception):
    """The two engines answered differently."""


def fold(value: Any) -> Any:
    """Return a value so that strings equal by collation are equal."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        plain = unicodedata.normalize("NFKD", value.replace("ß", "s"))
        kept = (c for c in plain if not unicodedata.combining(c))
        return "".join("?" if ord(c) > 0xFFFF else c for c in kept).upper().rstrip(" ")
    return value


class Pair:
    """A connection for each engine."""

    def __init__(self, socket: str, flags: int = 0) -> None:
        """Connect, and make both schemas anew."""
        self.links = []
        for engine in ENGINES:
            link = pymysql.connect(
                unix_socket=socket,
                user="root",
                charset="utf8mb4",
                autocommit=True,
                client_flag=flags,
                read_timeout=60,
                write_timeout=60,
            )
            self.links.append(link)
            self.run(link, f"DROP DATABASE IF EXISTS d_{engine}")
            self.run(link, f"CREATE DATABASE d_{engine}")
            self.run(link, f"USE d_{engine}")
            self.run(link, f"SET SESSION default_storage_engine={engine}")

    @staticmethod
    def run(link: Any, sql: str) -> tuple[int, int, list[tuple[Any, ...]]]:
        """Return the error number, the count and the rows of a statement."""
        with link.cursor() as cursor:
            try:
                count = cursor.execute(sql)
            except (pymysql.err.InterfaceError, pymysql.err.OperationalError) as error:
                if error.args[0] in (0, 2006, 2013):
                    raise Difference(f"connection lost: {error}") from error
                return error.args[0], 0, []
            except pymysql.MySQLError as error:
                return error.args[0], 0, []
            return 0, count, list(cursor.fetchall())

    def warnings(self, link: Any) -> list[tuple[str, int, str]]:
        """Return what the last statement warned of, in no order and without the rows' numbers.

        Plans may differ, and with them the order in which rows are met.
        """
        found = self.run(link, "SHOW WARNINGS")[2]
        return sorted(
            (level, code, re.sub(r"d_(innodb|rocksdb)|InnoDB|ROCKSDB| at row \d+", "", text))
            for level, code, text in found
        )

    def both(self, sql: str, mode: str) -> bool:
        """Run a statement on both, raise Difference if they differ, return whether it succeeded."""
        one, two = (self.run(link, sql) for link in self.links)
        if (one[0] != two[0]) and not (mode == "free" and one[0] and two[0]):
            raise Difference(f"error {one[0]} on InnoDB, {two[0]} on ROCKSDB")
        # A statement that may fail in two ways may stop at different rows.
        if mode not in ("free", "ddl"):
            warned = [self.warnings(link) for link in self.links]
            if warned[0] != warned[1]:
                raise Difference(f"warnings {warned[0]} on InnoDB, {warned[1]} on ROCKSDB")
        if one[0] or mode == "ddl":
            return not one[0]
        if one[1] != two[1]:
            raise Difference(f"{one[1]} rows on InnoDB, {two[1]} on ROCKSDB")
        rows = [r[2] for r in (one, two)]
        if mode == "fold":
            rows = [[tuple(fold(v) for v in row) for row in part] for part in rows]
        if mode != "list":
            rows = [sorted(part, key=repr) for part in rows]
        if rows[0] != rows[1]:
            left = [r for r in rows[0] if r not in rows[1]][:5]
            right = [r for r in rows[1] if r not in rows[0]][:5]
            raise Difference(f"rows differ; only on InnoDB {left}, only on ROCKSDB {right}")
        return True

    def close(self) -> None:
        """Close both."""
        for link in self.links:
            link.close()


def checks(generator: Generator) -> list[Statement]:
    """Return the statements that compare every table in full, and by each of its keys."""
    found: list[Statement] = []
    for table in generator.tables.values():
        name = table.name
        found.append(Statement(f"CHECK TABLE {name}", "check"))
        found.append(Statement(f"SELECT * FROM {name}"))
        for key in table.keys.values():
            for way in ("ASC", "DESC"):
                order = ",".join(f"{c} {way}" for c in key.columns())
                hint = f"FROM {name} FORCE INDEX ({key.name}) ORDER BY {order}"
                found.append(Statement(f"SELECT * {hint}"))
                found.append(Statement(f"SELECT {','.join(key.columns())} {hint}"))
            found.append(Statement(f"SELECT COUNT(*) FROM {name} FORCE INDEX ({key.name})"))
    return found


def step(pair: Pair, sql: str, mode: str) -> bool:
    """Run one logged statement."""
    if mode != "check":
        return pair.both(sql, mode)
    for link in pair.links:
        code, _, rows = pair.run(link, sql)
        if code or (rows[-1][3] != "OK" and "doesn't exist" not in rows[0][3]):
            raise Difference(f"{sql}: error {code}, {rows}")
    return True


def fails(socket: str, flags: int, log: list[tuple[str, str]]) -> bool:
    """Tell whether a log still ends in a difference."""
    pair, at = Pair(socket, flags), 0
    try:
        for at, (sql, mode) in enumerate(log):
            if mode != "check" or at == len(log) - 1:
                step(pair, sql, mode)
    except Difference as error:
        return at == len(log) - 1 and "connection lost" not in str(error)
    finally:
        pair.close()
    return False


def shrink(
    socket: str, flags: int, log: list[tuple[str, str]], seconds: float
) -> list[tuple[str, str]]:
    """Leave statements out of a log, as long as it still fails and there is time."""
    end = time.monotonic() + seconds
    mine = [e for e in log[:-1] if not e[0].startswith(("SELECT", "CHECK", "ANALYZE", "SET"))]
    if fails(socket, flags, [*mine, log[-1]]):
        log = [*mine, log[-1]]
    for name in {e[0].split()[2] for e in log if e[0].startswith("CREATE")}:
        rest = [e for e in log[:-1] if f" {name} " not in e[0]] + log[-1:]
        if fails(socket, flags, rest):
            log = rest
    size = max(1, len(log) // 4)
    while time.monotonic() < end:
        at, before = 0, len(log)
        while at < len(log) - 1 and time.monotonic() < end:
            tried = log[:at] + log[min(at + size, len(log) - 1) :]
            if fails(socket, flags, tried):
                log = tried
            else:
                at += size
        if size == 1 and before == len(log):
            break
        size = max(1, size // 2)
    return log


def main() -> int:
    """Run the tester and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--statements", type=int, default=3000)
    parser.add_argument("--check-every", type=int, default=500)
    parser.add_argument("--shrink", type=float, default=60, help="seconds to spend on shrinking")
    parser.add_argument("--cache", type=int, default=0, help="rocksdb_block_cache_size to set")
    parser.add_argument("--log", type=Path, default=Path("differential.log"))
    parser.add_argument("--replay", type=Path, help="run this log instead")
    parser.add_argument(
        "--found-rows",
        action="store_true",
        help="compare counts of found rows, not of changed rows",
    )
    parser.add_argument("--avoid", default="", help="column kinds to leave out, as txt,dbl")
    args = parser.parse_args()
    AVOID.update(args.avoid.split(","))
    flags = CLIENT.FOUND_ROWS if args.found_rows else 0
    pair, generator = Pair(args.socket, flags), Generator(args.seed)
    if args.cache:
        pair.run(pair.links[1], f"SET GLOBAL rocksdb_block_cache_size={args.cache}")
    print(f"seed {args.seed}", flush=True)
    log: list[tuple[str, str]] = []
    succeeded = 0
    try:
        if args.replay:
            for line in args.replay.read_text().splitlines():
                log.append((json.loads(line)[0], json.loads(line)[1]))
                succeeded += step(pair, *log[-1])
        for number in range(1, 0 if args.replay else args.statements + 1):
            batch = [generator.next()]
            if batch[0].mode in ("set", "free") and not batch[0].sql.startswith("SELECT"):
                batch += [
                    Statement(f"SELECT * FROM {t}")
                    for t in generator.tables
                    if f" {t} " in batch[0].sql
                ]
            if batch[0].sql.startswith("ROLLBACK"):
                batch += [Statement(f"SELECT * FROM {t}") for t in generator.tables]
            if number % args.check_every == 0 or number == args.statements:
                batch += [Statement("COMMIT", "ddl"), *checks(generator)]
            for statement in batch:
                log.append((statement.sql, statement.mode))
                if step(pair, *log[-1]):
                    succeeded += 1
                    if statement.done:
                        statement.done()
    except Difference as error:
        print(f"DIFFERENCE (seed {args.seed}, statement {len(log)}): {error}\nlast statements:")
        print("\n".join(sql for sql, _ in log[-8:]), flush=True)
        pair.close()
        if args.shrink and "connection lost" not in str(error):
            log = shrink(args.socket, flags, log, args.shrink)
        args.log.write_text("".join(json.dumps(entry) + "\n" for entry in log))
        print(f"\nshrunk to {len(log)} statements ({args.log}; --replay runs it):")
        print(";\n".join(sql for sql, _ in log[-60:]) + ";")
        return 1
    print(f"no difference in {len(log)} statements ({succeeded} succeeded)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
