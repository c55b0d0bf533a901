"""./cairn acceptance covering: an index on a string answers alone, and exactly."""

from __future__ import annotations

from cairn import plugin
from cairn.paths import VAR, shown
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs

OPTIONS = ("--character-set-server=utf8mb4", "--rocksdb-block-cache-size=64M")
# Letter case, accents, expansions and trailing spaces: what the collation does not tell apart.
FILL = (
    "INSERT INTO inno SELECT seq, CONCAT(ELT(1 + seq MOD 6, 'ab', 'AB', 'aB', 'Äb', 'abß', 'zz'), "
    "MD5(seq), REPEAT(' ', seq MOD 3)) FROM seq_1_to_{rows}"
)
FILL_S = 600
COLLATIONS = ("utf8mb4_unicode_ci", "utf8mb4_uca1400_as_cs", "utf8mb4_general_ci")
QUESTION = "SELECT s FROM {table} WHERE s LIKE 'ab%'"
EXACT = "SELECT COUNT(*), SUM(CRC32(s)), SUM(LENGTH(s)) FROM {table} {index} WHERE s LIKE 'ab%'"


def run(rows: int) -> int:
    """Compares what the index of a large table answers with InnoDB's; the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    say(f"  {shown(plugin.library())}")
    failures = 0
    directory = VAR / "acceptance" / "covering"
    with own_directory(directory), ScratchServer(mariadb, directory, OPTIONS) as server:
        server.start()
        server.query("CREATE DATABASE covering CHARACTER SET utf8mb4")
        for collation in COLLATIONS:
            with reporter.phase(collation) as phase:
                problems = _compare(server, collation, rows)
                phase.note("; ".join(problems) or f"{rows:,} rows, equal by index and by InnoDB")
            failures += bool(problems)
        server.stop()
    runs.leave(directory, failures)
    say(f"\n{len(COLLATIONS) - failures} passed, {failures} failed")
    return 1 if failures else 0


def _compare(server: ScratchServer, collation: str, rows: int) -> list[str]:
    for table, engine in (("inno", "InnoDB"), ("rocks", "ROCKSDB")):
        server.query(
            f"CREATE OR REPLACE TABLE covering.{table} (id INT PRIMARY KEY, "
            f"s VARCHAR(40) COLLATE {collation}, KEY (s)) ENGINE={engine}"
        )
    server.query(FILL.format(rows=rows), database="covering", read_timeout=FILL_S)
    server.query("INSERT INTO covering.rocks SELECT * FROM covering.inno", read_timeout=FILL_S)
    problems = []
    plan = server.query("EXPLAIN " + QUESTION.format(table="covering.rocks"))[0]
    if "Using index" not in str(plan[-1]):
        problems.append(f"the index does not answer alone: {plan}")
    found = server.query(EXACT.format(table="covering.rocks", index="FORCE INDEX (s)"))
    wanted = server.query(EXACT.format(table="covering.inno", index="IGNORE INDEX (s)"))
    if found != wanted or not wanted[0][0]:
        problems.append(f"by index {found}, by InnoDB {wanted}")
    checked = server.query("CHECK TABLE covering.rocks")
    if checked[-1][-1] != "OK":
        problems.append(f"CHECK TABLE: {checked}")
    return problems
