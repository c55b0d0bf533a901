"""cairn-adapters list: what is there, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from cairn.adapters.facts import Facts, Server
from cairn.adapters.place import LOCAL_PACKAGE, PLUGIN_PACKAGE


def as_json(facts: Facts) -> str:
    """An object; its names stay as they are (docs/upgrade.md)."""
    return json.dumps(
        {
            "version": facts.own.version,
            "plugin": facts.plugin or None,
            "adapters": [asdict(adapter) for adapter in facts.adapters],
            "installed": _server(facts.installed),
            "candidate": _server(facts.candidate),
        },
        indent=2,
    )


def _server(server: Server | None) -> dict[str, str | bool] | None:
    return None if server is None else {**asdict(server), "fits": not server.wrong}


def as_text(facts: Facts) -> str:
    """Lines for people."""
    lines = [f"{PLUGIN_PACKAGE} {facts.plugin or 'is not installed'}"]
    if facts.plugin and facts.plugin != facts.own.version:
        lines.append(f"cairn-adapters is of another version: {facts.own.version}")
    lines += ["", "Builds of Cairn:"]
    for adapter in facts.adapters:
        end = f"; {adapter.wrong}" if adapter.wrong else ""
        lines.append(f"    {adapter.server}  {_origin(adapter.package)}{end}")
    if not facts.adapters:
        lines.append("    none")
    lines += ["", "Servers:"]
    for name, server in (("installed", facts.installed), ("candidate", facts.candidate)):
        if server is not None:
            lines.append(f"    {name}  {server.version}  {server.wrong or 'Cairn has a build'}")
    if facts.installed is None:
        lines.append("    none is installed")
    if facts.candidate is None:
        lines.append("    apt knows no newer one")
    return "\n".join(lines)


def _origin(package: str) -> str:
    if package == LOCAL_PACKAGE:
        return f"{package}, made by cairn-adapters"
    return package or "of no package"
