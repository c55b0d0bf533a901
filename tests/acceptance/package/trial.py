"""A system in which the package is tried, and what was found wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.acceptance.package import tables
from tests.acceptance.package.clean_system import CleanSystem


class Trial:
    """The system under test, and what was found wrong."""

    def __init__(self, system: CleanSystem, package: Path, version: str) -> None:
        """`version` is that of the server's packages, which `package` has a build for."""
        self.system = system
        self.version = version
        self.wrong: list[str] = []
        self.checksums: dict[str, int] = {}
        shutil.copy(package, system.root / "root")
        self.package = f"/root/{package.name}"

    def require(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def require_tables(self, when: str) -> None:
        found = tables.checksums(self.system)
        differing = sorted(
            name
            for name in self.checksums.keys() | found.keys()
            if self.checksums.get(name) != found.get(name)
        )
        self.require(not differing, f"{when}: other rows in {', '.join(differing)}")

    def plugins(self) -> set[tuple[str, str, str]]:
        """Author, status and load option of the plug-ins of our library's name."""
        return {
            (author, status, option)
            for author, status, option in self.system.query(
                "SELECT PLUGIN_AUTHOR, PLUGIN_STATUS, LOAD_OPTION FROM information_schema.PLUGINS "
                "WHERE PLUGIN_LIBRARY = 'ha_rocksdb.so' AND PLUGIN_NAME = 'ROCKSDB'"
            )
        }

    def require_no_start(self, cause: str, *texts: str) -> None:
        """The server does not start, and its log has one line with all of `texts`."""
        if self.system.try_to_start():
            self.system.stop()
            self.wrong.append(f"{cause}: the server starts without the engine")
            return
        lines = self.system.log_lines()
        if not any(all(text in line for text in texts) for line in lines):
            self.wrong.append(f"{cause}: no line of the log says {texts}: {lines[-6:]}")
