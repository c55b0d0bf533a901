"""Files that the engine cannot or must not open, and options that do not exist."""

from __future__ import annotations

import shutil
from pathlib import Path

from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer
from tests.acceptance import log_file, volume
from tests.acceptance.case import Context, fill, require, require_kept, require_refusal

_DICTIONARY = "__system__"
_HIGHEST_INDEX_RECORD, _FORMAT_RECORD = 7, 0x43


def _filled(context: Context, *, crash: bool = False) -> tuple[ScratchServer, Path]:
    """A stopped server with a table, and its engine's directory."""
    server = context.server()
    server.start()
    fill(server)
    if crash:
        server.kill()
    else:
        server.stop()
    return server, server.data / ENGINE_DIRECTORY


def _require_back(server: ScratchServer) -> None:
    """With the cause gone, the engine starts and has its rows."""
    server.start()
    require_kept(server)
    server.stop()


def read_only(context: Context) -> None:
    mount = context.directory / "volume" / "rocksdb"
    mount.mkdir(parents=True)
    server = context.server("server", f"--rocksdb-datadir={mount}")
    server.start()
    fill(server)
    server.stop()
    with volume.read_only(mount):
        require_refusal(context, server, ("read-only", "rocksdb"), engine_directory=mount)
    _require_back(server)


def locked(context: Context) -> None:
    first = context.server("first")
    first.start()
    fill(first)
    directory = first.data / ENGINE_DIRECTORY
    second = context.server("second", f"--rocksdb-datadir={directory}")
    require_refusal(
        context,
        second,
        ("another|other process|in use|already", "lock", "#rocksdb"),
        engine_directory=directory,
    )
    require_kept(first)
    first.stop()


def current_names_nothing(context: Context) -> None:
    server, directory = _filled(context)
    current = directory / "CURRENT"
    good = current.read_bytes()
    current.write_bytes(b"MANIFEST-999999\n")
    require_refusal(context, server, ("MANIFEST-999999",))
    current.write_bytes(good)
    _require_back(server)


def current_is_empty(context: Context) -> None:
    server, directory = _filled(context)
    current = directory / "CURRENT"
    good = current.read_bytes()
    current.write_bytes(b"")
    require_refusal(context, server, ("CURRENT",))
    current.write_bytes(good)
    _require_back(server)


def current_is_missing(context: Context) -> None:
    """With the logs or without: nothing is made anew and nothing is removed."""
    server, directory = _filled(context, crash=True)
    server.start()
    server.stop()
    away = context.directory / "away"
    away.mkdir()
    shutil.move(directory / "CURRENT", away)
    said = ("no CURRENT", "MANIFEST-", "table file", "#rocksdb")
    require_refusal(context, server, said)
    for log in directory.glob("*.log"):
        shutil.move(log, away)
    require_refusal(context, server, said)
    for path in away.iterdir():
        shutil.move(path, directory)
    _require_back(server)


def logs_in_data_directory(context: Context) -> None:
    """A killed server has its rows in the logs alone."""
    server, directory = _filled(context, crash=True)
    logs = context.directory / "logs"
    logs.mkdir()
    option = f"--rocksdb-wal-dir={logs}"
    require_refusal(context, server, (r"\.log lies in the data directory", str(logs)), option)
    for log in directory.glob("*.log"):
        shutil.move(log, logs)
    server.start(option)
    require_kept(server)
    server.stop()


def table_file_is_missing(context: Context) -> None:
    server, directory = _filled(context, crash=True)
    # Recovery writes what was in the log into table files.
    server.start()
    server.stop()
    files = sorted(directory.glob("*.sst"))
    require(files, "the engine has no table files after a restart")
    away = context.directory / files[0].name
    shutil.move(files[0], away)
    require_refusal(context, server, (files[0].name,), untouched=False)
    shutil.move(away, files[0])
    _require_back(server)


def other_comparator(context: Context) -> None:
    """A database of another program: its keys are in another order."""
    server = context.server()
    directory = server.data / ENGINE_DIRECTORY
    directory.mkdir()
    (directory / "CURRENT").write_bytes(b"MANIFEST-000001\n")
    edit = b"\x01" + log_file.sized(b"other.Comparator") + b"\x02\x00\x03\x02\x04\x00"
    log_file.append(directory / "MANIFEST-000001", edit)
    require_refusal(context, server, ("comparator", "other.Comparator"))


def newer_rocksdb(context: Context) -> None:
    """The manifest holds an edit of a kind that this RocksDB does not know."""
    server, directory = _filled(context)
    manifest = log_file.manifest(directory)
    good = manifest.read_bytes()
    log_file.append(manifest, b"\x96\x01" + log_file.sized(b"of the future"))
    require_refusal(context, server, ("MANIFEST|unknown tag|VersionEdit",))
    manifest.write_bytes(good)
    _require_back(server)


def _put_into_dictionary(directory: Path, key: bytes, value: bytes) -> None:
    number = log_file.column_family(directory, _DICTIONARY)
    batch = log_file.put_batch(log_file.next_sequence(directory), number, key, value)
    log_file.append(log_file.newest_log(directory), batch)


def dictionary_of_newer_engine(context: Context) -> None:
    """What concerns every table is refused; the server never writes over it."""
    server, directory = _filled(context, crash=True)
    whole = context.directory / "whole"
    shutil.copytree(directory, whole)
    cases = (
        ("highest index number", _HIGHEST_INDEX_RECORD, b"\x00\x63\x00\x00\x01\x00"),
        ("format of the directory, its version", _FORMAT_RECORD, b"\x00\x63\x00\x02"),
        ("format of the directory", _FORMAT_RECORD, b"\x00\x01\x00\x63"),
    )
    for what, record, value in cases:
        context.note(f"number 99 in a record: {what}")
        _put_into_dictionary(directory, record.to_bytes(4), value)
        require_refusal(context, server, ("version|format", "99"), untouched=False)
        shutil.rmtree(directory)
        shutil.copytree(whole, directory)
    # What this case appends is read at all: the same with the known version is no obstacle.
    _put_into_dictionary(directory, _HIGHEST_INDEX_RECORD.to_bytes(4), b"\x00\x01\x00\x00\x07\xd0")
    _require_back(server)


def directory_of_newer_cairn(context: Context) -> None:
    """The file beside RocksDB's is read first, so that nothing at all is written."""
    server, directory = _filled(context)
    marker = directory / "CAIRN_FORMAT"
    require(marker.read_text(encoding="ascii") == "1\n", "CAIRN_FORMAT does not hold version 1")
    for text, pattern in (("2\n", "version 2"), ("what?\n", "CAIRN_FORMAT")):
        marker.write_text(text, encoding="ascii")
        listed = sorted(path.name for path in directory.iterdir())
        require_refusal(context, server, (pattern, "#rocksdb"))
        require(
            sorted(path.name for path in directory.iterdir()) == listed,
            "the refused start made or removed files",
        )
    marker.write_text("1\n", encoding="ascii")
    _require_back(server)


def path_is_a_file(context: Context) -> None:
    server = context.server()
    (server.data / ENGINE_DIRECTORY).write_text("not a directory\n", encoding="ascii")
    require_refusal(context, server, ("#rocksdb", "directory"))
    require((server.data / ENGINE_DIRECTORY).is_file(), "the file is gone")


def unknown_option(context: Context) -> None:
    server, _ = _filled(context)
    for option, patterns in (
        (
            "--rocksdb-default-cf-options=no_such_option=1",
            ("no_such_option", "rocksdb_default_cf_options"),
        ),
        (
            "--rocksdb-default-cf-options=write_buffer_size=many",
            ("write_buffer_size|many", "rocksdb_default_cf_options"),
        ),
        (
            "--rocksdb-override-cf-options=cf1={no_such_option=1}",
            ("no_such_option", "rocksdb_override_cf_options"),
        ),
        ("--rocksdb-override-cf-options=cf1={", ("rocksdb_override_cf_options",)),
    ):
        context.note(option)
        require_refusal(context, server, patterns, option)
    _require_back(server)
