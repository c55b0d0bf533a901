"""Puts a record into the dictionary of a killed server, as damage or a newer version leaves it.

Usage: put_dictionary_record.py DIRECTORY KEY VALUE. KEY is the type's number and the rest of the
key: for a table "1:test.t", for the record of its second index "2:test.t/1", else hex digits. VALUE
is hex digits.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "cli"))

from cairn.acceptance import log_file  # noqa: E402

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


def main() -> None:
    directory = Path(sys.argv[1])
    kind, _, rest = sys.argv[2].partition(":")
    if int(kind) == TABLE:
        name = rest.encode()
    elif "/" in rest:
        table, _, position = rest.partition("/")
        name = index_id(directory, table, int(position))
    else:
        name = bytes.fromhex(rest)
    family = log_file.column_family(directory, "__system__")
    sequence = log_file.next_sequence(directory)
    batch = log_file.put_batch(
        sequence, family, int(kind).to_bytes(4) + name, bytes.fromhex(sys.argv[3])
    )
    log_file.append(log_file.newest_log(directory), batch)


main()
