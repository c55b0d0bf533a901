#!/usr/bin/env python3
"""Fails when engine/lsm compiles against a RocksDB whose internals nobody has read.

Usage: rocksdb_version_test.py COMPILE_COMMANDS CHECKOUT
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# It includes the internal headers.
SOURCE = "engine/lsm/point_lookup.cc"
TOLD = "go through the checklist of engine/lsm/README.md"


def compiled(command: list[str], directory: str, headers: Path) -> subprocess.CompletedProcess[str]:
    """The source, looked at by the compiler with other headers in front."""
    options = [each for each in command if each != "ccache"]
    output = options.index("-o")
    del options[output : output + 2]
    return subprocess.run(
        [options[0], f"-I{headers}", *options[1:], "-fsyntax-only", "-Wfatal-errors"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[1]).resolve() / SOURCE
    entries = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    entry = next(each for each in entries if Path(each["file"]).resolve() == path)
    command = shlex.split(entry["command"])
    include = [each for each in command if Path(each, "rocksdb", "version.h").is_file()]
    version = Path(include[0], "rocksdb", "version.h").read_text(encoding="utf-8")
    found = []
    for name in ("none", "MAJOR", "MINOR", "PATCH"):
        changed, count = re.subn(rf"(#define ROCKSDB_{name}) (\d+)", r"\1 99", version)
        if count != (name != "none"):
            found.append(f"version.h names ROCKSDB_{name} {count} times")
            continue
        with tempfile.TemporaryDirectory() as directory:
            headers = Path(directory)
            (headers / "rocksdb").mkdir()
            (headers / "rocksdb" / "version.h").write_text(changed, encoding="utf-8")
            done = compiled(command, entry["directory"], headers)
        if name == "none" and done.returncode != 0:
            found.append(f"it does not compile against its own version: {done.stderr}")
        if name != "none" and (done.returncode == 0 or TOLD not in done.stderr):
            found.append(f"with another ROCKSDB_{name} it says: {done.stderr or 'nothing'}")
    print("\n".join(found) or "Another version of RocksDB is refused.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
