"""Bad values for every variable, driven from the server's own list of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cairn.errors import CairnError
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer
from tests.acceptance import volume
from tests.acceptance.case import Context, Failed, fill, require, require_kept, require_refusal

_WRONG_VALUE, _WRONG_TYPE = 1231, 1232
_READ_ONLY, _GLOBAL_ONLY = 1238, 1229
_TRUNCATED = 1292
_LONG = 1 << 20
# Set while a bulk load runs or for a fact about it, these have errors of their own.
_OTHER_REFUSALS = (1210, 1220, 1296, 1815)


@dataclass(frozen=True)
class _Variable:
    name: str
    is_session: bool
    kind: str
    lowest: int | None
    highest: int | None
    is_read_only: bool


@dataclass(frozen=True)
class _Probe:
    """A value that is wrong for a type, and what may come of it."""

    value: str
    errors: tuple[int, ...]  # Empty: it is accepted, cut to the range with a warning.


def bad_values(context: Context) -> None:
    server = context.server()
    server.start()
    fill(server)
    with _Load(server) as load:
        count = 0
        with server.connect() as connection, connection.cursor() as cursor:
            for variable in _variables(cursor):
                count += _check(cursor, variable)
                require(server.is_alive(), f"the server died of {variable.name}")
            # What a probe may have changed on the way is put back before the load is judged.
            cursor.execute("SET GLOBAL rocksdb_pause_background_work = OFF")
        load.require_progress()
    context.note(f"{count} wrong values were refused or cut to the range")
    require_kept(server)
    server.stop()


def _variables(cursor: Any) -> list[_Variable]:
    cursor.execute(
        "SELECT LOWER(VARIABLE_NAME), VARIABLE_SCOPE, VARIABLE_TYPE, NUMERIC_MIN_VALUE, "
        "NUMERIC_MAX_VALUE, READ_ONLY FROM information_schema.SYSTEM_VARIABLES "
        "WHERE VARIABLE_NAME LIKE 'rocksdb%' OR VARIABLE_NAME LIKE 'cairn%' ORDER BY 1"
    )
    return [
        _Variable(
            name,
            scope.startswith("SESSION"),
            kind,
            _number(lowest),
            _number(highest),
            read_only == "YES",
        )
        for name, scope, kind, lowest, highest, read_only in cursor.fetchall()
    ]


def _number(text: str | None) -> int | None:
    return (
        int(float(text)) if text not in (None, "") and "." in text else int(text) if text else None
    )


def _check(cursor: Any, variable: _Variable) -> int:
    """Puts every wrong value into one variable; returns how many there were."""
    if variable.is_read_only:
        for scope in ("GLOBAL", "SESSION"):
            _require_error(cursor, scope, variable, "DEFAULT", (_READ_ONLY,))
        return 2
    count = 0
    if not variable.is_session:
        _require_error(cursor, "SESSION", variable, "DEFAULT", (_GLOBAL_ONLY,))
        count += 1
    for scope in ("GLOBAL", "SESSION") if variable.is_session else ("GLOBAL",):
        for probe in _probes(variable):
            _try(cursor, scope, variable, probe)
            count += 1
    return count


def _probes(variable: _Variable) -> Iterator[_Probe]:
    wrong = (_WRONG_VALUE, _WRONG_TYPE)
    long_text = f"REPEAT('x', {_LONG})"
    if variable.kind == "BOOLEAN":
        for value in ("'yes'", "2", "NULL", "1.5", "''", long_text):
            yield _Probe(value, wrong)
    elif variable.kind == "ENUM":
        for value in ("'nonsense'", "NULL", "99", "1.5", "''", long_text):
            yield _Probe(value, wrong)
    elif variable.kind == "VARCHAR":
        for value in ("1", "1.5", "TRUE"):
            yield _Probe(value, wrong)
        yield _Probe(long_text, ())
    elif variable.kind == "DOUBLE":
        for value in ("'many'", "NULL", "''", long_text):
            yield _Probe(value, wrong)
    else:
        for value in ("'many'", "NULL", "''", "1.5", "1e30", long_text):
            yield _Probe(value, wrong)
        if variable.highest is not None and variable.highest < 2**63:
            yield _Probe(str(variable.highest + 1), ())
        if variable.lowest is not None:
            yield _Probe(str(variable.lowest - 1), ())


def _value(cursor: Any, scope: str, variable: _Variable) -> Any:
    cursor.execute(f"SELECT @@{scope}.{variable.name}")
    return cursor.fetchone()[0]


def _set(cursor: Any, scope: str, variable: _Variable, value: str) -> tuple[int, list[int]]:
    """The error of SET, 0 for none, and the codes of its warnings."""
    import pymysql

    try:
        cursor.execute(f"SET {scope} {variable.name} = {value}")
        error = 0
    except pymysql.MySQLError as failure:
        error = failure.args[0]
        if error in (2006, 2013):
            raise Failed(f"the connection is lost after SET {variable.name} = {value}") from None
    cursor.execute("SHOW WARNINGS")
    return error, [row[1] for row in cursor.fetchall()]


def _require_error(
    cursor: Any, scope: str, variable: _Variable, value: str, wanted: tuple[int, ...]
) -> None:
    error, _ = _set(cursor, scope, variable, value)
    require(error in wanted, f"SET {scope} {variable.name} = {value} gives {error}, not {wanted}")


def _try(cursor: Any, scope: str, variable: _Variable, probe: _Probe) -> None:
    before = _value(cursor, scope, variable)
    error, warnings = _set(cursor, scope, variable, probe.value)
    after = _value(cursor, scope, variable)
    what = f"SET {scope} {variable.name} = {probe.value}"
    if error:
        allowed = probe.errors or (_WRONG_VALUE, _WRONG_TYPE, *_OTHER_REFUSALS)
        require(error in allowed, f"{what} gives error {error}, not one of {allowed}")
        require(after == before, f"{what} was refused, but changed {before} to {after}")
        return
    require(not probe.errors, f"{what} is accepted; {before} became {str(after)[:80]}")
    if variable.lowest is not None and variable.highest is not None:
        require(
            variable.lowest <= after <= variable.highest,
            f"{what} made {after}, which is out of range",
        )
        require(_TRUNCATED in warnings, f"{what} was cut to {after} without a warning")
    cursor.execute(f"SET {scope} {variable.name} = DEFAULT")


class _Load:
    """Sessions that write and read while a case goes on."""

    def __init__(self, server: ScratchServer) -> None:
        self._server = server
        self._stop = threading.Event()
        self._rounds = 0
        self._errors: list[str] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> _Load:
        self._server.query("CREATE TABLE bad.busy (id INT PRIMARY KEY, n INT) ENGINE=ROCKSDB")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        import pymysql

        try:
            with self._server.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SET rocksdb_lock_wait_timeout = 60")
                while not self._stop.is_set():
                    key = self._rounds % 100
                    cursor.execute(f"REPLACE INTO bad.busy VALUES ({key}, {self._rounds})")
                    cursor.execute(f"SELECT n FROM bad.busy WHERE id = {key}")
                    if cursor.fetchone() != (self._rounds,):
                        self._errors.append(f"row {key} is not what was written")
                    self._rounds += 1
        except pymysql.MySQLError as error:
            self._errors.append(str(error))

    def require_progress(self) -> None:
        self._stop.set()
        self._thread.join()
        require(not self._errors, f"the load failed: {self._errors[:3]}")
        require(self._rounds > 0, "the load never got a turn")


# ---- at start ----------------------------------------------------------------------------------


def bad_values_at_start(context: Context) -> None:
    server = context.server()
    server.start()
    fill(server)
    server.stop()
    # The server itself refuses what it does not know, and says so.
    for option in (
        "--rocksdb-blok-cache-size=1M",
        "--rocksdb_flush_log_at_trx_committ=1",
        "--cairn-formatt=stock",
    ):
        text = _refused_start(server, option)
        name = option.lstrip("-").partition("=")[0]
        require("unknown variable" in text and name in text, f"{option}: the log says {text}")
    # The server tells of a value that it cannot read, and goes on or not as with any plug-in.
    for option in (
        "--rocksdb-max-subcompactions=many",
        "--rocksdb-info-log-level=loud",
        "--rocksdb-no-block-cache=perhaps",
        "--cairn-format=other",
    ):
        text = _start_log(server, option)
        name = option.lstrip("-").partition("=")[0]
        told = [
            line
            for line in text.splitlines()
            if ("[ERROR]" in line or "[Warning]" in line) and name in line.replace("_", "-")
        ]
        require(told, f"{option}: the log says nothing of it:\n{text}")
    # One out of range is cut to the range.
    for option, name, value in (
        ("--rocksdb-max-subcompactions=1000", "rocksdb_max_subcompactions", 64),
        ("--rocksdb-block-cache-size=1", "rocksdb_block_cache_size", 1024),
        ("--rocksdb-wal-recovery-mode=9", "rocksdb_wal_recovery_mode", 3),
    ):
        server.start(option)
        found = server.query(f"SELECT @@global.{name}")[0][0]
        require(found == value, f"{option} makes {found}, not {value}")
        warned = [
            line
            for line in server.log()
            if "[Warning]" in line and name[8:] in line.replace("-", "_")
        ]
        require(warned, f"{option}: cut to the range without a warning")
        server.stop()
    server.start()
    require_kept(server)
    server.stop()


def _refused_start(server: ScratchServer, option: str) -> str:
    """What the log says of a start that the option keeps from succeeding."""
    try:
        server.start(option, needs_engine=False)
    except CairnError:
        return "\n".join(server.log())
    raise Failed(f"the server started with {option}")


def _start_log(server: ScratchServer, option: str) -> str:
    """What the log says of a start, whatever comes of it."""
    try:
        server.start(option, needs_engine=False)
        server.stop()
    except CairnError:
        require(not server.is_alive(), f"the server hangs with {option}")
    return "\n".join(server.log())


def families(context: Context) -> None:
    """Texts with options of column families: refused by name at start, and at run time too."""
    server = context.server()
    server.start()
    fill(server)
    default = "rocksdb_default_cf_options"
    override = "rocksdb_override_cf_options"
    texts = (
        ("write_bufer_size=1m", "write_bufer_size.*nearest is write_buffer_size"),
        ("block_based_table_factory={blok_size=4096}", "blok_size.*nearest is block_size"),
        ("block_based_table_factory={block_size=4096", "brace"),
        ("write_buffer_size=-1", "write_buffer_size=-1: must not be negative"),
        ("block_based_table_factory={block_size=-4096}", "block_size=-4096: must not be negative"),
        ("write_buffer_size=1m;;target_file_size_base=1m", "Unexpected char|Empty key"),
        ("compression=kNoSuchCompression", "compression"),
        ("write_buffer_size", "expected"),
        ("x" * 20_000, "expected"),
    )
    before = _family_options(server)
    for text, pattern in texts:
        _require_live_refusal(
            server, f"default={{{text}}}", pattern if "braces" not in pattern else ""
        )
    for text in ("default={write_buffer_size=1m};;other={}", "default", "default={a=1", "={a=1}"):
        _require_live_refusal(server, text, "")
    # Of two families the good one stays as it is, too.
    _require_live_refusal(server, "default={write_buffer_size=9m};two={no_such=1}", "no_such")
    require(_family_options(server) == before, "a refused text changed options")
    found = server.query("SELECT 1 FROM information_schema.ROCKSDB_CF_OPTIONS WHERE CF_NAME='two'")
    require(not found, "a refused text made a column family")
    server.stop()
    for text, pattern in texts:
        context.note(f"{text[:60]}")
        require_refusal(context, server, (default, pattern), f"--{default}={text}")
        require_refusal(context, server, (override, pattern), f"--{override}=default={{{text}}}")
    server.start(f"--{override}=default={{compression_per_level=kZSTDNotFinalCompression}}")
    require_kept(server)
    server.stop()


def _family_options(server: ScratchServer) -> list[tuple[Any, ...]]:
    return server.query("SELECT * FROM information_schema.ROCKSDB_CF_OPTIONS ORDER BY 1, 2")


def _require_live_refusal(server: ScratchServer, text: str, pattern: str) -> None:
    import re

    import pymysql

    with server.connect() as connection, connection.cursor() as cursor:
        try:
            cursor.execute("SET GLOBAL rocksdb_update_cf_options = %s", (text,))
            raise Failed(f"rocksdb_update_cf_options takes {text[:80]}")
        except pymysql.MySQLError as error:
            require(error.args[0] == _WRONG_VALUE, f"{text[:80]}: {error}")
        cursor.execute("SHOW WARNINGS")
        warnings = " ".join(row[2] for row in cursor.fetchall())
        require(re.search(pattern, warnings), f"{text[:80]}: the warning says {warnings[:300]}")
        cursor.execute("SELECT @@global.rocksdb_update_cf_options")
        require(cursor.fetchone()[0] is None, f"{text[:80]}: refused, but kept as the value")


def combinations(context: Context) -> None:
    server = context.server()
    server.start()
    fill(server)
    server.stop()
    for options, pattern in (
        (("--rocksdb-use-direct-reads=1", "--rocksdb-allow-mmap-reads=1"), "use_direct_reads"),
        (
            (
                "--rocksdb-use-direct-io-for-flush-and-compaction=1",
                "--rocksdb-allow-mmap-writes=1",
            ),
            "allow_mmap_writes",
        ),
        (("--rocksdb-allow-mmap-writes=1",), "flush_log_at_trx_commit needs to be 0"),
        (("--rocksdb-cache-dump=OFF",), "rocksdb_cache_dump"),
        (("--rocksdb-persistent-cache-path=cache",), "rocksdb_persistent_cache_size_mb"),
        (("--rocksdb-write-policy=write_unprepared",), "write_unprepared"),
    ):
        context.note(" ".join(options))
        require_refusal(context, server, (pattern,), *options)
    mark = server.data / ENGINE_DIRECTORY / "ROCKSDB_CORRUPTED"
    mark.touch()
    require_refusal(context, server, ("corruption", "ROCKSDB_CORRUPTED"))
    server.start("--rocksdb-allow-to-start-after-corruption=ON")
    require_kept(server)
    server.stop()
    mark.unlink()
    # Memory maps for writing, and caches beside the block cache, work where they are allowed.
    cache = context.directory / "cache"
    server.start(
        "--rocksdb-allow-mmap-writes=1",
        "--rocksdb-flush-log-at-trx-commit=0",
        f"--rocksdb-persistent-cache-path={cache}",
        "--rocksdb-persistent-cache-size-mb=100",
        "--rocksdb-sim-cache-size=16M",
    )
    _require_live_error(server, "SET GLOBAL rocksdb_flush_log_at_trx_commit = 1", _WRONG_VALUE)
    server.query("UPDATE bad.kept SET k = k + 1")
    server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
    server.query("UPDATE bad.kept SET k = k - 1")
    require_kept(server)
    require(list(cache.rglob("*")), "the persistent cache has no files")
    server.stop()
    server.start()
    require_kept(server)
    server.stop()


def _require_live_error(server: ScratchServer, statement: str, code: int) -> None:
    import pymysql

    try:
        server.query(statement)
    except pymysql.MySQLError as error:
        require(error.args[0] == code, f"{statement}: {error}")
        return
    raise Failed(f"{statement} is accepted")


# ---- paths -------------------------------------------------------------------------------------


def paths(context: Context) -> None:
    """Every path points at nothing, at a file, and at a directory where nobody can write."""
    server = context.server()
    server.start()
    fill(server)
    server.stop()
    file = context.directory / "file"
    file.write_text("a file\n", encoding="ascii")
    nothing = context.directory / "none" / "below"
    for name, extra in (
        ("rocksdb-datadir", ()),
        ("rocksdb-wal-dir", ()),
        ("rocksdb-log-dir", ()),
        ("rocksdb-persistent-cache-path", ("--rocksdb-persistent-cache-size-mb=100",)),
    ):
        for path in (nothing, file):
            context.note(f"{name}={path.name}")
            option = f"--{name}={path}"
            require_refusal(
                context, server, (str(path),), option, *extra, untouched=name == "rocksdb-datadir"
            )
    _require_checkpoint_refusals(context, server, (nothing, file))
    locked = context.directory / "volume" / "rocksdb"
    locked.mkdir(parents=True)
    with volume.read_only(locked):
        for name in ("rocksdb-datadir", "rocksdb-wal-dir", "rocksdb-log-dir"):
            context.note(f"{name}: read-only")
            require_refusal(
                context,
                server,
                ("ead-only", str(locked)),
                f"--{name}={locked}",
                untouched=name == "rocksdb-datadir",
            )
        _require_checkpoint_refusals(context, server, (locked / "checkpoint",))
    server.start()
    require_kept(server)
    server.stop()


def _require_checkpoint_refusals(
    context: Context, server: ScratchServer, wanted: tuple[Any, ...]
) -> None:
    server.start()
    for path in wanted:
        context.note(f"rocksdb_create_checkpoint={path.name}")
        _require_live_error(server, f"SET GLOBAL rocksdb_create_checkpoint = '{path}'", 1296)
    require_kept(server)
    server.stop()
