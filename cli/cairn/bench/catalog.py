"""All workloads of the bench."""

from __future__ import annotations

from cairn.bench import foreign_keys, load, sysbench
from cairn.bench.insert import workload as insert
from cairn.bench.settings import Settings
from cairn.bench.tpcc import workload as tpcc
from cairn.bench.workload import Workload


def workloads(settings: Settings) -> list[Workload]:
    """The workloads in the order in which they run, with what the user has chosen for all."""
    return [
        *sysbench.workloads(settings),
        *load.workloads(settings),
        *insert.workloads(settings),
        *foreign_keys.workloads(settings),
        *tpcc.workloads(settings),
    ]
