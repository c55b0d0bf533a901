"""The part `paths`: one query by every access path gives one answer, which is InnoDB's."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from tests.hunt.access import Path, Paths
from tests.hunt.case import COMPACT, FLUSH, Case, Rig, Verdict, forcing, run_rounds, signature
from tests.hunt.part import Context, Finding, Part
from tests.hunt.queries import Queries, Query
from tests.hunt.session import Answer
from tests.hunt.shrink import shrink_case, smaller_cases
from tests.hunt.tables import Table, random_tables

SHRINK_S = 60.0
# A query that takes longer by a scan is left out, as it would be run a hundred times: seconds, or
# on a slow machine so many times what the large table's scan takes.
SLOW_S = 0.25
SLOW_SCANS = 40
FULL_QUERIES = 10
OTHER_QUERIES = 5
OTHER_PATHS = 40
# Of the paths whose plan, as EXPLAIN shows it, has been run already, so many are run all the same.
SAME_PLAN = 0.15
# How often the same kind is shrunk; the rest are counted.
SAME_KIND = 1
# That the changes of one state bring.
MOST_NEW_ROWS = 300


class Hunt:
    """One run of the part, over one server."""

    def __init__(self, context: Context, rig: Rig) -> None:
        self._context = context
        self.rig = rig
        self._switch = rig.rocksdb.must("SELECT @@optimizer_switch").rows[0]
        self._kinds: Counter[str] = Counter()
        self._slow_s = SLOW_S
        # What was asked in the last state, whose answers the query cache may have.
        self._asked: list[Query] = []
        # Paths by which InnoDB gives the same wrong answer.
        self.servers: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def round(self, chance: Random) -> None:
        """Makes tables and asks them in several states."""
        tables = random_tables(chance)
        self._asked.clear()
        if refused := self.rig.create(tables):
            self._note_refusal(refused)
            return
        self._context.count("tables", len(tables))
        self._slow_s = max(SLOW_S, SLOW_SCANS * self.rig.scan_s(tables[0]))
        done: tuple[str, ...] = ()
        for number, actions in enumerate(states(chance, tables)):
            if self._context.is_over():
                return
            if wrong := self.rig.act(actions):
                # Changes are another part's; here they only make states.
                self._context.count("states not reached")
                self.refusals[re.sub(r"\d+", "N", wrong[0])[:120]] += 1
                self.rig.rocksdb.try_to("ROLLBACK")
                self.rig.innodb.try_to("ROLLBACK")
                return
            done += actions
            self._context.count("states")
            self._ask_again(tuple(tables), done)
            self._ask(chance, tables, done, full=number == 0)

    def _note_refusal(self, refused: dict[str, Answer]) -> None:
        self._context.count("tables refused")
        if "i" not in refused:
            answer = refused["r"]
            self.refusals[f"{answer.error} {answer.message}"] += 1

    def _ask_again(self, tables: tuple[Table, ...], actions: tuple[str, ...]) -> None:
        """Asks the last state's queries; no cache may remember what was changed meanwhile."""
        asked, self._asked = self._asked, []
        for query, right in zip(asked, self.rig.truth(asked), strict=True):
            if not right.is_limited:
                self._compare(tables, actions, query, right, [*_cached(actions), Path()])

    def _ask(
        self, chance: Random, tables: list[Table], actions: tuple[str, ...], *, full: bool
    ) -> None:
        pending = _pending(actions)
        queries = Queries(chance, tables)
        drawn = [queries.query() for _ in range(FULL_QUERIES if full else OTHER_QUERIES)]
        paths = Paths(chance, self._switch, tables)
        for query in drawn:
            if self._context.is_over():
                return
            begun = time.monotonic()
            [right] = self.rig.truth([query])
            if right.is_limited or time.monotonic() - begun > self._slow_s:
                self._context.count("queries too slow")
                continue
            chosen = paths.every(query, in_transaction=pending)
            if not full:
                chosen = chance.sample(chosen, min(len(chosen), OTHER_PATHS)) + _cached(actions)
            self._asked.append(query)
            chosen = self._with_new_plans(chance, query, [Path(), *chosen])
            self._compare(tuple(tables), actions, query, right, chosen)
            self._context.progress()

    def _with_new_plans(self, chance: Random, query: Query, paths: list[Path]) -> list[Path]:
        """Without most of those whose plan is that of an earlier one."""
        answers = self.rig.rocksdb.run([path.explain(query) for path in paths])
        seen: set[tuple[str, ...]] = set()
        chosen = []
        for path, plan in zip(paths, answers, strict=True):
            always = path.way or "size" in path.name
            if plan.rows not in seen or always or chance.random() < SAME_PLAN:
                chosen.append(path)
            seen.add(plan.rows)
        self._context.count("plans", len(seen))
        merges = sum(any(",index_merge," in line for line in plan) for plan in seen)
        self._context.count("merges of indexes", merges)
        return chosen

    def _compare(
        self,
        tables: tuple[Table, ...],
        actions: tuple[str, ...],
        query: Query,
        right: Answer,
        paths: list[Path],
    ) -> None:
        answers = self.rig.rocksdb.run([path.script(query) for path in paths])
        self._context.count("queries")
        self._context.count("paths", len(paths))
        for path, given in zip(paths, answers, strict=True):
            case = Case(tables, actions, query, path)
            expected = right
            if path.way == "partitioned":
                [expected] = self.rig.truth([case.plain()])
            verdict = self.rig.verdict(case, expected, given)
            if verdict.is_servers:
                self._note_servers_own(case, verdict)
            if verdict.kind:
                self._found(case, verdict)

    def _note_servers_own(self, case: Case, verdict: Verdict) -> None:
        """Counts a wrong answer that InnoDB gives as well; the first of each path is kept."""
        self._context.count("the server's own differences")
        name = case.path.name
        self.servers[name] += 1
        if self.servers[name] == 1:
            told = finding(case, verdict, self.rig.explain(case), repeats=True)
            path = self._context.findings_directory / f"servers-own-{self._context.seed}.sql"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                details = "".join(f"-- {line}\n" for line in told.details.splitlines())
                file.write(f"-- {told.title}\n{details}{told.script}\n")

    def _found(self, case: Case, verdict: Verdict) -> None:
        plan = self.rig.explain(case)
        way = "locks" if case.path.locks else case.path.way
        kind = f"{verdict.kind}: {signature(plan)}; {way}"
        self._kinds[kind] += 1
        if self._kinds[kind] > SAME_KIND:
            self._context.count("differences")
            return
        self._context.phase.progress(f"shrinking: {kind}")
        rig = Rig(self.rig.rocksdb.server, suffix="_small")
        try:
            self._tell(rig, case, verdict, forcing(plan))
        finally:
            rig.close()

    def _tell(self, rig: Rig, case: Case, verdict: Verdict, hints: dict[str, str]) -> None:
        def fails(candidate: Case) -> bool:
            judged = rig.judge(candidate)
            return judged is not None and judged.kind == verdict.kind

        small = shrink_case(case, hints, smaller_cases, fails, SHRINK_S)
        if small is None:
            told = finding(case, verdict, self.rig.explain(case), repeats=False)
        else:
            told = finding(small, rig.judge(small) or verdict, rig.explain(small), repeats=True)
        self._context.found(told)


def _pending(actions: Sequence[str]) -> bool:
    """Whether these leave a transaction open."""
    return "BEGIN" in actions and actions[-1] != "ROLLBACK"


def _cached(actions: Sequence[str]) -> list[Path]:
    """The paths by which an answer can come from the query cache, as from any transaction."""
    ways = ["cached"] if _pending(actions) else ["cached", "cached in a transaction"]
    return [Path((), {}, way) for way in ways]


def finding(case: Case, verdict: Verdict, plan: list[str], *, repeats: bool) -> Finding:
    """What people read of a case."""
    details = [
        f"right (InnoDB without indexes): {verdict.right}",
        f"given: {verdict.given}",
        f"InnoDB by the same path: {verdict.innodb}",
        *(f"plan: {line}" for line in plan),
    ]
    if not repeats:
        details.append("It does not come again with tables made anew; so this is not shrunk.")
    script = "".join(f"{line};\n" for line in case.script("ROCKSDB"))
    title = f"{verdict.kind}: {signature(plan)}; {case.path.name}"
    return Finding(title, script, "\n".join(details))


def states(chance: Random, tables: list[Table]) -> Iterator[tuple[str, ...]]:
    """What is done to tables between queries; each comes on top of those before."""
    names = ", ".join(table.name for table in tables)
    analyze = (f"ANALYZE TABLE {names}", f"ANALYZE TABLE {names} PERSISTENT FOR ALL")
    committed = [
        (chance.choice(analyze),),
        FLUSH,
        tuple(changes(chance, tables[0], 0)),
        COMPACT,
        tuple(changes(chance, tables[0], 1)),
    ]
    chance.shuffle(committed)
    yield committed[0] if chance.random() < 0.7 else ()
    yield from committed[1:]
    yield ("BEGIN", *changes(chance, tables[0], 2))
    yield ("ROLLBACK",)


def changes(chance: Random, table: Table, turn: int) -> list[str]:
    """Statements that change some rows, the same ones whatever the access path.

    Each turn brings rows of other numbers: queries take it that a number comes once.
    """
    own = [c for c in table.columns if not c.generated and c.name not in ("id", "u")]
    found = []
    for column in chance.sample(own, min(len(own), chance.randint(1, 3))):
        salt = chance.randint(1, 99)
        value = re.sub(r"\bseq, '", f"id, '{salt}", column.value)
        rows = f"id % {chance.choice([3, 7, 50])} = 1"
        found.append(f"UPDATE {table.name} SET {column.name} = {value} WHERE {rows}")
    found.append(f"DELETE FROM {table.name} WHERE id % {chance.choice([5, 11, 100])} = 2")
    first = table.rows + 1 + turn * MOST_NEW_ROWS
    found.append(table.insert(first, first + chance.choice([0, 40, MOST_NEW_ROWS - 1])))
    chance.shuffle(found)
    return found[: chance.randint(1, len(found))]


def run(context: Context) -> None:
    """Rounds until the deadline."""
    hunt = run_rounds(context, Hunt)
    for what, counts in (
        ("the server's own, by path", hunt.servers),
        ("refused or not reached", hunt.refusals),
    ):
        for name, count in counts.most_common(12):
            context.phase.note(f"{what}: {count} x {name}")


PART = Part(
    "paths",
    "a query by every access path gives one answer, which is InnoDB's",
    run,
    short_s=40.0,
    short_rounds=2,
)
