"""./cairn doctor: what it reads of a process and its files, over a /proc made for the test."""

import os
import subprocess
import sys
import time

import pytest

from cairn.doctor import gather, machine
from cairn.doctor.asking import global_privileges
from cairn.doctor.facts import Setting, Source
from cairn.doctor.machine import Machine
from cairn.errors import CairnError
from cairn.paths import ROOT

MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
35 21 0:31 / /dev/shm rw shared:5 - tmpfs tmpfs rw
36 21 8:2 / /srv/data rw - xfs /dev/sda2 rw
"""
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             96365                96365                processes
Max open files            {}                524288               files
"""


@pytest.fixture
def found(tmp_path):
    """A process 42 that has begun 100 seconds after the machine, which has 8 GiB."""
    proc = tmp_path / "proc"
    own = proc / "42"
    (own / "fd").mkdir(parents=True)
    for number in range(3):
        (own / "fd" / str(number)).touch()
    (own / "root").symlink_to(tmp_path / "root")
    (tmp_path / "root").mkdir()
    (proc / "meminfo").write_text(f"MemTotal:       {8 << 20} kB\nMemFree: 1 kB\n")
    (proc / "stat").write_text("cpu 1 2\nbtime 1000000\n")
    ticks = 100 * os.sysconf("SC_CLK_TCK")
    (own / "stat").write_text(f"42 (a b) S {' '.join(['0'] * 18)} {ticks} 0\n")
    (own / "status").write_text("Name:\tmariadbd\nVmRSS:\t  2048 kB\nVmSwap:\t  16 kB\n")
    (own / "limits").write_text(LIMITS.format("32768"))
    (own / "cgroup").write_text("0::/system.slice/mariadb.service\n")
    (own / "maps").write_text("")
    (own / "mountinfo").write_text(MOUNTS)
    return Machine(42, proc, tmp_path / "groups")


def library(found, content=b"cairn_format"):
    """The library at its place; its inode, as maps shows it."""
    path = found.outside("/plugin/ha_rocksdb.so")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (999_999, 999_999))
    return path, path.stat().st_ino


def mapped(found, inode, deleted=""):
    line = f"7f00-7f01 r-xp 00000000 08:01 {inode}     /plugin/ha_rocksdb.so{deleted}\n"
    (found.own / "maps").write_text(line * 3 + "7f02-7f03 rw-p 00000000 00:00 0\n")
    return machine.libraries(found, "/plugin/")


def test_limits_and_memory_of_a_process(found):
    process = machine.process(found, "/plugin")
    assert (process.open_files, process.open_files_limit) == (3, 32768)
    assert (process.resident, process.swapped) == (2 << 20, 16 << 10)
    assert (process.memory, process.memory_of) == (8 << 30, "the machine")
    (found.own / "limits").write_text(LIMITS.format("unlimited"))
    assert machine.process(found, "/plugin").open_files_limit is None


def test_the_smallest_limit_of_the_control_groups_above_counts(found):
    service = found.groups / "system.slice" / "mariadb.service"
    service.mkdir(parents=True)
    (service / "memory.max").write_text("max\n")
    assert machine.memory_limit(found)[0] == 8 << 30
    (service.parent / "memory.max").write_text(f"{2 << 30}\n")
    assert machine.memory_limit(found) == (2 << 30, "the control group /system.slice")


def test_a_control_group_of_the_first_version_counts_too(found):
    (found.own / "cgroup").write_text("4:cpu,memory:/docker/x\n0::/\n")
    group = found.groups / "memory" / "docker" / "x"
    group.mkdir(parents=True)
    (group / "memory.limit_in_bytes").write_text(f"{1 << 30}\n")
    assert machine.memory_limit(found) == (1 << 30, "the control group /docker/x")
    (group / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert machine.memory_limit(found) == (8 << 30, "the machine")


def test_the_library_that_is_on_disk_is_no_finding(found):
    _, inode = library(found)
    (one,) = mapped(found, inode)
    assert (one.path, one.deleted, one.replaced, one.rewritten) == (
        "/plugin/ha_rocksdb.so",
        False,
        False,
        False,
    )


def test_a_library_that_was_replaced_is_looked_into(found):
    path, inode = library(found, b"... Monty Program Ab ...")
    (one,) = mapped(found, inode + 1, " (deleted)")
    assert one.replaced and one.stock_on_disk is True
    path.write_bytes(b"... Monty Program Ab ... cairn_format")
    (one,) = mapped(found, inode + 1)
    assert one.replaced and one.stock_on_disk is False
    path.write_bytes(b"")
    assert mapped(found, inode + 1)[0].stock_on_disk is None


def test_a_library_without_a_file_is_deleted(found):
    (one,) = mapped(found, 7, " (deleted)")
    assert one.deleted and not one.replaced


def test_a_library_that_was_written_to_since_the_start(found):
    path, inode = library(found)
    os.utime(path, (1_000_101, 1_000_101))
    assert not mapped(found, inode)[0].rewritten  # The process began at 1,000,100.
    os.utime(path, (1_000_103, 1_000_103))
    assert mapped(found, inode)[0].rewritten


def test_a_file_system_is_told_by_its_device_or_the_nearest_mount():
    unknown = os.makedev(0, 99)
    assert machine.file_system(MOUNTS, "/anything", os.makedev(0, 31)) == "tmpfs"
    assert machine.file_system(MOUNTS, "/dev/shm/logs", unknown) == "tmpfs"
    assert machine.file_system(MOUNTS, "/dev/shmem", unknown) == "ext4"
    assert machine.file_system(MOUNTS, "/srv/data", unknown) == "xfs"


def test_places_are_relative_to_the_data_directory(found):
    found.outside("/var/lib/mysql/#rocksdb").mkdir(parents=True)
    found.outside("/logs").mkdir()
    places = machine.places(found, "/var/lib/mysql/", "./#rocksdb", "/logs")
    assert [(p.what, p.path) for p in places] == [
        ("data", "/var/lib/mysql/#rocksdb"),
        ("log", "/logs"),
    ]
    assert all(0 < place.free <= place.total for place in places)


def test_directories_with_a_database_are_checkpoints(found):
    data = found.outside("/data")
    for name in ("mariabackup-checkpoint", "empty"):
        (data / name).mkdir(parents=True)
    (data / "CURRENT").touch()
    (data / "mariabackup-checkpoint" / "CURRENT").touch()
    os.utime(data / "mariabackup-checkpoint", (time.time() - 5000,) * 2)
    (one,) = machine.checkpoints(found, "/data")
    assert one.path == "/data/mariabackup-checkpoint" and 4990 < one.age_s < 5100


def test_the_log_counts_from_the_last_start(found):
    found.outside("/error.log").write_text(
        "1 [ERROR] RocksDB: old\n"
        "2 [Note] Starting MariaDB 10.11.18\n"
        "3 [Warning] MyRocks: new\n"
        "4 [Warning] Aborted connection 3\n"
        "5 [Note] RocksDB: fine\n"
        "6 [ERROR] LibRocksDB:[x] y\n"
    )
    assert machine.logged(found, "/error.log") == [
        "3 [Warning] MyRocks: new",
        "6 [ERROR] LibRocksDB:[x] y",
    ]


def test_privileges_on_everything_are_those_that_count():
    grants = (
        "GRANT PROCESS, BINLOG MONITOR ON *.* TO `a`@`b` IDENTIFIED VIA unix_socket",
        "GRANT SELECT ON `shop`.* TO `a`@`b`",
        "GRANT `role` TO `a`@`b`",
    )
    assert global_privileges(grants) == {"PROCESS", "BINLOG MONITOR"}
    assert "ALL PRIVILEGES" in global_privileges(["GRANT ALL PRIVILEGES ON *.* TO `r`@`%`"])


def test_backups_are_found_in_a_directory_and_below_it(tmp_path):
    (tmp_path / "monday").mkdir()
    (tmp_path / "tuesday").mkdir()
    info = "tool_command = --backup\nend_time = 2026-11-02 03:00:00\npartial = N\n"
    (tmp_path / "monday" / "xtrabackup_info").write_text(info)
    (tmp_path / "tuesday" / "xtrabackup_info").write_text("end_time = \n")
    (one,) = gather.recorded(tmp_path)
    assert (one.ended.day, one.command, one.partial) == (2, "--backup", False)
    assert one.where == str(tmp_path / "monday")
    with pytest.raises(CairnError, match="no such directory"):
        gather.recorded(tmp_path / "friday")


def test_nothing_of_a_checkout_is_imported():
    script = "import sys, cairn.doctor.command; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT / "cli")},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    ours = {name for name in modules if name.split(".")[0] == "cairn"}
    free = {"cairn", "cairn.errors", "cairn.report", "cairn.place"}
    assert "cairn.doctor.machine" in ours
    assert {name for name in ours if not name.startswith("cairn.doctor")} <= free


def looked(found, monkeypatch, **statuses):
    """What is gathered of the process `found`, whose library is in place."""
    monkeypatch.setattr(gather, "Machine", lambda pid: found)
    (found.own / "comm").write_text("mariadbd\n")
    names = {
        "datadir": "/data/",
        "log_error": "/error.log",
        "plugin_dir": "/plugin/",
        "rocksdb_datadir": "./#rocksdb",
    }
    facts = {
        "settings": {name: Setting(value) for name, value in names.items()},
        "statuses": {name: str(value) for name, value in statuses.items()},
    }
    missing = {}
    gather._look(facts, missing, 42)
    return facts, missing


def test_what_may_not_be_read_is_missing_and_the_disk_is_known_from_statuses(found, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", "/proc/42/fd")

    for name in ("process", "places", "logged"):
        monkeypatch.setattr(machine, name, refuse)
    facts, missing = looked(found, monkeypatch, cairn_disk_bytes=1000, cairn_disk_free_bytes=10)
    assert set(missing) == {Source.PROCESS, Source.PLACES, Source.LOG}
    assert "/proc/42/fd may not be read: run this as root" in missing[Source.PROCESS].why
    assert [(p.total, p.free) for p in facts["places"]] == [(1000, 10)]
    _, missing = looked(found, monkeypatch)
    assert set(missing) == {Source.PROCESS, Source.PLACES, Source.LOG, Source.DISK}


def test_what_may_be_read_is_not_missing_but_for_a_library_of_another_name(found, monkeypatch):
    found.outside("/data/#rocksdb").mkdir(parents=True)
    found.outside("/error.log").write_text("1 [ERROR] RocksDB: bad\n")
    facts, missing = looked(found, monkeypatch)
    assert set(missing) == {Source.LIBRARY}
    assert facts["logged"] == ("1 [ERROR] RocksDB: bad",)
    mapped(found, library(found)[1])
    assert looked(found, monkeypatch)[1] == {}


def test_a_process_that_is_no_server_is_not_looked_at(found, monkeypatch):
    monkeypatch.setattr(machine, "SERVERS", ("other",))
    _, missing = looked(found, monkeypatch)
    assert {Source.PROCESS, Source.PLACES, Source.LOG, Source.DISK} == set(missing)
