"""A machine for tests of what the bench refuses."""

from typing import Any

from cairn.bench.machine import Machine


def machine(**changes: Any) -> Machine:
    """A machine that has everything, but for `changes`."""
    facts = {
        "cpu": "",
        "cores": 2,
        "memory_bytes": 1 << 34,
        "memory_available_bytes": 1 << 34,
        "kernel": "",
        "system": "",
        "disk": "",
        "disk_free_bytes": 1 << 40,
        "load": 0.0,
        "is_root": True,
        "has_memory_groups": True,
    }
    return Machine(**(facts | changes))
