"""Puts an entry into the database of a killed server, as damage or a newer version leaves it.

Usage: put_record.py DIRECTORY KEY VALUE. VALUE is hex digits. KEY is for a record of the dictionary
its type's number and the rest of the key: for a table "1:test.t", for that of its second index
"2:test.t/1", else hex digits. For a row it is "row:test.t/" and the bytes of the primary key in hex
digits; "checked:" in place of "row:" appends checksums, right for the key, wrong for the value.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.acceptance import log_file  # noqa: E402

TABLE, INDEX = 1, 2


def index_id(directory: Path, table: str, position: int) -> bytes:
    """Column family and number of an index, from the table's entry in the logs."""
    key = log_file.sized(TABLE.to_bytes(4) + table.encode())
    ids = b""
    for log in sorted(directory.glob("*.log"), key=lambda path: int(path.stem)):
        for record in log_file.records(log.read_bytes()):
            if (begin := record.rfind(key)) >= 0:
                begin += len(key)
                ids = record[begin + 3 : begin + 1 + record[begin]]
    if len(ids) < 8 * (position + 1):
        raise SystemExit(f"the logs hold no index {position} of {table}")
    return ids[8 * position : 8 * position + 8]


def row(directory: Path, name: str, value: bytes, *, checked: bool) -> tuple[int, bytes, bytes]:
    """Family, key and value of a row."""
    table, _, key_digits = name.partition("/")
    index = index_id(directory, table, 0)
    key = index[4:] + bytes.fromhex(key_digits)
    if checked:
        wrong = zlib.crc32(value) ^ 1
        value += b"\1" + zlib.crc32(key).to_bytes(4) + wrong.to_bytes(4)
    return int.from_bytes(index[:4]), key, value


def record(directory: Path, kind: str, rest: str, value: bytes) -> tuple[int, bytes, bytes]:
    """Family, key and value of a record of the dictionary."""
    if int(kind) == TABLE:
        name = rest.encode()
    elif "/" in rest:
        table, _, position = rest.partition("/")
        name = index_id(directory, table, int(position))
    else:
        name = bytes.fromhex(rest)
    family = log_file.column_family(directory, "__system__")
    return family, int(kind).to_bytes(4) + name, value


def main() -> None:
    directory, value = Path(sys.argv[1]), bytes.fromhex(sys.argv[3])
    kind, _, rest = sys.argv[2].partition(":")
    if kind in ("row", "checked"):
        entry = row(directory, rest, value, checked=kind == "checked")
    else:
        entry = record(directory, kind, rest, value)
    batch = log_file.put_batch(log_file.next_sequence(directory), *entry)
    log_file.append(log_file.newest_log(directory), batch)


if __name__ == "__main__":
    main()
