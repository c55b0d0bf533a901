"""What the binary log says: the rows that its transactions inserted."""

from __future__ import annotations

import re
import struct
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from cairn.prefix import Server
from tests import replication

_MAGIC = b"\xfebin"
_HEADER = struct.Struct("<IBIIIH")
_FORMAT_DESCRIPTION = 15
_INSERT = re.compile(r"### INSERT INTO `(\w+)`\.`(\w+)`")
_COLUMN = re.compile(r"###   @([12])=(-?\d+)")
_XA = re.compile(r"XA (START|PREPARE|COMMIT|ROLLBACK) X'([0-9a-fA-F]*)'")

# The first two columns of a row, which identify it in every table that this is used for.
Row = tuple[int, int]


def valid_end(content: bytes) -> int:
    """Up to where a file has whole events with right checksums; a crash leaves any bytes behind."""
    at = len(_MAGIC)
    if not content.startswith(_MAGIC):
        return 0
    while at + _HEADER.size <= len(content):
        _, kind, _, length, _, _ = _HEADER.unpack_from(content, at)
        event = content[at : at + length]
        if length < _HEADER.size + 4 or len(event) < length:
            break
        # The flag of a file in use is not in the checksum of the first event.
        checksum = struct.unpack("<I", event[-4:])[0]
        if kind != _FORMAT_DESCRIPTION and zlib.crc32(event[:-4]) != checksum:
            break
        at += length
    return at


class Inserted:
    """The rows that committed transactions inserted, by table, over files in their order."""

    def __init__(self) -> None:
        self.rows: dict[str, set[Row]] = defaultdict(set)
        self._prepared: dict[str, list[tuple[str, Row]]] = {}

    def read(self, lines: Iterable[str]) -> None:
        """Takes in one file as mariadb-binlog prints it with decoded rows."""
        group: list[tuple[str, Row]] = []
        table, first = "", 0
        for line in lines:
            if found := _INSERT.match(line):
                table = f"{found[1]}.{found[2]}"
            elif found := _COLUMN.match(line):
                if found[1] == "1":
                    first = int(found[2])
                elif table:
                    group.append((table, (first, int(found[2]))))
                    table = ""
            elif line.startswith("### "):
                if not line.startswith("###   ") and not line.startswith("### SET"):
                    table = ""
            elif found := _XA.match(line):
                group = self._decide(found[1], found[2].lower(), group)
            elif line.startswith("COMMIT"):
                self._keep(group)
                group = []
            elif line.startswith(("BEGIN", "START TRANSACTION", "ROLLBACK")):
                group = []

    def _decide(self, verb: str, xid: str, group: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
        if verb == "PREPARE":
            self._prepared[xid] = group
        elif verb == "COMMIT":
            self._keep(self._prepared.pop(xid, []))
        elif verb == "ROLLBACK":
            self._prepared.pop(xid, None)
        return []

    def _keep(self, group: list[tuple[str, Row]]) -> None:
        for table, row in group:
            self.rows[table].add(row)


def read_files(mariadb: Server, paths: Iterable[Path], into: Inserted) -> None:
    """Reads files of a binary log, each up to where it is whole."""
    for path in paths:
        end = valid_end(path.read_bytes())
        if end <= len(_MAGIC):
            continue
        with tempfile.TemporaryFile() as text:
            replication.read_log(
                mariadb,
                path,
                text,
                *("--base64-output=decode-rows", "--verbose", f"--stop-position={end}"),
            )
            text.seek(0)
            into.read(text.read().decode("utf-8", "replace").splitlines())
