"""Results of a bench that never ran, for tests of what is made of them."""

from cairn.bench.results import CPU, Results, Run, Series, WorkloadResult

ABOUT = {
    "date": "2026-01-02 03:04:05 +0000",
    "command": "./cairn bench",
    "commit": {"id": "0123456789abcdef", "changed_files": 0},
    "settings": {"quick": True, "threads": None},
    "rounds": 3,
    "machine": {
        "cpu": "A <processor>",
        "cores": 2,
        "memory_bytes": 4 << 30,
        "disk": "/dev/sda (ext4)",
        "system": "Debian",
        "kernel": "6.1",
        "load": 0.5,
    },
    "versions": {"mariadb": "1:10.11.18", "sysbench": "sysbench 1.0.20"},
    "plugins": {"cairn": {"file": "build/release/ha_rocksdb.so", "sha256": "ab" * 32}},
}
ENGINES = {"cairn": "Cairn", "innodb": "InnoDB", "stock": "stock plug-in"}
SETUP = {"memory_bytes": 512 << 20, "durability": "synced", "binary_log": False}


def series(name: str, better: bool = True, **values: list[float]) -> Series:
    """A figure with a processor time of 100 µs for each run."""
    runs = {
        engine: [Run(value, ((1.0, value),), {CPU: 100.0}) for value in each]
        for engine, each in values.items()
    }
    return Series(name, "1/s" if better else "s", better, runs)


def workload(*figures: Series, name: str = "load", **more: object) -> WorkloadResult:
    variables = {"common": {"version": "10.11"}, "different": {}}
    parts = {"setup": SETUP, "variables": variables} | more
    return WorkloadResult(name, "loading", list(figures), **parts)


def results(*workloads: WorkloadResult) -> Results:
    return Results(ABOUT, ENGINES, list(workloads))


READS = series("reads", cairn=[90, 100, 120], innodb=[100, 100, 100], stock=[50, 40, 30])
LOAD = series("seconds", False, cairn=[2, 2, 4], innodb=[4, 2, 4], stock=[1, 1, 1])
