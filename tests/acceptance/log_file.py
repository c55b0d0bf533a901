"""Writing into RocksDB's own files, so as to find out what the engine makes of foreign contents.

RocksDB's write-ahead logs and manifests have one layout: blocks of 32 KiB with records, each with a
masked CRC-32C, a length and a type. What is appended here is well formed, so that it is its meaning
that the engine must refuse and not a checksum.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

BLOCK_BYTES = 32 * 1024
_HEADER = struct.Struct("<IHB")
# Types of records: whole, or the first, a middle and the last part; the same with the number of
# the log behind the header, for logs whose file may be used again.
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_NUMBERED = 4
_NUMBER_BYTES = 4


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """The Castagnoli CRC."""
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ _CRC_TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """The form in which RocksDB stores a checksum: a checksum of data with checksums is weak."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data: bytes) -> Iterator[bytes]:
    """The records of a log, put together from their parts; records about the log are left out."""
    position, parts = 0, b""
    while position + _HEADER.size <= len(data):
        left = BLOCK_BYTES - position % BLOCK_BYTES
        if left < _HEADER.size:
            position += left
            continue
        _, length, kind = _HEADER.unpack_from(data, position)
        if kind == 0:
            return
        begin, end = position + _HEADER.size, position + _HEADER.size + length
        position = end
        if _NUMBERED < kind <= 2 * _NUMBERED:
            begin += _NUMBER_BYTES
            # A numbered record's length does not count its number.
            end += _NUMBER_BYTES
            position = end
            kind -= _NUMBERED
        if kind not in (_WHOLE, _FIRST, _MIDDLE, _LAST):
            continue
        parts = data[begin:end] if kind in (_WHOLE, _FIRST) else parts + data[begin:end]
        if kind in (_WHOLE, _LAST):
            yield parts


def append(path: Path, record: bytes) -> None:
    """Appends a record to a log or a manifest, in parts where a block ends within it."""
    position = path.stat().st_size if path.exists() else 0
    out, rest, first = b"", record, True
    while first or rest:
        left = BLOCK_BYTES - (position + len(out)) % BLOCK_BYTES
        if left < _HEADER.size:
            out += b"\0" * left
            left = BLOCK_BYTES
        part, rest = rest[: left - _HEADER.size], rest[left - _HEADER.size :]
        kind = (_FIRST if rest else _WHOLE) if first else (_MIDDLE if rest else _LAST)
        checksum = masked(crc32c(bytes([kind]) + part))
        out += _HEADER.pack(checksum, len(part), kind) + part
        first = False
    with path.open("ab") as log:
        log.write(out)


def sized(text: bytes) -> bytes:
    """A string with its length in front, seven bits in each byte, the lowest first."""
    length, left = b"", len(text)
    while left > 127:
        length += bytes([left & 127 | 128])
        left >>= 7
    return length + bytes([left]) + text


def put_batch(sequence: int, column_family: int, key: bytes, value: bytes) -> bytes:
    """A write batch that puts one entry."""
    entry = bytes([5, column_family]) + sized(key) + sized(value)
    return struct.pack("<QI", sequence, 1) + entry


def newest_log(directory: Path) -> Path:
    return max(directory.glob("*.log"), key=lambda path: int(path.stem))


def next_sequence(directory: Path) -> int:
    """The sequence number that follows all that the logs hold."""
    last = 0
    for path in directory.glob("*.log"):
        for record in records(path.read_bytes()):
            if len(record) >= 12:
                sequence, count = struct.unpack_from("<QI", record)
                last = max(last, sequence + count)
    if last == 0:
        raise ValueError(f"the logs in {directory} are empty")
    return last


def manifest(directory: Path) -> Path:
    """The manifest that CURRENT names."""
    return directory / (directory / "CURRENT").read_text(encoding="ascii").strip()


def column_family(directory: Path, name: str) -> int:
    """The number of a column family, from the edit of the manifest that has added it."""
    pattern = rb"\xc8\x01(.)\xc9\x01" + re.escape(sized(name.encode()))
    for record in records(manifest(directory).read_bytes()):
        if found := re.search(pattern, record, re.DOTALL):
            return found[1][0]
    raise ValueError(f"{directory} has no column family {name}")
