"""Where things are: the checkout, what it generates, and the cache shared by all checkouts."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
VAR = ROOT / "var"
LOG = VAR / "log"

ROCKSDB_RECIPE = ROOT / "cmake" / "rocksdb"
SQL_SUITE = ROOT / "tests" / "sql"
CLI_TESTS = ROOT / "tests" / "cli"
LEDGER = ROOT / "tests" / "conformance" / "ledger.tsv"
OTHER_SERVER_LEDGER = ROOT / "tests" / "conformance" / "other_server.tsv"
ENGINE_SUITES_LEDGER = ROOT / "tests" / "conformance" / "engine_suites.tsv"
FOREIGN_KEYS_LEDGER = ROOT / "tests" / "conformance" / "foreign_keys.tsv"


def cache() -> Path:
    """The directory for what is expensive to make and the same for every checkout."""
    if named := os.environ.get("CAIRN_CACHE"):
        return Path(named).absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "cairn"
    return Path.home() / ".cache" / "cairn"


def shown(path: Path) -> str:
    """The path as people like to read it: relative inside the checkout, ~ for the home."""
    for base, prefix in ((ROOT, ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return f"{prefix}{path.relative_to(base)}"
    return str(path)
