"""./cairn acceptance settings: any legal value of any variable, set live and given at start.

Live: while sysbench reads and writes, SET GLOBAL goes through every variable that can be changed,
with its least, its largest and other values; no statement fails, no client waits long. At start:
the server gets values for several variables at once, works, is killed, and starts with others; no
row is lost.
"""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn import packages, plugin, process, sysbench
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs
from tests.acceptance.sysbench import GRACE_S, OPTIONS

TABLES = 4
ROWS = 10_000
THREADS = 4
WORKLOAD = (
    "oltp_read_write",
    f"--tables={TABLES}",
    f"--table-size={ROWS}",
    f"--threads={THREADS}",
)
# Longer than this without one transaction is a stall; the machine may be busy with other things.
STALL_S = 15
LOAD_AT_START_S = 3

# Values of text variables, and those to use in place of the range, with the reason.
VALUES: dict[str, tuple[Any, ...]] = {
    "rocksdb_compact_cf": ("default",),
    "rocksdb_create_checkpoint": (),  # Needs a path that does not exist: tests in SQL make some.
    "rocksdb_delete_cf": (),  # Refuses every value.
    "rocksdb_skip_unique_check_tables": (".*", "t1"),
    "rocksdb_strict_collation_exceptions": ("", "t.*"),
    "rocksdb_tmpdir": ("", "/tmp"),
    "rocksdb_update_cf_options": (
        "default={write_buffer_size=8m};",
        "default={level0_file_num_compaction_trigger=2};",
    ),
    "rocksdb_debug_manual_compaction_delay": (0, 1),  # Waits so long by intention.
    "rocksdb_lock_wait_timeout": (1, 2),  # A longer wait for a row is no stall.
    "rocksdb_merge_tmp_file_removal_delay_ms": (0, 10),
    "rocksdb_write_disable_wal": ("OFF",),  # Loses rows by intention when the server is killed.
    "rocksdb_wal_recovery_mode": (0, 2),  # 1 refuses a cut-off log, 3 drops what follows damage.
    "rocksdb_max_row_locks": (1000, 1 << 20),  # Fewer fail the transactions, as they should.
    "rocksdb_write_batch_max_bytes": (0, 1 << 20),
    "rocksdb_rate_limiter_bytes_per_sec": (0, 64 << 20),  # Less is a stall by intention.
    "rocksdb_sst_mgr_rate_bytes_per_sec": (0, 64 << 20),
    "rocksdb_delayed_write_rate": (0, 16 << 20),
    "rocksdb_io_write_timeout": (0, 600),  # Less ends the server of a busy machine, as it should.
    "rocksdb_master_skip_tx_api": ("OFF",),  # Sessions that write the same rows must not use it.
    # Memory that is taken at once.
    "rocksdb_block_cache_size": (1024, 8 << 20, 256 << 20),
    "rocksdb_max_latest_deadlocks": (0, 1, 1000),
}
# Not to be given at start: the data lies elsewhere then, is never made, or is not what it was.
NOT_AT_START = {
    "rocksdb_datadir",
    "rocksdb_wal_dir",
    "rocksdb_log_dir",
    "rocksdb_create_if_missing",
    "rocksdb_create_missing_column_families",
    "rocksdb_error_if_exists",
    "rocksdb_write_policy",
    "rocksdb_default_cf_options",
    "rocksdb_override_cf_options",
    "rocksdb_create_checkpoint",
    "rocksdb_compact_cf",
    "rocksdb_delete_cf",
    "rocksdb_update_cf_options",
    "rocksdb_persistent_cache_path",
    "rocksdb_allow_mmap_writes",  # Needs rocksdb_flush_log_at_trx_commit=0.
    "rocksdb_cache_dump",  # OFF is refused.
    "rocksdb_flush_log_at_trx_commit",
    "rocksdb_bulk_load",
    "rocksdb_commit_in_the_middle",
    "rocksdb_pause_background_work",
    "rocksdb_use_direct_reads",
    "rocksdb_use_direct_io_for_flush_and_compaction",
}
# At start a value may ask for memory or files by the number.
MOST_AT_START = 1 << 26


@dataclass(frozen=True)
class Variable:
    """A variable of the engine as the server describes it."""

    name: str
    kind: str
    default: str | None
    least: int | None
    largest: int | None
    names: tuple[str, ...]
    read_only: bool

    def values(self, choose: random.Random, *, most: int | None = None) -> list[Any]:
        """Legal values: the ends of the range, the default, and one between."""
        if self.name in VALUES:
            return list(VALUES[self.name])
        if self.names:
            return list(self.names)
        if self.least is None or self.largest is None:
            return []
        largest = self.largest if most is None else max(self.least, min(self.largest, most))
        between = self.least + int(2 ** (choose.random() * (largest - self.least + 1).bit_length()))
        values = [self.least, largest, min(between, largest)]
        if self.default not in (None, "") and re.fullmatch(r"-?\d+", str(self.default)):
            values.append(int(str(self.default)))
        return values


def run(seed: str | None, starts: int) -> int:
    """Runs both parts; returns the exit status."""
    seed = seed or str(random.randrange(1_000_000_000))
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.SYSBENCH)
    say(f"  {shown(plugin.library())}, seed {seed}")
    directory = VAR / "acceptance" / "settings"
    failed: list[str] = []
    passed = 0
    with own_directory(directory):
        with ScratchServer(mariadb, directory, OPTIONS) as server:
            load = _Load(server, directory / "sysbench.log")
            with reporter.phase("Prepare") as phase:
                server.start()
                load.prepare()
                variables = _variables(server)
                phase.summary = f"{len(variables)} variables"
            for part, check in (
                ("SET GLOBAL", lambda phase: _set_live(phase, load, variables, seed)),
                ("Starts", lambda phase: _start(phase, load, variables, seed, starts)),
            ):
                with reporter.phase(part) as phase:
                    done, problems = check(phase)
                    phase.summary = f"{done} values, {len(problems)} problems"
                passed += not problems
                failed += problems
            server.kill()
        for text in failed:
            say(f"    {text}")
        runs.leave(directory, failed, f"; again: --seed {seed}")
    say("")
    say(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


def _variables(server: ScratchServer) -> list[Variable]:
    def number(value: Any) -> int | None:
        return None if value is None else int(value)

    return [
        Variable(
            name.lower(),
            kind,
            default,
            number(least) if kind != "DOUBLE" else None,
            number(largest) if kind != "DOUBLE" else None,
            tuple(names.split(",")) if names else (),
            read_only == "YES",
        )
        for name, kind, default, least, largest, names, read_only in server.query(
            "SELECT variable_name, variable_type, default_value, numeric_min_value, "
            "numeric_max_value, enum_value_list, read_only "
            "FROM information_schema.system_variables "
            "WHERE variable_name LIKE 'rocksdb%' ORDER BY variable_name"
        )
    ]


class _Load:
    """sysbench that reads and writes in the background."""

    def __init__(self, server: ScratchServer, log: Path) -> None:
        self.server = server
        self.log = log
        self._child: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        server = self.server
        server.query(f"CREATE DATABASE {sysbench.DATABASE}")
        command, environment = sysbench.invocation(
            server.mariadb, server.socket, (*WORKLOAD, "prepare")
        )
        process.run(command, env=environment, log=self.log, what="Making tables")

    def begin(self) -> None:
        running = ("--time=0", "--report-interval=1", "--mysql-ignore-errors=1213,1020,1205", "run")
        self.log.write_bytes(b"")
        self._child = sysbench.launch(
            self.server.mariadb, self.server.socket, (*WORKLOAD, *running), log=self.log
        )

    def end(self) -> list[str]:
        """Stops the load; returns what went wrong since begin()."""
        assert self._child is not None
        problems = self.problems()
        if self._child.poll() is not None and not problems:
            problems.append(f"the load ended by itself, exit status {self._child.returncode}")
        self._child.kill()
        self._child.wait(GRACE_S)
        self._child = None
        return problems

    def problems(self) -> list[str]:
        text = self.log.read_text(errors="replace")
        errors = re.findall(r"^(?:FATAL|ALERT).*$", text, re.MULTILINE)
        return [f"the load met {error[:200]}" for error in dict.fromkeys(errors)]

    def longest_pause_s(self) -> int:
        """Seconds in a row that went by without a transaction."""
        longest = current = 0
        for per_second in re.findall(r" tps: ([\d.]+)", self.log.read_text(errors="replace")):
            current = current + 1 if float(per_second) == 0 else 0
            longest = max(longest, current)
        return longest

    def check(self) -> list[str]:
        """What is wrong with the tables; a transaction replaces the row that it deletes."""
        with self.server.connect(read_timeout=300) as connection, connection.cursor() as cursor:
            return list(sysbench.problems_of_tables(cursor, rows=ROWS))


def _set_live(
    phase: Phase, load: _Load, variables: list[Variable], seed: str
) -> tuple[int, list[str]]:
    server = load.server
    choose = random.Random(f"{seed} live")
    problems: list[str] = []
    done = 0
    load.begin()
    with server.connect() as connection, connection.cursor() as cursor:
        for variable, value in _live_values(variables, choose):
            phase.progress(f"{variable.name} = {value}")
            if error := _set(cursor, variable, value):
                problems.append(error)
            done += 1
            if found := load.problems():
                problems += [f"{variable.name} = {value}: {text}" for text in found]
                load.end()
                load.begin()
            if not server.is_alive():
                problems.append(
                    f"the server crashed at {variable.name} = {value}:\n{server.excerpt()}"
                )
                return done, problems
    time.sleep(2)
    pause = load.longest_pause_s()
    if pause > STALL_S:
        problems.append(f"no transaction for {pause} s")
    return done, problems + load.end() + load.check()


def _live_values(
    variables: list[Variable], choose: random.Random
) -> Iterator[tuple[Variable, Any]]:
    for variable in variables:
        if not variable.read_only:
            for value in variable.values(choose):
                yield variable, value
            yield variable, None  # DEFAULT


def _set(cursor: Any, variable: Variable, value: Any) -> str | None:
    import pymysql

    text = "DEFAULT" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    try:
        cursor.execute(f"SET GLOBAL {variable.name} = {text}")
    except pymysql.MySQLError as error:
        return f"SET GLOBAL {variable.name} = {text}: {error}"
    return None


def _start(
    phase: Phase, load: _Load, variables: list[Variable], seed: str, starts: int
) -> tuple[int, list[str]]:
    server = load.server
    choose = random.Random(f"{seed} starts")
    usable = [v for v in variables if v.name not in NOT_AT_START]
    problems: list[str] = []
    done = refused = 0
    server.stop()
    for number in range(starts):
        options = []
        for variable in choose.sample(usable, 8):
            values = variable.values(choose, most=MOST_AT_START)
            if values:
                options.append(f"--{variable.name.replace('_', '-')}={choose.choice(values)}")
        done += len(options)
        phase.progress(f"start {number + 1} of {starts}, {refused} refused")
        try:
            # Without the engine the server starts if it is not the default one.
            server.start("--default-storage-engine=InnoDB", *options, needs_engine=False)
        except CairnError as error:
            problems.append(f"{' '.join(options)}: {error}")
            continue
        if not server.has_engine():
            # Options that cannot go together are refused with a reason, and nothing is harmed.
            refused += 1
            if not any("ROCKSDB" in line.upper() for line in server.errors()):
                problems.append(f"{' '.join(options)}: refused without a word")
            server.stop()
            continue
        load.begin()
        time.sleep(LOAD_AT_START_S)
        problems += [f"{' '.join(options)}: {text}" for text in load.end()]
        if not server.is_alive():
            problems.append(f"{' '.join(options)}: the server crashed\n{server.excerpt()}")
        server.kill()
        if number % 5 == 4:
            server.start()
            problems += [f"after {' '.join(options)}: {text}" for text in load.check()]
            server.stop()
    server.start()
    problems += load.check()
    server.stop()
    return done, problems
