"""The part `changes`: a change by every access path leaves the same tables, which are InnoDB's.

Each path is gone in a transaction that is rolled back, so that all begin from the same rows; at the
end one of them is gone for good, and the next statement begins from there.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.hunt.access import SETTINGS, Path, switches
from tests.hunt.case import COMPACT, FLUSH, Rig, forcing, run_rounds, signature
from tests.hunt.change_statements import Change, Changes
from tests.hunt.compare import difference
from tests.hunt.part import Context, Finding, Part
from tests.hunt.queries import checksum
from tests.hunt.session import Answer, Script, Session
from tests.hunt.shrink import shrink_case, smaller_data
from tests.hunt.tables import Table, random_table
from tests.hunt.values import INT, quote, random_kind

SHRINK_S = 60.0
ROWS = (40, 300, 900, 2500)
OTHER_ROWS = (0, 5, 60, 250)
STATEMENTS = 25
PATHS = 24
# Statements for which InnoDB, with the checks, takes longer are left out: seconds, or on a slow
# machine so many times what the large table's scan takes.
SLOW_S = 0.3
SLOW_SCANS = 60
# A statement that changes more of the rows than this is never gone for good.
MOST_CHANGED = 0.3


@dataclass(frozen=True)
class Known:
    """A difference on purpose."""

    # A regular expression over the kind of difference, and one over the statement.
    kind: str
    statement: str
    reason: str


# What differs from InnoDB, and why that is right. Nothing else is let through.
KNOWN: tuple[Known, ...] = ()
WAYS = ("", "prepared", "executed")


@dataclass(frozen=True)
class ChangeCase:
    """Everything that leads to a change."""

    tables: tuple[Table, ...]
    actions: tuple[str, ...]
    change: Change
    path: Path

    def statements(self) -> tuple[str, ...]:
        """The change by its path."""
        text = self.change.sql(self.path.hints)
        settings = (*self.change.settings, *self.path.settings)
        head = f"SET STATEMENT {', '.join(settings)} FOR " if settings else ""
        if self.path.way == "prepared":
            return (f"PREPARE p FROM {quote(text)}", f"{head}EXECUTE p")
        if self.path.way == "executed":
            return (f"{head}EXECUTE IMMEDIATE {quote(text)}",)
        return (head + text,)

    def script(self, engine: str) -> list[str]:
        """The statements for people."""
        found = [table.ddl(engine) for table in self.tables]
        found += [table.insert() for table in self.tables]
        found += [*self.actions, "BEGIN", *self.statements()]
        return [*found, *(check for _, check in checks(self.tables, self.change))]


@dataclass(frozen=True)
class Outcome:
    """What a change gave, and what the tables then showed."""

    answer: Answer
    # By the name of the check; those of one table and column must agree.
    checks: tuple[Answer, ...]


def checks(
    tables: Sequence[Table], change: Change, *, by_scan: bool = False
) -> list[tuple[str, str]]:
    """What is asked after a change: all columns by a scan, and each index for what it has.

    With `by_scan` the table, for what the index must have: entries of InnoDB's indexes on VIRTUAL
    columns keep the old one of two equal strings.
    """
    found = []
    for table in tables:
        if table.name not in change.changes:
            continue
        sums = ", ".join(["COUNT(*)", *(checksum(column, "") for column in table.columns)])
        found.append((f"rows of {table.name}", f"SELECT {sums} FROM {table.name} USE INDEX ()"))
        if table.versioned:
            history = f"SELECT {sums} FROM {table.name} FOR SYSTEM_TIME ALL USE INDEX ()"
            found.append((f"history of {table.name}", history))
        for key in table.keys:
            columns = [table.column(name) for name in dict.fromkeys(key.columns)]
            sums = ", ".join(["COUNT(*)", *(checksum(column, "") for column in columns)])
            hint = "USE INDEX ()" if by_scan else f"FORCE INDEX ({key.name})"
            scan = f"SELECT {sums} FROM {table.name} {hint} WHERE {key.columns[0]}"
            name = f"index {key.name} of {table.name}"
            # Without a condition the server may read the rows instead.
            found.append((name, f"{scan} IS NOT NULL"))
            if columns[0].nullable:
                found.append((name, f"{scan} IS NULL"))
    return found


def outcome(
    session: Session, case: ChangeCase, *, keep: bool = False, by_scan: bool = False
) -> Outcome:
    """Runs a change in a transaction and looks at the tables."""
    asked = [Script((text,)) for _, text in checks(case.tables, case.change, by_scan=by_scan)]
    begin, end = ([], []) if keep else ([Script(("BEGIN",))], [Script(("ROLLBACK",))])
    answers = session.run([*begin, Script(case.statements()), *asked, *end])
    given = answers[len(begin)]
    return Outcome(given.sorted(), tuple(answers[len(begin) + 1 :][: len(asked)]))


def compare(right: Outcome, given: Outcome, names: Sequence[str]) -> str:
    """The kind of difference between two outcomes; empty when there is none."""
    if right.answer.is_limited or given.answer.is_limited:
        return ""
    kind = difference(right.answer, given.answer)
    if kind:
        return f"answer: {kind}"
    if not given.answer.error and right.answer.changed != given.answer.changed:
        return "another number of changed rows"
    for name, wanted, found in zip(names, right.checks, given.checks, strict=True):
        if kind := difference(wanted, found):
            return f"{name.split()[0]}: {kind}"
    return ""


def known(kind: str, statement: str) -> Known | None:
    """The entry that explains a difference, if there is one."""
    for entry in KNOWN:
        if re.search(entry.kind, kind) and re.search(entry.statement, statement):
            return entry
    return None


class ChangePaths:
    """The paths that a change can go."""

    def __init__(self, chance: Random, optimizer_switch: str, tables: Sequence[Table]) -> None:
        self._chance = chance
        self._keys = {table.name: [key.name for key in table.keys] for table in tables}
        self._turned = [f"optimizer_switch='{each}'" for each in switches(optimizer_switch)]

    def some(self, change: Change, count: int) -> list[Path]:
        """The path as it comes, and others: mostly with hints, where the statement takes them."""
        found = [Path()]
        while len(found) < count:
            found.append(self._one(change))
        return found

    def _one(self, change: Change) -> Path:
        chance = self._chance
        hints = {}
        for alias, table in change.aliases().items():
            keys = self._keys[table]
            if keys and chance.random() < 0.75:
                chosen = ", ".join(chance.sample(keys, chance.randint(1, min(3, len(keys)))))
                hint = chance.choice(["FORCE INDEX", "FORCE INDEX", "IGNORE INDEX"])
                hints[alias] = f"{hint} ({chosen})"
            elif chance.random() < 0.3:
                hints[alias] = "USE INDEX ()"
        settings: dict[str, str] = {}
        for _ in range(chance.choice([0, 1, 1, 2] if hints else [1, 1, 2])):
            setting = chance.choice([*self._turned, *SETTINGS, "rocksdb_records_in_range=1"])
            settings[setting.partition("=")[0]] = setting
        return Path(tuple(settings.values()), hints, chance.choice(WAYS))


class Hunt:
    """One run of the part, over one server."""

    def __init__(self, context: Context, rig: Rig) -> None:
        self._context = context
        self.rig = rig
        self._switch = rig.rocksdb.must("SELECT @@optimizer_switch").rows[0]
        self._kinds: Counter[str] = Counter()
        self._slow_s = SLOW_S
        self.servers: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()

    def round(self, chance: Random) -> None:
        """Makes tables and changes them again and again."""
        kinds = [random_kind(chance) for _ in range(4)] + [INT]
        tables = (
            random_table(chance, "t", kinds, chance.choice(ROWS)),
            random_table(chance, "s", kinds, chance.choice(OTHER_ROWS)),
        )
        if self.rig.create(tables):
            self._context.count("tables refused")
            return
        self._context.count("tables", len(tables))
        self._slow_s = max(SLOW_S, SLOW_SCANS * self.rig.scan_s(tables[0]))
        drawn = Changes(chance, list(tables))
        paths = ChangePaths(chance, self._switch, tables)
        done: tuple[str, ...] = ()
        for _ in range(STATEMENTS):
            if self._context.is_over():
                break
            if chance.random() < 0.15:
                actions = chance.choice([FLUSH, COMPACT, ("ANALYZE TABLE t, s",)])
                self.rig.act(actions)
                done += actions
            change = drawn.change()
            done += self._by_all_paths(tables, done, change, paths, chance)
            self._context.progress()
        self._check_tables(tables)

    def _by_all_paths(
        self,
        tables: tuple[Table, ...],
        done: tuple[str, ...],
        change: Change,
        paths: ChangePaths,
        chance: Random,
    ) -> tuple[str, ...]:
        """Compares the paths; the statements that were gone for good."""
        plain = ChangeCase(tables, done, change, Path())
        begun = time.monotonic()
        right = outcome(self.rig.innodb, plain, by_scan=True)
        if right.answer.is_limited or time.monotonic() - begun > self._slow_s:
            self._context.count("statements too slow")
            return ()
        self._context.count("statements")
        self._context.count("statements that fail", bool(right.answer.error))
        case = plain
        for path in paths.some(change, PATHS):
            case = replace(plain, path=path)
            self._context.count("paths")
            if self._judge(self.rig, case, right, count=True):
                return ()
        rows = int(right.checks[0].rows[0].partition(",")[0]) if right.checks[0].rows else 0
        far = re.search(r"\bid = ", change.text) is not None
        if far or right.answer.changed > max(5, rows * MOST_CHANGED):
            return ()
        return self._for_good(case, chance)

    def _for_good(self, case: ChangeCase, chance: Random) -> tuple[str, ...]:
        """The change once more, in autocommit or committed, in both engines."""
        statements = case.statements()
        if chance.random() < 0.4:
            statements = ("BEGIN", *statements, "COMMIT")
        if wrong := self.rig.act(statements):
            self._context.found(
                Finding("a committed change ends differently", "", "\n".join(wrong))
            )
        names = [name for name, _ in checks(case.tables, case.change)]
        looking = replace(case, change=replace(case.change, text="DO 0", settings=()), path=Path())
        right = outcome(self.rig.innodb, looking, by_scan=True)
        given = outcome(self.rig.rocksdb, looking)
        if kind := compare(right, given, names):
            self._tell(replace(case, actions=(*case.actions, *statements)), f"committed: {kind}")
        return statements

    def _judge(self, rig: Rig, case: ChangeCase, right: Outcome, *, count: bool) -> str:
        """Runs one path; the kind of an unexplained difference, which is told if it counts."""
        names = [name for name, _ in checks(case.tables, case.change)]
        given = outcome(rig.rocksdb, case)
        kind = compare(right, given, names)
        if not kind:
            return ""
        if entry := known(kind, case.change.sql()):
            self.explained[entry.reason] += count
            return ""
        if not compare(outcome(rig.innodb, case), given, names):
            self._context.count("the server's own differences", int(count))
            self.servers[case.path.name] += count
            return ""
        if count:
            self._found(case, kind, right, given)
        return kind

    def _found(self, case: ChangeCase, kind: str, right: Outcome, given: Outcome) -> None:
        name = f"{kind}; {signature(_plan(self.rig, case))}"
        self._kinds[name] += 1
        if self._kinds[name] > 1:
            self._context.count("differences")
            return
        self._context.phase.progress(f"shrinking: {name}")
        rig = Rig(self.rig.rocksdb.server, suffix="_small")
        try:
            self._shrink_and_tell(rig, case, kind, right, given)
        finally:
            rig.close()

    def _shrink_and_tell(
        self, rig: Rig, case: ChangeCase, kind: str, right: Outcome, given: Outcome
    ) -> None:
        def fails(candidate: ChangeCase) -> bool:
            if not rig.build(candidate.tables, candidate.actions):
                return False
            plain = outcome(rig.innodb, replace(candidate, path=Path()), by_scan=True)
            return self._judge(rig, candidate, plain, count=False) == kind

        plan = _plan(self.rig, case)
        takes = case.change.aliases()
        hints = {alias: hint for alias, hint in forcing(plan).items() if alias in takes}
        small = shrink_case(case, hints, smaller_cases, fails, SHRINK_S)
        if small is None:
            self._tell(case, kind, right, given, plan, repeats=False)
            return
        rig.build(small.tables, small.actions)
        right = outcome(rig.innodb, replace(small, path=Path()), by_scan=True)
        self._tell(small, kind, right, outcome(rig.rocksdb, small), _plan(rig, small))

    def _tell(
        self,
        case: ChangeCase,
        kind: str,
        right: Outcome | None = None,
        given: Outcome | None = None,
        plan: Sequence[str] = (),
        repeats: bool = True,
    ) -> None:
        verb = " ".join(case.change.text.split()[:2])
        details = [f"plan: {line}" for line in plan]
        if right is not None and given is not None:
            details += [
                f"right (InnoDB): {right.answer}, {right.answer.changed} changed",
                f"given: {given.answer}, {given.answer.changed} changed",
            ]
            asked = checks(case.tables, case.change)
            for (name, _), wanted, found in zip(asked, right.checks, given.checks, strict=True):
                if difference(wanted, found):
                    details.append(f"{name}: {found}; right: {wanted}")
        if not repeats:
            details.append("It does not come again with tables made anew; so it is not shrunk.")
        script = "".join(f"{line};\n" for line in case.script("ROCKSDB"))
        title = f"{kind}; {verb}; {signature(plan)}; {case.path.name}"
        self._context.found(Finding(title, script, "\n".join(details)))

    def _check_tables(self, tables: Sequence[Table]) -> None:
        """CHECK TABLE finds nothing after a round of changes."""
        for table in tables:
            answer = self.rig.rocksdb.try_to(f"CHECK TABLE {table.name} EXTENDED")
            self._context.count("tables checked")
            if not answer.rows or not answer.rows[-1].endswith(",status,OK"):
                script = f"{table.ddl('ROCKSDB')};\n{table.insert()};\n"
                self._context.found(Finding("CHECK TABLE finds damage", script, f"{answer}"))


def smaller_cases(case: ChangeCase) -> Iterator[ChangeCase]:
    """Cases with less in them."""
    for path in case.path.smaller():
        yield replace(case, path=path)
    for change in case.change.smaller():
        yield replace(case, change=change)
    hinted = " ".join(case.path.hints.values())
    yield from smaller_data(case, case.change.tables(), case.change.mentions, hinted)


def _plan(rig: Rig, case: ChangeCase) -> list[str]:
    """The plan of the change, as far as EXPLAIN shows it."""
    text = case.change.sql(case.path.hints)
    settings = (*case.change.settings, *case.path.settings)
    head = f"SET STATEMENT {', '.join(settings)} FOR " if settings else ""
    answer = rig.rocksdb.try_to(f"{head}EXPLAIN {text}")
    return [row.replace(",", " ") for row in answer.rows]


def run(context: Context) -> None:
    """Rounds until the deadline."""
    hunt = run_rounds(context, Hunt)
    for what, counts in (
        ("the server's own, by path", hunt.servers),
        ("explained", hunt.explained),
    ):
        for name, count in counts.most_common(12):
            context.phase.note(f"{what}: {count} x {name}")


PART = Part(
    "changes",
    "a change by every access path leaves the same rows, which are InnoDB's",
    run,
    short_s=40.0,
    short_rounds=2,
)
