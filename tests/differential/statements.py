"""Random statements over the tables of the model."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from model import NUMBERS, STRINGS, Column, Table, literal, random_key, random_table

PATTERNS = ["a%", "A%", "abcdefgh%", "%b", "é%", "x\\%%", " %", "a_"]


@dataclass
class Statement:
    """A statement, how its outcome is compared, and what it does to the model if it succeeds.

    Modes: "list" in order; "set" in any order; "fold" any order, strings by collation;
    "ddl" without counts; "free" as set, but the error number may differ.
    """

    sql: str
    mode: str = "set"
    done: Callable[[], None] | None = None


class Generator:
    """A seeded stream of statements."""

    def __init__(self, seed: int) -> None:
        """Begin the stream of a seed."""
        self.rnd = Random(seed)
        self.tables: dict[str, Table] = {}
        self.uid = 0
        self.names = 0

    def next_uid(self, step: int = 1) -> int:
        """Return a fresh uid."""
        self.uid += step
        return self.uid

    def value(self, col: Column) -> str:
        """Return a value for a column."""
        if col.name == "uid":
            return str(self.next_uid())
        if self.rnd.random() < (0.2 if col.nullable else 0.01):
            return "NULL"
        return literal(self.rnd, col.kind)

    def term(self, table: Table, prefix: str = "") -> str:
        """Return a condition on one column."""
        rnd = self.rnd
        keyed = [c for k in table.keys.values() for c in k.columns()]
        name = rnd.choice(keyed) if keyed and rnd.random() < 0.75 else rnd.choice([*table.columns])
        col, full = table.columns[name], prefix + name

        def val() -> str:
            return str(rnd.randint(0, self.uid + 1)) if name == "uid" else literal(rnd, col.kind)

        pick = rnd.random()
        if pick < 0.1:
            return f"{full} IS {rnd.choice(['NULL', 'NOT NULL'])}"
        if pick < 0.25:
            return f"{full} IN ({','.join(val() for _ in range(rnd.randint(1, 4)))})"
        if pick < 0.4:
            return f"{full} BETWEEN {val()} AND {val()}"
        if pick < 0.5 and col.kind in STRINGS and col.kind != "bin":
            return f"{full} LIKE '{rnd.choice(PATTERNS)}'"
        if pick < 0.7:
            return f"{full} {rnd.choice(['<', '<=', '>', '>=', '<>'])} {val()}"
        return f"{full} {rnd.choice(['=', '=', '<=>'])} {val()}"

    def where(self, table: Table, prefix: str = "") -> str:
        """Return a WHERE condition; at times equalities on a key's leading columns."""
        rnd = self.rnd
        if table.keys and rnd.random() < 0.3:
            key = rnd.choice([*table.keys.values()])
            cols = key.columns()[: rnd.randint(1, len(key.parts))]
            values = [
                rnd.randint(0, self.uid) if c == "uid" else literal(rnd, table.columns[c].kind)
                for c in cols
            ]
            terms = [f"{prefix}{c}={value}" for c, value in zip(cols, values, strict=True)]
            return " AND ".join(terms + [self.term(table, prefix)] * (rnd.random() < 0.4))
        terms = [self.term(table, prefix) for _ in range(rnd.choice([1, 1, 2, 3]))]
        return rnd.choice([" AND ", " AND ", " OR "]).join(terms)

    def order(self, table: Table) -> str:
        """Return a total order, one way in all its columns or mixed."""
        cols = self.rnd.choice(table.orders())
        way = self.rnd.choice(["ASC", "DESC", ""])
        return ",".join(f"{c} {way or self.rnd.choice(['ASC', 'DESC'])}" for c in cols)

    def hint(self, table: Table) -> str:
        """Return at times a FORCE INDEX."""
        if table.keys and self.rnd.random() < 0.35:
            return f" FORCE INDEX ({self.rnd.choice([*table.keys])})"
        return ""

    def insert(self, table: Table) -> Statement:
        """Return an INSERT or REPLACE."""
        rnd, name = self.rnd, table.name
        cols = list(table.columns.values())
        verb = rnd.choice(["INSERT", "INSERT", "INSERT IGNORE", "REPLACE", "ODKU"])
        tail = ""
        if verb == "ODKU":
            verb = "INSERT"
            sets = [c for c in cols if c.name != "uid"]
            many = sum(k.unique for k in table.keys.values()) > 1
            if sets and not (many and (table.altered or "PRIMARY" not in table.keys)):
                tail = " ON DUPLICATE KEY UPDATE " + ",".join(
                    f"{c.name}={rnd.choice([f'VALUES({c.name})', self.value(c)])}"
                    for c in rnd.sample(sets, min(len(sets), 2))
                )
        if rnd.random() < 0.15:
            source = rnd.choice([*self.tables.values()])
            low = self.next_uid(100000)
            like = {
                k: [c.name for c in source.columns.values() if c.kind == k]
                for k in {c.kind for c in cols}
            }
            exprs = [
                f"{low}+s.r"
                if c.name == "uid"
                else (
                    f"s.{rnd.choice(like[c.kind])}"
                    if like[c.kind] and rnd.random() < 0.7
                    else self.value(c)
                )
                for c in cols
            ]
            self.next_uid(1000)
            inner = (
                f"SELECT x.*, ROW_NUMBER() OVER (ORDER BY uid) r FROM {source.name} x "
                f"WHERE {self.where(source)}"
            )
            return Statement(
                f"{verb} INTO {name} ({','.join(c.name for c in cols)}) SELECT "
                f"{','.join(exprs)} FROM ({inner}) s ORDER BY s.r LIMIT 20{tail}"
            )
        rows = [
            f"({','.join(self.value(c) for c in cols)})"
            for _ in range(rnd.choice([1, 1, 2, 5, 12]))
        ]
        return Statement(
            f"{verb} INTO {name} ({','.join(c.name for c in cols)}) VALUES {','.join(rows)}{tail}"
        )

    def update(self, table: Table) -> Statement | None:
        """Return an UPDATE."""
        rnd = self.rnd
        pool = [c for c in table.columns.values() if c.name != "uid"]
        cols = rnd.sample(pool, min(len(pool), rnd.randint(1, 2)))
        if rnd.random() < 0.15 and len(self.tables) > 1:
            other = rnd.choice([t for t in self.tables.values() if t is not table])
            sets = ",".join(f"a.{c.name}={self.value(c)}" for c in cols)
            return Statement(
                f"UPDATE {table.name} a JOIN {other.name} b ON {self.join(table, other)}"
                f" SET {sets} WHERE {self.where(table, 'a.')}",
                "free",
            )
        sets, moves = [], False
        for col in cols:
            if col.kind in NUMBERS and rnd.random() < 0.4:
                sets.append(f"{col.name}={col.name}{rnd.choice(['+1', '-1', '+7'])}")
                moves |= col.name in table.unique_columns()
            else:
                sets.append(f"{col.name}={self.value(col)}")
        ignore = rnd.random() < 0.1
        tail = ""
        if moves or ignore or rnd.random() < 0.3:
            tail = f" ORDER BY {self.order(table)}"
            tail += f" LIMIT {rnd.randint(1, 6)}" if rnd.random() < 0.6 else ""
        return Statement(
            f"UPDATE {'IGNORE ' if ignore else ''}{table.name} SET {','.join(sets)} "
            f"WHERE {self.where(table)}{tail}",
            "free",
        )

    def delete(self, table: Table) -> Statement:
        """Return a DELETE."""
        rnd = self.rnd
        if rnd.random() < 0.15 and len(self.tables) > 1:
            other = rnd.choice([t for t in self.tables.values() if t is not table])
            return Statement(
                f"DELETE {rnd.choice(['a', 'a', 'a,b'])} FROM {table.name} a JOIN {other.name} b "
                f"ON {self.join(table, other)} WHERE {self.where(table, 'a.')}"
            )
        cond = f"DELETE FROM {table.name} WHERE {self.where(table)}"
        if rnd.random() < 0.6:
            cond += f" ORDER BY {self.order(table)} LIMIT {rnd.randint(1, 6)}"
        return Statement(cond)

    def join(self, one: Table, two: Table) -> str:
        """Return a join condition over columns of one kind."""
        pairs = [
            (a.name, b.name)
            for a in one.columns.values()
            for b in two.columns.values()
            if a.kind == b.kind and (a.name == "uid") == (b.name == "uid")
        ]
        a, b = self.rnd.choice(pairs)
        return f"a.{a}=b.{b}"

    def select(self, table: Table) -> Statement:
        """Return a SELECT."""
        rnd, name = self.rnd, table.name
        cols = [*table.columns]
        if table.keys and rnd.random() < 0.4:
            cols = rnd.choice([*table.keys.values()]).columns()
        lock = rnd.choice(["", "", "", " FOR UPDATE", " LOCK IN SHARE MODE"])
        pick = rnd.random()
        base = f"FROM {name}{self.hint(table)} WHERE {self.where(table)}"
        if pick < 0.12:
            col = rnd.choice(cols)
            return Statement(
                f"SELECT MIN({col}),MAX({col}),COUNT(*),COUNT(DISTINCT {col}) {base}", "fold"
            )
        if pick < 0.16:
            return Statement(f"SELECT MIN({cols[0]}), MAX({cols[0]}) FROM {name}", "fold")
        if pick < 0.26:
            return Statement(
                f"SELECT {cols[0]}, COUNT(*), MIN({cols[-1]}), MAX({cols[-1]}) {base} "
                f"GROUP BY {cols[0]}",
                "fold",
            )
        if pick < 0.31:
            return Statement(f"SELECT DISTINCT {cols[0]} FROM {name}{self.hint(table)}", "fold")
        if pick < 0.41:
            other = rnd.choice([*self.tables.values()])
            kind = rnd.choice(["JOIN", "LEFT JOIN"])
            return Statement(
                f"SELECT a.*, b.* FROM {name} a{self.hint(table)} {kind} {other.name} b "
                f"ON {self.join(table, other)} WHERE {self.where(table, 'a.')}{lock}"
            )
        if pick < 0.7:
            limit = f" LIMIT {rnd.randint(0, 3)},{rnd.randint(1, 8)}" if rnd.random() < 0.8 else ""
            return Statement(
                f"SELECT {','.join(cols)} {base} ORDER BY {self.order(table)}{limit}{lock}", "list"
            )
        return Statement(f"SELECT {','.join(cols)} {base}{lock}")

    def create(self) -> Statement:
        """Return a CREATE TABLE."""
        self.names += 1
        table = random_table(self.rnd, f"t{self.names}")
        return Statement(table.ddl(), "ddl", lambda: self.tables.update({table.name: table}))

    def alter(self, old: Table) -> Statement:
        """Return an ALTER TABLE or a TRUNCATE."""
        rnd, table = self.rnd, deepcopy(old)
        table.altered = True
        self.names += 1
        pick = rnd.random()
        if pick < 0.15:
            return Statement(f"TRUNCATE TABLE {old.name}", "ddl")
        if pick < 0.45:
            key = random_key(rnd, table, f"k{self.names}", rnd.random() < 0.3)
            table.keys[key.name] = key
            change = f"ADD {key.ddl()}"
        elif pick < 0.65 and table.keys:
            key = table.keys.pop(rnd.choice([*table.keys]))
            change = "DROP PRIMARY KEY" if key.name == "PRIMARY" else f"DROP KEY {key.name}"
        elif pick < 0.72 and "PRIMARY" not in table.keys:
            table.keys["PRIMARY"] = random_key(rnd, table, "PRIMARY", True)
            change = f"ADD {table.keys['PRIMARY'].ddl()}"
        elif pick < 0.85:
            col = Column(f"c{self.names}", rnd.choice(["int", "dec", "lat", "enum"]), True)
            table.columns[col.name] = col
            place = rnd.choice(["", " FIRST", " AFTER uid"])
            change = f"ADD COLUMN {col.ddl()} DEFAULT {literal(rnd, col.kind)}{place}"
        else:
            used = {c for k in table.keys.values() for c in k.columns()} | {"uid"}
            free = [c for c in table.columns if c not in used]
            if not free or len(table.columns) < 4:
                return Statement(f"ALTER TABLE {old.name} FORCE", "ddl")
            name = rnd.choice(free)
            del table.columns[name]
            change = f"DROP COLUMN {name}"
        return Statement(
            f"ALTER TABLE {old.name} {change}", "ddl", lambda: self.tables.update({old.name: table})
        )

    def savepoint(self) -> Statement:
        """Return a statement about a savepoint, which need not be there."""
        verb = self.rnd.choice(["SAVEPOINT"] * 3 + ["ROLLBACK TO"] * 3 + ["RELEASE SAVEPOINT"])
        return Statement(f"{verb} s{self.rnd.randint(1, 5)}", "ddl")

    def next(self) -> Statement:
        """Return the next statement."""
        rnd = self.rnd
        if len(self.tables) < 3 or (len(self.tables) < 6 and rnd.random() < 0.004):
            return self.create()
        table = rnd.choice([*self.tables.values()])
        pick = rnd.random()
        if pick < 0.3:
            return self.insert(table)
        if pick < 0.45:
            return self.update(table)
        if pick < 0.52:
            return self.delete(table)
        if pick < 0.88:
            return self.select(table)
        if pick < 0.93:
            return Statement(rnd.choice(["BEGIN", "BEGIN", "COMMIT", "ROLLBACK"]), "ddl")
        if pick < 0.975:
            return self.savepoint()
        if pick < 0.987:
            return Statement(
                rnd.choice(
                    ["SET GLOBAL rocksdb_force_flush_memtable_now=1", f"ANALYZE TABLE {table.name}"]
                ),
                "ddl",
            )
        return self.alter(table)
