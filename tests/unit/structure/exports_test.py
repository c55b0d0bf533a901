#!/usr/bin/env python3
"""Fails when the plug-in exports anything but its declaration.

Usage: exports_test.py PLUGIN
"""

from __future__ import annotations

import subprocess
import sys

DECLARATION = {
    "_maria_plugin_declarations_",
    "_maria_plugin_interface_version_",
    "_maria_sizeof_struct_st_plugin_",
}


def exported(plugin: str) -> set[str]:
    """The names that a program which loads the plug-in can see."""
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=posix", plugin],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    return {line.split()[0] for line in listed.splitlines() if line}


def main() -> int:
    """Compares the two sets of names; returns the exit status."""
    found = exported(sys.argv[1])
    for name in sorted(found - DECLARATION):
        print(f"exported, but no part of the declaration: {name}")
    for name in sorted(DECLARATION - found):
        print(f"not exported: {name}")
    return 0 if found == DECLARATION else 1


if __name__ == "__main__":
    sys.exit(main())
