"""Limits by control groups of either version, on a tree of plain files; volumes of killed runs."""

import fcntl
import os
from contextlib import contextmanager

import pytest
from bench_machine import machine

from cairn.bench import catalog, memory_group, slow_machine, slow_volume, throttle
from cairn.bench.engines import Engine
from cairn.bench.memory_group import MemoryGroup
from cairn.bench.settings import Settings
from cairn.bench.slow_machine import SlowMachine, Slowness
from cairn.bench.slow_volume import Volume
from cairn.bench.throttle import Limits
from cairn.errors import CairnError

LIMITS = Limits(iops=1000, bytes_per_s=16_000_000)
THROTTLES = [f"{what}_{unit}" for what in ("read", "write") for unit in ("iops", "bps")]


def version_1(root):
    blkio = root / "blkio"
    blkio.mkdir()
    for name in THROTTLES:
        (blkio / f"blkio.throttle.{name}_device").touch()
    return blkio


def version_2(root, controllers="cpu io memory"):
    (root / "cgroup.controllers").write_text(f"{controllers}\n")
    (root / "cgroup.subtree_control").write_text("memory\n")
    group = root / "group"
    group.mkdir()
    return group


def test_version_1_limits_the_device_for_all(tmp_path):
    blkio = version_1(tmp_path)
    throttle.interface(tmp_path).apply("7:3", LIMITS, tmp_path / "group")
    found = {name: (blkio / f"blkio.throttle.{name}_device").read_text() for name in THROTTLES}
    assert found == {
        "read_iops": "7:3 1000\n",
        "write_iops": "7:3 1000\n",
        "read_bps": "7:3 16000000\n",
        "write_bps": "7:3 16000000\n",
    }


def test_version_2_limits_the_device_for_a_group(tmp_path):
    group = version_2(tmp_path)
    throttle.interface(tmp_path).apply("7:3", Limits(1000, 0), group)
    assert (group / "io.max").read_text() == "7:3 riops=1000 wiops=1000 rbps=max wbps=max\n"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+io\n"
    throttle.interface(tmp_path).apply("7:3", throttle.NONE, group)
    assert (group / "io.max").read_text() == "7:3 riops=max wiops=max rbps=max wbps=max\n"


def test_a_hybrid_tree_is_version_1(tmp_path):
    version_1(tmp_path)
    version_2(tmp_path)
    assert isinstance(throttle.interface(tmp_path), throttle.Version1)


def test_a_kernel_without_control_groups_for_disks_is_named(tmp_path):
    assert "control groups" in throttle.lacking(tmp_path)
    version_2(tmp_path, controllers="cpu memory")
    assert "control groups" in throttle.lacking(tmp_path)


@pytest.mark.parametrize(("has_version_1", "unlimited"), [(True, "-1"), (False, "max")])
def test_a_memory_limit_of_nothing_lifts_it(tmp_path, monkeypatch, has_version_1, unlimited):
    first, second = tmp_path / "v1", tmp_path / "v2"
    for directory in (first, second):
        directory.mkdir()
    monkeypatch.setattr(memory_group, "_V1", first)
    monkeypatch.setattr(memory_group, "_V2", second)
    if has_version_1:
        (first / "memory.limit_in_bytes").touch()
    (second / "cgroup.subtree_control").write_text("memory\n")
    name = "memory.limit_in_bytes" if has_version_1 else "memory.max"
    group = MemoryGroup(tmp_path)
    group.limit(5 << 20)
    assert (tmp_path / name).read_text() == f"{5 << 20}\n"
    group.limit(0)
    assert (tmp_path / name).read_text() == f"{unlimited}\n"


class Steps:
    """A group and an interface that write down what they are told."""

    def __init__(self, fails=False):
        self.told = []
        self.fails = fails
        self.directory = None

    def limit(self, limit_bytes):
        self.told.append(("memory", limit_bytes))
        if self.fails and limit_bytes:
            raise OSError(16, "Device or resource busy")

    def apply(self, device, limits, group):
        self.told.append((device, limits))


@contextmanager
def steps(monkeypatch, tmp_path, fails=False):
    told = Steps(fails)
    monkeypatch.setattr(throttle, "interface", lambda: told)
    volume = Volume(tmp_path, "7:3")
    yield told, SlowMachine(Slowness(LIMITS, 320 << 20), tmp_path, volume, told)


@pytest.mark.parametrize("name", ["sysbench-durable-large", "insert-large", "tpcc"])
def test_checkouts_do_not_share_groups(monkeypatch, tmp_path, name):
    names = []

    @contextmanager
    def limited(name, _):
        names.append(name)
        yield MemoryGroup(tmp_path)

    monkeypatch.setattr(memory_group, "limited", limited)
    wished = Settings(iops=0, mb_per_s=0)
    (workload,) = (each for each in catalog.workloads(wished) if each.name == name)
    for checkout in ("one", "other"):
        monkeypatch.setattr(memory_group, "VAR", tmp_path / checkout)
        with workload.place(Engine("cairn", "Cairn", "ROCKSDB", tmp_path), tmp_path):
            pass
    assert len(set(names)) == 2


def test_limits_hold_in_the_block_only_and_memory_shrinks_at_full_speed(monkeypatch, tmp_path):
    with steps(monkeypatch, tmp_path) as (told, limited):
        with pytest.raises(KeyboardInterrupt), limited.limited():
            assert told.told == [("memory", 320 << 20), ("7:3", LIMITS)]
            raise KeyboardInterrupt
        assert told.told[2:] == [("7:3", throttle.NONE), ("memory", 0)]


def test_dropping_the_page_cache_leaves_the_files_and_passes_over_sockets(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table").write_bytes(b"rows")
    os.mkfifo(tmp_path / "data" / "pipe")
    slow_machine.drop_cached(tmp_path)
    assert (tmp_path / "data" / "table").read_bytes() == b"rows"


def test_a_server_that_is_too_large_is_an_error_that_says_what_to_do(monkeypatch, tmp_path):
    with (
        steps(monkeypatch, tmp_path, fails=True) as (told, limited),
        pytest.raises(CairnError, match="320 MiB.*--memory"),
        limited.limited(),
    ):
        pass
    assert told.told[-1] == ("memory", 0)


def test_a_machine_that_cannot_says_each_thing_that_it_lacks(monkeypatch):
    monkeypatch.setattr(throttle, "lacking", lambda: "it needs control groups that limit disks")
    monkeypatch.setattr(slow_volume, "lacking", lambda: None)
    slow = Slowness(LIMITS, 320 << 20)
    assert slow.refusal(machine()) == "it needs control groups that limit disks"
    text = slow.refusal(machine(is_root=False, has_memory_groups=False))
    assert "root" in text and "memory" in text
    assert Slowness(throttle.NONE, 0).refusal(machine(is_root=False)) is None
    assert slow_machine.Slowness(throttle.NONE, 0).title() == "no limits"
    assert slow.title() == "1000 IOPS, 16 MB/s, 320 MiB of memory"


def test_the_volume_of_a_killed_run_goes_and_that_of_a_running_one_stays(tmp_path):
    for name in ("killed", "running"):
        (tmp_path / f"{name}.image").touch()
        (tmp_path / name).mkdir()
    with (tmp_path / ".running.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        slow_volume.remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["running", "running.image"]
