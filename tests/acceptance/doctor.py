"""./cairn acceptance doctor: what ./cairn doctor says of real servers, healthy ones and others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn import files, plugin
from cairn.doctor.limits import FREE_SHARE
from cairn.errors import CairnError
from cairn.paths import ROOT, VAR
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, own_directory, remove
from tests import runs
from tests.acceptance.case import Failed, require

FORCED = "--rocksdb=FORCE_PLUS_PERMANENT"
DURABLE = (FORCED, "--log-bin=binlog", "--server-id=1", "--sync-binlog=1", "--binlog-format=ROW")
IN_MEMORY = Path("/dev/shm")
ANSWERS_S = 60
LIMIT_S = 30


@dataclass(frozen=True)
class Answer:
    """What a run of the command said."""

    status: int
    output: str
    errors: str

    @property
    def found(self) -> dict[str, Any]:
        return dict(json.loads(self.output))

    def codes(self) -> list[str]:
        return sorted(finding["code"] for finding in self.found["findings"])

    def finding(self, code: str) -> str:
        """What was found, and what is to be done."""
        found = next(f for f in self.found["findings"] if f["code"] == code)
        return "\n".join([found["found"], found["remedy"], *found["lines"]])


def doctor(*arguments: object) -> Answer:
    done = subprocess.run(
        [str(ROOT / "cairn"), "doctor", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=ANSWERS_S,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def require_findings(
    server: ScratchServer, status: int, *codes: str, arguments: tuple[object, ...] = ()
) -> Answer:
    """The command finds exactly these, ends with this status, and says the same to people."""
    answer = doctor("--socket", server.socket, "--json", *arguments)
    require(answer.output, f"no answer: {answer.errors}")
    require(answer.found["error"] is None, f"error: {answer.found['error']}")
    require(answer.codes() == sorted(codes), f"found {answer.codes()}, not {sorted(codes)}")
    require(answer.status == status, f"exit status {answer.status}, not {status}")
    require(answer.found["status"] == status, "the object has another status")
    text = doctor("--socket", server.socket, *arguments)
    require(text.status == status, f"exit status {text.status} without --json")
    require(all(code in text.output for code in codes), "a finding is missing without --json")
    return answer


class Case:
    """What the cases share: a directory, and servers in it that end with the case."""

    def __init__(self, mariadb: Server, directory: Path) -> None:
        self.mariadb = mariadb
        self.directory = directory
        self.servers: list[ScratchServer] = []

    def server(self, *options: str, library: Path | None = None) -> ScratchServer:
        made = ScratchServer(self.mariadb, self.directory / f"{len(self.servers)}", options)
        made.library = library
        self.servers.append(made)
        return made

    def started(self, *options: str, library: Path | None = None) -> ScratchServer:
        made = self.server(*options, library=library)
        made.start()
        made.execute("CREATE DATABASE d")
        return made

    def back_up(self, server: ScratchServer, name: str, *options: str) -> Path:
        target = self.directory / name
        log = self.directory / f"{name}.log"
        with log.open("wb") as out:
            status = subprocess.run(
                [
                    str(self.mariadb.tool("mariadb-backup")),
                    "--no-defaults",
                    "--backup",
                    f"--socket={server.socket}",
                    "--user=root",
                    f"--target-dir={target}",
                    *options,
                ],
                env=dict(os.environ, **self.mariadb.environment()),
                stdout=out,
                stderr=out,
                check=False,
            ).returncode
        require(status == 0, f"mariadb-backup has failed: see {log}")
        return target


# ---- the cases ---------------------------------------------------------------------------------


def healthy(case: Case) -> None:
    server = case.started(*DURABLE)
    server.execute("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=ROCKSDB", "INSERT d.t VALUES (1)")
    unknown = require_findings(server, 0)
    require(unknown.found["facts"]["backup"] == "unknown", "a backup that nobody made")
    left_out = {entry["source"] for entry in unknown.found["not_checked"]}
    require(left_out == {"backups"}, f"not checked: {left_out}")
    case.back_up(server, "backup", "--history=daily")
    known = require_findings(server, 0)
    require(known.found["not_checked"] == [], f"not checked: {known.found['not_checked']}")
    server.stop()


def plain(case: Case) -> None:
    server = case.started("--default-storage-engine=ROCKSDB")
    require_findings(server, 1, "not-forced", "default-engine-not-forced")


def options_at_start(case: Case) -> None:
    server = case.started(
        *DURABLE,
        "--binlog-format=STATEMENT",
        "--sync-binlog=0",
        "--rocksdb-deadlock-detect=OFF",
        "--rocksdb-wal-recovery-mode=2",
        "--rocksdb-stats-level=0",
        "--rocksdb-access-hint-on-compaction-start=2",
        "--rocksdb-enable-2pc=OFF",
    )
    found = require_findings(
        server,
        1,
        "binlog-not-synced",
        "deadlocks-not-detected",
        "options-without-effect",
        "recovery-mode-lossy",
        "statements-refused",
        "statistics-off",
        "two-phase-commit-off",
    )
    text = found.finding("recovery-mode-lossy")
    require("set by the command line" in text, f"nobody has set it: {text}")
    # The remedies are statements that work, and are what makes the findings go.
    for code in ("statements-refused", "statistics-off", "two-phase-commit-off"):
        lines = found.finding(code).splitlines()
        server.execute(next(line for line in lines if line.startswith("SET GLOBAL")))
    server.execute("SET GLOBAL rocksdb_flush_log_at_trx_commit = 2")
    require_findings(
        server,
        1,
        "deadlocks-not-detected",
        "log-not-synced",
        "options-without-effect",
        "recovery-mode-lossy",
    )


def options_left_on(case: Case) -> None:
    server = case.started(FORCED)
    for name, code in (
        ("rocksdb_bulk_load", "bulk-load-left-on"),
        ("rocksdb_pause_background_work", "background-work-paused"),
        ("rocksdb_write_disable_wal", "log-disabled"),
        ("rocksdb_master_skip_tx_api", "locks-skipped"),
    ):
        server.execute(f"SET GLOBAL {name} = ON")
        found = require_findings(server, 2, code)
        server.execute(found.found["findings"][0]["lines"][0])
        require_findings(server, 0)


def limits(case: Case) -> None:
    server = case.started(
        FORCED,
        "--rocksdb-use-clock-cache=OFF",
        "--rocksdb-block-cache-size=1T",
        "--rocksdb-max-open-files=1",
        "--rocksdb-default-cf-options=block_based_table_factory={checksum=kNoChecksum}",
    )
    for number in range(3):
        server.execute(
            f"CREATE TABLE d.t{number} (a INT PRIMARY KEY) ENGINE=ROCKSDB",
            f"INSERT d.t{number} VALUES (1)",
            "SET GLOBAL rocksdb_force_flush_memtable_now = ON",
        )
    require_findings(server, 2, "checksums-off", "memory-beyond-machine", "open-files-few")


def places(case: Case) -> None:
    """Log in memory, another library on disk, a copy that was left, a definition that is gone."""
    library = case.directory / "library" / plugin.LIBRARY
    library.parent.mkdir()
    shutil.copy(plugin.library(), library)
    server = case.server(FORCED, library=library)
    logs = Path(tempfile.mkdtemp(prefix="cairn-doctor-", dir=IN_MEMORY))
    try:
        server.start(f"--rocksdb-wal-dir={logs}")
        copy = server.data / ENGINE_DIRECTORY / "mariabackup-checkpoint"
        server.execute(
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=ROCKSDB",
            f"SET GLOBAL rocksdb_create_checkpoint = '{copy}'",
        )
        require_findings(server, 2, "checkpoint-left", "data-in-memory")
        shutil.copy(case.mariadb.stock_plugin, library.with_suffix(".new"))
        library.with_suffix(".new").rename(library)
        (server.data / "d" / "t.frm").unlink()
        found = require_findings(
            server,
            2,
            "checkpoint-left",
            "data-in-memory",
            "library-replaced",
            "tables-without-definition",
        )
        text = found.finding("library-replaced")
        require("replaced by the stock plug-in" in text, f"not by whom: {text}")
        server.execute("SET GLOBAL rocksdb_remove_mariabackup_checkpoint = ON")
        server.execute("FLUSH TABLES", "DROP TABLE `d`.`t`")
        require_findings(server, 2, "data-in-memory", "library-replaced")
    finally:
        server.kill()
        shutil.rmtree(logs)


def state(case: Case) -> None:
    """A transaction that nobody decides, tables that need Cairn, a parent that is gone."""
    server = case.started(FORCED)
    server.execute(
        "CREATE TABLE d.parent (a INT PRIMARY KEY) ENGINE=ROCKSDB",
        "CREATE TABLE d.child (a INT PRIMARY KEY, b INT, "
        "CONSTRAINT fk FOREIGN KEY (b) REFERENCES parent (a)) ENGINE=ROCKSDB",
        "XA START 'it''s'",
        "INSERT d.parent VALUES (1)",
        "XA END 'it''s'",
        "XA PREPARE 'it''s'",
    )
    found = require_findings(server, 1, "prepared-transactions")
    decide = next(
        line for line in found.found["findings"][0]["lines"] if line.startswith("XA COMMIT")
    )
    server.execute(decide.partition(";")[0])
    require(server.query("SELECT a FROM d.parent") == [(1,)], "the remedy does not commit")
    server.execute("SET GLOBAL cairn_format = 'stock'")
    require_findings(server, 1, "stock-format-broken")
    server.execute("SET foreign_key_checks = 0", "DROP TABLE d.parent")
    require_findings(server, 1, "foreign-keys-dangling", "stock-format-broken")


def quarantine(case: Case) -> None:
    """A table whose definition was replaced by that of another."""
    import pymysql

    server = case.started(FORCED)
    server.execute(
        "CREATE TABLE d.one (a INT PRIMARY KEY) ENGINE=ROCKSDB",
        "CREATE TABLE d.two (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=ROCKSDB",
        "FLUSH TABLES",
    )
    shutil.copy(server.data / "d" / "two.frm", server.data / "d" / "one.frm")
    try:
        server.query("SELECT * FROM d.one")
    except pymysql.MySQLError:
        pass
    else:
        raise Failed("a table with another's definition can be read")
    found = require_findings(server, 2, "problems-logged", "tables-quarantined")
    require("d.one" in found.finding("tables-quarantined"), "the table is not named")


def stopped_writes(case: Case) -> None:
    server = case.started(
        FORCED,
        "--rocksdb-default-cf-options=write_buffer_size=65536;max_write_buffer_number=2",
    )
    server.execute(
        "CREATE TABLE d.t (a INT PRIMARY KEY, b LONGBLOB) ENGINE=ROCKSDB",
        "SET GLOBAL rocksdb_pause_background_work = ON",
    )
    writer = threading.Thread(target=_fill, args=(server,), daemon=True)
    writer.start()
    try:
        _wait_for_status(server, "Cairn_write_stopped", "1")
        found = require_findings(server, 2, "background-work-paused", "writes-stopped")
        require("memtables" in found.finding("writes-stopped"), "the cause is not named")
    finally:
        server.execute("SET GLOBAL rocksdb_pause_background_work = OFF")
        writer.join(LIMIT_S)
    require(not writer.is_alive(), "the writer still waits")
    require_findings(server, 0)


def _fill(server: ScratchServer) -> None:
    server.execute(*(f"INSERT d.t VALUES ({n}, REPEAT('x', 60000))" for n in range(10)))


def _wait_for_status(server: ScratchServer, name: str, value: str) -> None:
    begun = time.monotonic()
    while server.query(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1] != value:
        require(time.monotonic() - begun < LIMIT_S, f"{name} does not become {value}")
        time.sleep(0.05)


def plugins(case: Case) -> None:
    """Plug-ins of the library that are not loaded, and an engine that is not there."""
    server = case.server()
    server.loads_plugin = False
    files.replace_link(server.directory / "plugin" / plugin.LIBRARY, plugin.library())
    server.start(f"--plugin-load-add=rocksdb={plugin.LIBRARY}", FORCED)
    require_findings(server, 1, "plugins-incomplete")
    server.stop()
    server.start(needs_engine=False)
    require_findings(server, 2, "engine-missing")


def stock(case: Case) -> None:
    server = case.started(FORCED, library=case.mariadb.stock_plugin)
    server.execute("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=ROCKSDB")
    found = require_findings(server, 1, "deadlocks-not-detected", "stock-plugin")
    left_out = {entry["source"]: entry["why"] for entry in found.found["not_checked"]}
    require("cairn" in left_out, f"not checked: {left_out}")
    server.execute("SET GLOBAL rocksdb_deadlock_detect = ON")
    require_findings(server, 0, "stock-plugin")
    server.execute("SET GLOBAL rocksdb_bulk_load = ON")
    require_findings(server, 2, "bulk-load-left-on", "stock-plugin")


def backups(case: Case) -> None:
    server = case.started(FORCED)
    directory = case.back_up(server, "first").parent
    require_findings(server, 0, arguments=("--backups", directory))
    # A second is more than a thousandth of an hour's tenth, so nothing here can be as new.
    time.sleep(1.1)
    old = ("--backups", directory, "--backup-hours", "0.0001")
    require_findings(server, 1, "backup-old", arguments=old)
    case.back_up(server, "second", "--history", "--skip-rocksdb-backup")
    require_findings(server, 1, "backup-incomplete")
    server.execute("UPDATE mysql.mariadb_backup_history SET end_time = NOW() - INTERVAL 3 DAY")
    found = require_findings(server, 1, "backup-incomplete", "backup-old")
    require("3 days ago" in found.finding("backup-old"), found.finding("backup-old"))
    require_findings(server, 1, "backup-incomplete", arguments=("--backup-hours", 100))


def rights(case: Case) -> None:
    """Without rights the status is 3, and the statements that it names are all that lacks."""
    server = case.started(*DURABLE)
    case.back_up(server, "backup", "--history")
    server.execute("CREATE USER low@localhost")
    low = ("--user", "low")
    before = require_findings(server, 3, arguments=low)
    grants = [entry["grant"] for entry in before.found["not_checked"]]
    require(len(grants) == 3 and all(grants), f"grants: {grants}")
    server.execute(*grants)
    after = require_findings(server, 0, arguments=low)
    require(after.found["not_checked"] == [], f"not checked: {after.found['not_checked']}")
    server.execute("SET GLOBAL rocksdb_bulk_load = ON", "REVOKE PROCESS ON *.* FROM low@localhost")
    require_findings(server, 2, "bulk-load-left-on", arguments=low)


def wrong_input(case: Case) -> None:
    """Whatever there is no server behind ends with 3 and a sentence that names it."""
    server = case.started(FORCED)
    dead = case.directory / "dead.sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(dead))
    server.execute("CREATE USER secret@localhost IDENTIFIED BY 'word'")
    file = case.directory / "my.cnf"
    file.write_text("[client]\nuser=secret\npassword=wrong\n")
    for arguments, text in (
        (("--socket", case.directory / "none"), "there is no such socket"),
        (("--socket", case.directory), "is a directory"),
        (("--socket", server.error_log), "is a file"),
        (("--socket", dead), "does not let us in"),
        (("--socket", server.socket, "--user", "nobody"), "Access denied"),
        (("--socket", server.socket, "--user", "secret"), "Access denied"),
        (("--socket", server.socket, "--defaults-file", file), "Access denied"),
        (("--socket", server.socket, "--defaults-file", "/none"), "/none"),
        (("--socket", server.socket, "--backups", "/none"), "/none"),
        (("--sokcet", server.socket), "No such option"),
    ):
        answer = doctor(*arguments)
        require(answer.status == 3, f"{arguments}: exit status {answer.status}")
        require(text in answer.errors, f"{arguments}: {answer.errors}{answer.output}")
        require("Traceback" not in answer.errors, answer.errors)
    file.write_text("[client]\nuser=secret\npassword=word\n")
    require_findings(server, 3, arguments=("--defaults-file", file))
    _check_hung(server)


def _check_hung(server: ScratchServer) -> None:
    assert server.pid
    os.kill(server.pid, signal.SIGSTOP)
    try:
        answer = doctor("--socket", server.socket, "--json")
    finally:
        os.kill(server.pid, signal.SIGCONT)
    require(answer.status == 3, f"a server that hangs: exit status {answer.status}")
    require(answer.found["error"], "a server that hangs: no error")


CASES: tuple[tuple[str, Callable[[Case], None]], ...] = (
    ("healthy", healthy),
    ("plain", plain),
    ("options-at-start", options_at_start),
    ("options-left-on", options_left_on),
    ("limits", limits),
    ("files", places),
    ("state", state),
    ("quarantine", quarantine),
    ("stopped-writes", stopped_writes),
    ("plugins", plugins),
    ("stock", stock),
    ("backups", backups),
    ("rights", rights),
    ("wrong-input", wrong_input),
)


def run(wanted: tuple[str, ...]) -> int:
    """Runs cases by name, or all; returns the exit status."""
    known = dict(CASES)
    if unknown := [name for name in wanted if name not in known]:
        raise CairnError(f"There is no case {unknown[0]}: there are {', '.join(known)}.")
    disk = shutil.disk_usage(ROOT)
    if disk.free < FREE_SHARE * disk.total:
        raise CairnError(
            f"Less than a tenth of the file system of {ROOT} is free: the command would find that "
            "with every server, where the cases have none. Make room."
        )
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    directory = VAR / "acceptance" / "doctor"
    failed = 0
    with own_directory(directory):
        for name in wanted or known:
            failed += not _passes(reporter, mariadb, directory / name, known[name])
        runs.leave(directory, failed)
    say(f"\n{len(wanted or known) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _passes(
    reporter: Reporter, mariadb: Server, directory: Path, check: Callable[[Case], None]
) -> bool:
    case = Case(mariadb, directory)
    directory.mkdir(parents=True)
    failure = ""
    with reporter.phase(directory.name) as phase:
        try:
            check(case)
        except (Failed, CairnError) as error:
            failure = str(error)
        finally:
            for server in case.servers:
                server.kill()
        phase.summary = "failed" if failure else "as expected"
    if failure:
        say(f"    {failure}")
    else:
        for server in case.servers:
            remove(server.directory)
    return not failure
