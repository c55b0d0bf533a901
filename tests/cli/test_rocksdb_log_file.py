"""Records in RocksDB's logs and manifests."""

from tests.acceptance import log_file


def test_the_checksum_is_that_of_castagnoli():
    assert log_file.crc32c(b"123456789") == 0xE3069283


def test_a_record_comes_back(tmp_path):
    path = tmp_path / "000001.log"
    log_file.append(path, b"first")
    log_file.append(path, b"second")
    assert list(log_file.records(path.read_bytes())) == [b"first", b"second"]


def test_a_record_goes_on_in_the_next_block(tmp_path):
    path = tmp_path / "000001.log"
    for size in (log_file.BLOCK_BYTES - 20, 40, log_file.BLOCK_BYTES * 2, 3):
        log_file.append(path, b"x" * size)
    sizes = [len(record) for record in log_file.records(path.read_bytes())]
    assert sizes == [log_file.BLOCK_BYTES - 20, 40, log_file.BLOCK_BYTES * 2, 3]


def test_the_end_of_a_block_that_has_no_room_for_a_header_is_left_empty(tmp_path):
    path = tmp_path / "000001.log"
    log_file.append(path, b"x" * (log_file.BLOCK_BYTES - 7 - 3))
    log_file.append(path, b"next")
    assert path.stat().st_size == log_file.BLOCK_BYTES + 7 + 4
    assert list(log_file.records(path.read_bytes()))[1] == b"next"


def test_the_next_sequence_number_follows_the_last_batch(tmp_path):
    path = tmp_path / "000004.log"
    log_file.append(path, log_file.put_batch(7, 0, b"key", b"value"))
    assert log_file.next_sequence(tmp_path) == 8


def test_a_string_has_its_length_in_front():
    assert log_file.sized(b"xy") == b"\x02xy"
    assert log_file.sized(b"x" * 127)[:2] == b"\x7fx"
    assert log_file.sized(b"x" * 128)[:3] == b"\x80\x01x"
    assert log_file.sized(b"x" * 20_000)[:4] == b"\xa0\x9c\x01x"
