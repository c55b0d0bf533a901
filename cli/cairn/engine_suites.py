"""./cairn conformance --engine-suites: suites for any engine, with InnoDB and with ROCKSDB.

Their packaged results are older than the server, so InnoDB is the measure: a test counts as passed
when ROCKSDB passes it, or fails it with the same difference as InnoDB, or the ledger says why it
cannot.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cairn import files, mtr, packages, plugin, prefix, process
from cairn.errors import CairnError
from cairn.mtr import Outcome
from cairn.paths import ENGINE_SUITES_LEDGER, LOG, VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say

SUITES = (
    "storage_engine",
    "storage_engine/parts",
    "storage_engine/trx",
    "gcol",
    "handler",
    "sql_sequence",
    "vcol",
    "versioning",
    "innodb",
)
# Of InnoDB's own suite, the tests about ALTER TABLE that ask for nothing but what the server says.
# alter_candidate_key needs a debug server; instant_alter_null and innodb-alter-nullable read the
# definitions that InnoDB keeps.
OF_INNODB = (
    "alter_not_null",
    "alter_partitioned",
    "alter_partitioned_xa",
    "innodb-alter-autoinc",
    "innodb-alter-timestamp",
    "instant_auto_inc",
    "instant_drop",
)
ENGINES = ("InnoDB", "ROCKSDB")
# The suite that takes the engine from a file of definitions; the others name InnoDB.
GENERIC = "storage_engine"
# What InnoDB's own variant of that suite lies in, below the packaged tests.
INNODB_OVERLAY = Path("plugin", "innobase", "storage_engine")
# Of ROCKSDB; the suites that let waits for rows time out set InnoDB's own variable to this.
LOAD = ("--mysqld=--plugin-load-add=ha_rocksdb.so", "--mysqld=--loose-rocksdb-lock-wait-timeout=1")
# Tests in one run of the framework; see conformance.BATCH.
BATCH = 25

TEXT_FILES = {".test", ".inc", ".pre", ".opt", ".cnf", ".combinations", ".result", ".rdiff"}
_ENGINE_NAME = re.compile(
    r"""((?:engine\w*'?\s*[=,]?|replace_result)\s*['"`]?)innodb\b|^([-+ ]?)innodb$""",
    re.IGNORECASE | re.MULTILINE,
)
# What stands for the engine in results.
_ANY_ENGINE = re.compile(r"\b(innodb|rocksdb)\b", re.IGNORECASE)
# What makes a test use InnoDB: without it the server of a test has no InnoDB.
_NEEDS_INNODB = re.compile(r"have_innodb|storage-engine=innodb", re.IGNORECASE)
_SOURCED = re.compile(r"^\s*(?:--)?\s*source\s+([^\s;]+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Pair:
    """How one test ended with each engine."""

    suite: str
    test: str
    innodb: Outcome | None
    rocksdb: Outcome | None

    @property
    def holds(self) -> bool:
        """Whether ROCKSDB gives at least what InnoDB gives."""
        if self.rocksdb is None:
            return False
        if self.rocksdb.state == "pass":
            return True
        if self.innodb is None or self.innodb.state != self.rocksdb.state:
            return False
        return self.rocksdb.state == "skip" or difference(self.innodb) == difference(self.rocksdb)


def difference(outcome: Outcome) -> list[str]:
    """What a failed test gave in place of the expected result, whatever the engine's name."""
    lines = [each for each in outcome.report if re.match(r"[-+](?!([-+]{2} |-{20}))", each)]
    return [_ANY_ENGINE.sub("<engine>", each.rstrip()) for each in lines or [outcome.reason]]


def pair_up(outcomes: dict[str, list[Outcome]]) -> list[Pair]:
    """The outcomes of both engines, test by test; a test that ran with one alone is there too."""
    found = {engine: {each.key: each for each in outcomes[engine]} for engine in ENGINES}
    names = sorted(set().union(*found.values()))
    return [
        Pair(name.partition(".")[0], name, *(found[engine].get(name) for engine in ENGINES))
        for name in names
    ]


def load_ledger(path: Path) -> dict[str, str]:
    """The reason for each test that may give less; an error names the line that is wrong."""
    reasons: dict[str, str] = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fields = [field.strip() for field in text.split("\t")]
        if not text.strip() or fields[0] == "test":
            continue
        if len(fields) not in (2, 3) or not all(fields[:2]):
            raise CairnError(
                f"{path.name}, line {number}: expected a test, a reason and perhaps our own test, "
                "separated by tabs."
            )
        if fields[0] in reasons:
            raise CairnError(f"{path.name}, line {number}: {fields[0]} is there twice.")
        reasons[fields[0]] = fields[1]
    return reasons


def translate(text: str, engine: str) -> str:
    """The text of a test or of its result with another engine in place of InnoDB."""
    return _ENGINE_NAME.sub(lambda found: f"{found[1] or found[2] or ''}{engine}", text)


def keep_innodb(combinations: str) -> str:
    """Of a file of variants those that are about InnoDB, or all when none is."""
    sections = re.split(r"^(?=\[)", combinations, flags=re.MULTILINE)
    return "".join(each for each in sections if "innodb" in each.lower()) or combinations


def lay_out_suites(suites: Path, packaged: Path, engine: str) -> None:
    """Puts copies of the suites that use `engine` into `suites`, a directory of links."""
    for name in sorted({suite.partition("/")[0] for suite in SUITES}):
        (suites / name).unlink()
        shutil.copytree(packaged / "suite" / name, suites / name)
    generic = suites / GENERIC
    # Disabled are the tests of what InnoDB has not, not those that once failed with any engine.
    shutil.copyfile(packaged / INNODB_OVERLAY / "disabled.def", generic / "disabled.def")
    definitions = generic / "define_engine.inc"
    _change(definitions, lambda text: text.replace("# let $ENGINE =;", f"let $ENGINE = {engine};"))
    _apply_overlay(generic, packaged / INNODB_OVERLAY)
    for name in sorted({suite.partition("/")[0] for suite in SUITES} - {GENERIC}):
        for path in (suites / name).rglob("*"):
            # Tests of other suites wait for InnoDB's own threads with what lies there.
            if path.is_relative_to(suites / "innodb" / "include"):
                continue
            if path.suffix == ".combinations":
                _change(path, keep_innodb)
            if path.suffix in TEXT_FILES:
                _change(path, lambda text: translate(text, engine))


def _change(path: Path, edit: Callable[[str], str]) -> None:
    # Tests are in several encodings; this one keeps every byte.
    text = path.read_text(encoding="latin-1")
    changed = edit(text)
    if changed != text:
        with path.open("w", encoding="latin-1", newline="") as out:
            out.write(changed)


def _apply_overlay(generic: Path, overlay: Path) -> None:
    """Makes the packaged results those that InnoDB's variant of the suite expects."""
    for path in sorted(overlay.rglob("*")):
        copy = generic / path.relative_to(overlay)
        if path.suffix == ".opt":
            shutil.copyfile(path, copy)
        if path.suffix == ".rdiff":
            process.run(
                ["patch", "--quiet", "--forward", copy.with_suffix(".result"), path],
                log=LOG / "engine-suites-patch.log",
                what="Applying InnoDB's results",
                accept=(0, 1),
            )


def select(packaged: Path, wanted: tuple[str, ...]) -> list[str]:
    """The tests that use the engine: one that InnoDB plays no part in shows nothing."""
    selected: list[str] = []
    for name in wanted or SUITES:
        suite, _, test = name.partition(".")
        if suite not in SUITES:
            raise CairnError(f"'{suite}' is not one of these suites: {', '.join(SUITES)}.")
        directory = packaged / "suite" / suite
        found = [*directory.glob("*.test"), *directory.glob("t/*.test")]
        if test and test not in {path.stem for path in found}:
            raise CairnError(f"There is no test {name} in the packages.")
        for path in sorted(found):
            if path.stem == test or (not test and _is_about_engine(suite, path, packaged)):
                selected.append(f"{suite}.{path.stem}")
    return selected


def _is_about_engine(suite: str, test: Path, packaged: Path) -> bool:
    if suite == "innodb":
        return test.stem in OF_INNODB
    return suite.startswith(GENERIC) or _uses(test, packaged)


def _uses(test: Path, packaged: Path) -> bool:
    """Whether a test, what it sources or what it varies with makes its server have InnoDB."""
    seen: set[Path] = set()
    pending = [test]
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        text = path.read_text(encoding="latin-1")
        if _NEEDS_INNODB.search(text):
            return True
        for sourced in _SOURCED.findall(text):
            places = (path.parent / sourced, packaged / sourced)
            pending += [place.resolve() for place in places if place.is_file()]
        variants = path.with_suffix(".combinations")
        if variants.is_file():
            pending.append(variants)
    return False


def run(wanted: tuple[str, ...], parallel: int) -> int:
    """Runs the suites with both engines, prints the comparison, returns the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.SERVER, packages.SQL_TESTS), phase)
    server = prefix.require()
    library = plugin.library()
    if not library.exists():
        raise CairnError("The plug-in is not built yet: run ./cairn build.")
    ledger = load_ledger(ENGINE_SUITES_LEDGER)
    tests = select(mtr.packaged_tests(server), wanted)
    outcomes: dict[str, list[Outcome]] = {}
    for engine in ENGINES:
        with reporter.phase(f"{engine}, {len(tests)} tests") as phase:
            outcomes[engine] = list(_run_engine(server, library, engine, tests, parallel, phase))
            totals = mtr.totals(outcomes[engine])
            phase.summary = ", ".join(
                f"{totals[state]} {state}" for state in ("pass", "fail", "skip")
            )
    for engine, names in lost(outcomes).items():
        if not names:
            continue
        with reporter.phase(f"{engine}, {len(names)} lost") as phase:
            for name in names:
                outcomes[engine] += _run_engine(server, library, engine, [name], parallel, phase)
    return _conclude(pair_up(outcomes), ledger)


def _run_engine(
    server: Server, library: Path, engine: str, tests: list[str], parallel: int, phase: Phase
) -> Iterator[Outcome]:
    def on_outcome(outcome: Outcome) -> None:
        phase.progress(f"{outcome.key}: {outcome.state}")

    def run_batch(batch: list[str]) -> list[Outcome]:
        return mtr.run(
            server,
            library,
            f"engine-suites-{engine.lower()}",
            # The second --force makes a test go on after an error: the rest of it counts too.
            ["--force", *load, *batch],
            parallel=parallel,
            on_outcome=on_outcome,
            own_suites=lambda suites: lay_out_suites(suites, packaged, engine),
        )

    load = LOAD if engine == "ROCKSDB" else ()
    packaged = mtr.packaged_tests(server)
    for start in range(0, len(tests), BATCH):
        yield from run_batch(tests[start : start + BATCH])


def lost(outcomes: dict[str, list[Outcome]]) -> dict[str, list[str]]:
    """By engine, the tests that ran with the other one alone.

    A long report can break the framework's streams, which loses what its workers still do.
    """
    keys = {engine: {each.key for each in outcomes[engine]} for engine in ENGINES}
    everything = set().union(*keys.values())
    return {engine: sorted(everything - keys[engine]) for engine in ENGINES}


def _conclude(pairs: list[Pair], ledger: dict[str, str]) -> int:
    _write_differences(pairs)
    known = [each for each in pairs if not each.holds and each.test in ledger]
    less = [each for each in pairs if not each.holds and each.test not in ledger]
    titles = f"{'InnoDB: pass fail skip':>24}{'ROCKSDB: pass fail skip':>26}"
    say(f"  {'suite':<24}{titles}{'ledger':>8}{'less':>6}")
    for suite in sorted({each.suite for each in pairs}):
        say(_row(suite, [each for each in pairs if each.suite == suite], known, less))
    for title, listed in (
        ("less than InnoDB, as the ledger says", known),
        ("less than InnoDB", less),
    ):
        for each in listed:
            reason = ledger.get(each.test) or (
                each.rocksdb.reason if each.rocksdb else "did not run"
            )
            say(f"  {title}: {each.test}  {reason[:100]}")
    for name in sorted(set(ledger) & {each.test for each in pairs if each.holds}):
        say(f"  in the ledger without need: {name}")
    say(f"  the differences: {shown(_differences())}")
    say(f"{len(pairs) - len(less)} passed, {len(less)} failed")
    return 1 if less else 0


def _row(suite: str, pairs: list[Pair], known: list[Pair], less: list[Pair]) -> str:
    def counts(outcomes: Iterable[Outcome | None]) -> str:
        totals = Counter(each.state for each in outcomes if each)
        return f"{totals['pass']:>5}{totals['fail']:>5}{totals['skip']:>5}"

    numbers = [sum(each.suite == suite for each in some) for some in (known, less)]
    return (
        f"  {suite:<24}{counts(each.innodb for each in pairs):>24}"
        f"{counts(each.rocksdb for each in pairs):>26}{numbers[0]:>8}{numbers[1]:>6}"
    )


def _differences() -> Path:
    return VAR / "conformance" / "engine-suites"


def _write_differences(pairs: list[Pair]) -> None:
    """What the framework said of each test in which the engines differ, for people to read."""
    directory = files.fresh_directory(_differences())
    for each in pairs:
        if each.holds:
            continue
        text = ""
        for engine, outcome in zip(ENGINES, (each.innodb, each.rocksdb), strict=True):
            lines = [outcome.state, outcome.reason, *outcome.report] if outcome else ["did not run"]
            text += "\n".join([f"==== {engine}: {lines[0]}", *lines[1:]]) + "\n"
        name = each.test.replace("/", "-")
        (directory / f"{name}.txt").write_text(text, encoding="utf-8")
