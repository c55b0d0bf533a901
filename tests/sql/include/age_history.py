"""Makes the history of a table's row layouts, in the database of a killed server, a long one.

Usage: age_history.py DIRECTORY TABLE VERSION COLUMNS. One instant ALTER has given the table, as
"test.t", a column that may be NULL. Afterwards the history has that version, and so many physical
columns: others like that one, which came and went.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.acceptance import log_file  # noqa: E402
from tests.sql.include.put_record import index_id  # noqa: E402

HISTORY = 0x45
# A record's version, that of the layout and the number of columns; a column up to the bytes of its
# absent image; the number of logical columns.
HEAD, COLUMN, COUNT = struct.Struct(">HHH"), struct.Struct(">IBHHIBBIIBHBH"), struct.Struct(">H")


def stored_history(directory: Path, key: bytes) -> bytes:
    """The last value of the record in the logs, with its checksum."""
    value = b""
    for log in sorted(directory.glob("*.log"), key=lambda path: int(path.stem)):
        for record in log_file.records(log.read_bytes()):
            begin = record.rfind(log_file.sized(key))
            if begin < 0:
                continue
            begin += len(log_file.sized(key))
            length = shift = 0
            while True:
                length |= (record[begin] & 127) << shift
                shift, begin = shift + 7, begin + 1
                if record[begin - 1] < 128:
                    break
            value = record[begin : begin + length]
    if not value:
        raise SystemExit("the logs hold no history of row layouts")
    return value


def aged(value: bytes, version: int, columns: int) -> bytes:
    """The record with this version, and as many columns."""
    record_version, _, count = HEAD.unpack_from(value)
    position, fields = HEAD.size, ()
    for _ in range(count):
        fields = COLUMN.unpack_from(value, position)
        position += COLUMN.size + fields[-1]
    body = HEAD.pack(record_version, version, columns) + value[HEAD.size : position]
    for number in range(count + 1, columns + 1):
        # Added in version 2, dropped in version 3.
        body += COLUMN.pack(number, fields[1], 2, 3, *fields[4:])
    body += value[position:-4]
    return body + log_file.crc32c(body).to_bytes(4)


def main() -> None:
    directory, table, version, columns = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
    key = HISTORY.to_bytes(4) + index_id(directory, table, 0)
    value = aged(stored_history(directory, key), version, columns)
    family = log_file.column_family(directory, "__system__")
    batch = log_file.put_batch(log_file.next_sequence(directory), family, key, value)
    log_file.append(log_file.newest_log(directory), batch)


main()
