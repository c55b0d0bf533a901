"""The access paths that the server lets one choose: settings, hints, and ways to send a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.hunt.conditions import Condition
from tests.hunt.queries import Query
from tests.hunt.session import Script
from tests.hunt.tables import Table
from tests.hunt.values import quote

# Settings of a statement that choose plans, or the memory at which an operator changes its way.
SETTINGS = (
    *(f"optimizer_use_condition_selectivity={level}" for level in (1, 2, 3, 5)),
    *(f"join_cache_level={level}" for level in range(9)),
    "optimizer_prune_level=0",
    "optimizer_search_depth=1",
    "eq_range_index_dive_limit=1",
    "eq_range_index_dive_limit=0",
    "use_stat_tables='never'",
    "use_stat_tables='preferably'",
    "sort_buffer_size=1024",
    "join_buffer_size=128",
    "join_buffer_space_limit=2048",
    "mrr_buffer_size=8192",
    "tmp_memory_table_size=0",
    "tmp_memory_table_size=16384",
    "max_heap_table_size=16384",
    "max_rowid_filter_size=1024",
    "optimizer_max_sel_arg_weight=20",
    "max_seeks_for_key=1",
    "expensive_subquery_limit=0",
    "in_predicate_conversion_threshold=2",
    "rocksdb_records_in_range=1",
    "rocksdb_records_in_range=5",
    "rocksdb_records_in_range=100000",
    "rocksdb_force_index_records_in_range=1",
    "rocksdb_skip_fill_cache=1",
    "rocksdb_skip_bloom_filter_on_read=1",
)
# Switches that mean something together.
TOGETHER = (
    "mrr=on,mrr_cost_based=off",
    "mrr=on,mrr_cost_based=off,mrr_sort_keys=on",
    "mrr=on,mrr_cost_based=off,index_condition_pushdown=off",
    "index_merge_sort_intersection=on,index_merge_intersection=off",
    "index_merge_sort_union=on,index_merge_union=off",
    "index_merge=on,index_condition_pushdown=off,rowid_filter=off",
    "materialization=off,semijoin=off",
    "firstmatch=off,materialization=off,loosescan=on",
    "join_cache_hashed=on,join_cache_bka=on,mrr=on,mrr_cost_based=off,"
    "optimize_join_buffer_size=off",
)
# Two settings of which the first makes the second one matter.
MIXED = (
    ("optimizer_switch='mrr=on,mrr_cost_based=off'", "join_cache_level=6"),
    ("optimizer_switch='mrr=on,mrr_cost_based=off,mrr_sort_keys=on'", "join_cache_level=8"),
    ("optimizer_switch='mrr=on,mrr_cost_based=off,mrr_sort_keys=on'", "mrr_buffer_size=8192"),
    ("optimizer_switch='mrr=on,mrr_cost_based=off'", "join_buffer_size=512", "join_cache_level=5"),
    ("rocksdb_records_in_range=1", "sort_buffer_size=1024"),
    ("rocksdb_records_in_range=1", "optimizer_switch='index_merge_sort_intersection=on'"),
    ("rocksdb_records_in_range=1", "optimizer_switch='mrr=on,mrr_cost_based=off'"),
)
# How a query is sent; "" is as it is.
WAYS = (
    "prepared",
    "executed",
    "cursor",
    "view",
    "temporary view",
    "derived",
    "cached",
    "cached in a transaction",
    "FOR UPDATE",
    "LOCK IN SHARE MODE",
    "snapshot",
    "inserted",
    # The rows of p, NOT p and p IS NULL together, which must be all rows.
    "partitioned",
)
# Ways that begin or end a transaction, which must not happen within one.
COMMITTING = ("view", "temporary view", "snapshot", "cached in a transaction")


@dataclass(frozen=True)
class Path:
    """One way to run a query."""

    # Values by setting, as SET STATEMENT has them.
    settings: tuple[str, ...] = ()
    # Index hints by alias.
    hints: dict[str, str] = field(default_factory=dict)
    way: str = ""

    @property
    def name(self) -> str:
        """For people; keys are not named, so that a kind has one name."""
        parts = [*self.settings, *sorted({hint.partition(" (")[0] for hint in self.hints.values()})]
        return " + ".join([*parts, *([self.way] if self.way else [])]) or "as it comes"

    @property
    def locks(self) -> bool:
        """Whether rows are locked."""
        return self.way in ("FOR UPDATE", "LOCK IN SHARE MODE")

    @property
    def keeps_order(self) -> bool:
        """Whether rows come in the query's order."""
        return self.way not in ("view", "temporary view", "derived", "inserted")

    def fits(self, query: Query, *, in_transaction: bool) -> bool:
        """Whether the way can be gone."""
        if in_transaction and self.way in COMMITTING:
            return False
        if self.way == "partitioned":
            return query.is_totals
        # The server locks the history of rows for reading only.
        history = any("SYSTEM_TIME" in source.part for source in query.sources)
        return not (self.locks and ("UNION" in query.form or history))

    def script(self, query: Query) -> Script:
        """The statements."""
        lock = f" {self.way}" if self.locks else ""
        head = "SQL_CACHE " if self.way.startswith("cached") else ""
        text = query.sql(self.hints, lock, head)
        names = ", ".join(f"x{number}" for number in range(query.width))
        match self.way:
            case "prepared":
                return self._all(f"PREPARE p FROM {quote(text)}", "EXECUTE p", "EXECUTE p")
            case "executed":
                return self._all(f"EXECUTE IMMEDIATE {quote(text)}")
            case "view" | "temporary view":
                kind = "MERGE" if self.way == "view" else "TEMPTABLE"
                create = f"CREATE OR REPLACE ALGORITHM={kind} VIEW v ({names}) AS {text}"
                return self._all(create, "SELECT * FROM v")
            case "derived":
                return self._all(f"WITH d ({names}) AS ({text}) SELECT * FROM d")
            case "inserted":
                columns = f"{names.replace(',', ' TEXT,')} TEXT"
                create = f"CREATE OR REPLACE TEMPORARY TABLE d ({columns}) ENGINE=MyISAM"
                return self._all(create, f"INSERT INTO d {text}", "SELECT * FROM d")
            case "cached":
                return self._apart(text, text)
            case "cached in a transaction":
                # The cache keeps what transactions have read apart from the rest.
                return self._apart("START TRANSACTION", text, text, "COMMIT")
            case "partitioned":
                return self._all(_partitioned(query, self.hints))
            case "snapshot":
                begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
                return self._all(begin, text, "COMMIT")
            case "cursor":
                return Script((self._set(_cursor(text, query.width)),), 2, is_collected=True)
        return self._all(text)

    def explain(self, query: Query) -> Script:
        """The statement that shows the plan of the query as it is, without the way."""
        statement = Path(self.settings, self.hints).script(query).statements[0]
        head, found, tail = statement.partition(" FOR SELECT")
        if found and head.startswith("SET STATEMENT"):
            return Script((f"{head} FOR EXPLAIN SELECT{tail}",))
        return Script((f"EXPLAIN {statement}",))

    def _all(self, *statements: str) -> Script:
        return Script(tuple(self._set(statement) for statement in statements))

    def _apart(self, *statements: str) -> Script:
        return replace(self._all(*statements), is_apart=True)

    def _set(self, statement: str) -> str:
        if not self.settings or statement.startswith(("PREPARE", "START", "COMMIT")):
            return statement
        return f"SET STATEMENT {', '.join(self.settings)} FOR {statement}"

    def smaller(self) -> Iterator[Path]:
        """Paths with less in them."""
        if self.way:
            yield Path(self.settings, self.hints)
        for alias in self.hints:
            rest = {other: hint for other, hint in self.hints.items() if other != alias}
            yield Path(self.settings, rest, self.way)
        for index in range(len(self.settings)):
            rest = self.settings[:index] + self.settings[index + 1 :]
            yield Path(rest, self.hints, self.way)

    def joined(self, other: Path) -> Path | None:
        """Both at once; None when they contradict each other."""
        names = {setting.partition("=")[0] for setting in self.settings}
        if any(setting.partition("=")[0] in names for setting in other.settings):
            return None
        if (self.way and other.way) or set(self.hints) & set(other.hints):
            return None
        return Path(self.settings + other.settings, self.hints | other.hints, self.way or other.way)


def _partitioned(query: Query, hints: Mapping[str, str]) -> str:
    assert query.where is not None
    names = [f"x{number}" for number in range(len(query.columns))]
    shown = tuple(f"{column} AS {name}" for column, name in zip(query.columns, names, strict=True))
    parts = [
        replace(query, columns=shown, where=condition).sql(hints)
        for condition in (
            query.where,
            Condition("", "NOT", (query.where,)),
            Condition(f"({query.where.sql()}) IS NULL"),
        )
    ]
    sums = ", ".join(f"SUM({name})" for name in names)
    return f"SELECT {sums} FROM ({' UNION ALL '.join(parts)}) d"


def _cursor(text: str, width: int) -> str:
    """A compound statement that fetches the rows one by one and shows them as one text."""
    names = [f"v{number}" for number in range(width)]
    row = ", ',', ".join(f"IFNULL({name}, '~')" for name in names)
    declared = f"DECLARE {', '.join(names)} LONGTEXT;"
    return (
        "BEGIN NOT ATOMIC DECLARE done INT DEFAULT 0; DECLARE collected LONGTEXT DEFAULT ''; "
        f"{declared} DECLARE c CURSOR FOR {text}; "
        "DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; "
        f"rows_of_c: LOOP FETCH c INTO {', '.join(names)}; "
        "IF done THEN LEAVE rows_of_c; END IF; "
        f"SET collected = CONCAT(collected, {row}, ';'); "
        "END LOOP; CLOSE c; SELECT collected; END"
    )


def switches(current: str) -> list[str]:
    """The switches of the server, each turned over, of the text of @@optimizer_switch."""
    turned = {"on": "off", "off": "on"}
    found = []
    for each in current.split(","):
        name, _, value = each.partition("=")
        if value in turned:
            found.append(f"{name}={turned[value]}")
    return found


class Paths:
    """The paths of a server for queries over known tables."""

    def __init__(self, chance: Random, optimizer_switch: str, tables: Sequence[Table]) -> None:
        self._chance = chance
        self._tables = {table.name: table for table in tables}
        self._turned = switches(optimizer_switch)

    def settings(self) -> list[Path]:
        """Every setting alone, and those that belong together."""
        switched = [f"optimizer_switch='{each}'" for each in (*self._turned, *TOGETHER)]
        return [
            *(Path((setting,)) for setting in (*switched, *SETTINGS)),
            *(Path(mixed) for mixed in MIXED),
        ]

    def hints(self, query: Query) -> list[Path]:
        """Every index forced, ignored, forced for an order; pairs of indexes; none."""
        found = []
        for alias, name in query.aliases().items():
            keys = [key.name for key in self._tables[name].keys]
            for key in keys:
                for hint in ("FORCE INDEX", "IGNORE INDEX"):
                    found.append(Path((), {alias: f"{hint} ({key})"}))
            pairs = [(a, b) for index, a in enumerate(keys) for b in keys[index + 1 :]]
            for a, b in self._chance.sample(pairs, min(len(pairs), 6)):
                found.append(Path((), {alias: f"FORCE INDEX ({a}, {b})"}))
            if keys:
                found.append(Path((), {alias: f"FORCE INDEX ({', '.join(keys)})"}))
                one = self._chance.choice(keys)
                found.append(Path((), {alias: f"FORCE INDEX FOR ORDER BY ({one})"}))
                found.append(Path((), {alias: f"FORCE INDEX FOR GROUP BY ({one})"}))
            found.append(Path((), {alias: "USE INDEX ()"}))
        return found

    def every(self, query: Query, *, in_transaction: bool) -> list[Path]:
        """All paths that are one choice, and as many random pairs of them as there are hints."""
        chance = self._chance
        hints = self.hints(query)
        ways = [Path((), {}, way) for way in WAYS]
        single = [*self.settings(), *hints, *ways]
        pairs = []
        for _ in range(len(hints) + 8):
            one = chance.choice(hints) if chance.random() < 0.7 else chance.choice(single)
            pair = one.joined(chance.choice(single))
            if pair is not None:
                pairs.append(pair)
        return [
            path for path in (*single, *pairs) if path.fits(query, in_transaction=in_transaction)
        ]
