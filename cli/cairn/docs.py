"""./cairn docs: the pages of docs/ that follow from tables in the source.

A table is a file of macro calls (variables.def, cairn_variables.def, counters.def) whose opening
comment lists the macros with the names of their arguments. Those names are all that is known here
about a macro, so that a new one needs no change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cairn import files
from cairn.errors import CairnError
from cairn.paths import ROOT, shown
from cairn.report import say

_LIMITS = {
    "INT32_MAX": 2**31 - 1,
    "UINT32_MAX": 2**32 - 1,
    "INT64_MAX": 2**63 - 1,
    "UINT64_MAX": 2**64 - 1,
}
_SWITCH = {"true": "ON", "false": "OFF"}
_COMPATIBLE = "Accepted for compatibility"
_OURS = "Cairn:"


@dataclass(frozen=True)
class Entry:
    """One macro call: the macro, and its arguments by name."""

    macro: str
    section: str
    arguments: dict[str, str]

    def get(self, name: str, default: str = "") -> str:
        return self.arguments.get(name, default)


def run(*, check: bool) -> int:
    """Writes the pages, or tells which ones are out of date; returns the exit status."""
    stale = out_of_date()
    if check:
        for path in stale:
            say(f"{shown(path)} is not what the source says: run ./cairn docs")
        return 1 if stale else 0
    for path, text in pages().items():
        files.write_atomic(path, text)
    say(f"  {len(stale)} of {len(pages())} pages changed")
    return 0


def out_of_date() -> list[Path]:
    """The pages that differ from what the source says."""
    return [
        path
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def pages() -> dict[Path, str]:
    return {
        ROOT / "docs" / "variables.md": variables_page(),
        ROOT / "docs" / "statuses.md": statuses_page(),
    }


# ---- tables in the source ----------------------------------------------------------------------


def read_table(path: Path) -> list[Entry]:
    """The macro calls of a table, in order; a macro that its comment does not list is an error."""
    text = path.read_text(encoding="utf-8")
    signatures = dict(_signatures(text))
    entries = []
    section = ""
    for line, macro, arguments in _calls(text):
        if macro == "//":
            section = line
            continue
        names = signatures.get(macro)
        if names is None:
            raise CairnError(f"{shown(path)}: the opening comment does not explain {macro}(...).")
        if len(arguments) != len(names):
            raise CairnError(
                f"{shown(path)}: {macro}({arguments[0]}, ...) has {len(arguments)} arguments, "
                f"its comment names {len(names)}."
            )
        entries.append(Entry(macro, section, dict(zip(names, arguments, strict=True))))
    return entries


def _signatures(text: str) -> Iterator[tuple[str, list[str]]]:
    for found in re.finditer(r"^//\s{2,}([A-Z_]+)\(([\w, ]+)\)", text, re.MULTILINE):
        yield found[1], [name.strip() for name in found[2].split(",")]


def _calls(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Macro calls as ("", macro, arguments), and comments between them as (text, "//", [])."""
    body = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    # The comment at the top explains the table; what comes behind it is headings and calls.
    body = body[re.match(r"(//.*\n|\s*\n)*?(?=\n)", body).end() :] if body else body
    pattern = re.compile(r"^//[ ]?(?P<comment>.*)$|^(?P<macro>[A-Z_]+)\(", re.MULTILINE)
    position = 0
    while found := pattern.search(body, position):
        position = found.end()
        if found["macro"] is None:
            yield found["comment"].strip(), "//", []
            continue
        arguments, position = _arguments(body, position)
        yield "", found["macro"], arguments


def _arguments(text: str, position: int) -> tuple[list[str], int]:
    """The arguments that begin at `position`, behind the bracket, and where they end."""
    arguments, current, depth = [], "", 1
    while depth:
        if position >= len(text):
            raise CairnError("A macro call in a table lacks its closing bracket.")
        if text[position] == '"':
            end = position + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            current += text[position : end + 1]
            position = end + 1
            continue
        char = text[position]
        depth += {"(": 1, ")": -1}.get(char, 0)
        if (char == "," and depth == 1) or depth == 0:
            arguments.append(_plain(current))
            current = ""
        else:
            current += char
        position += 1
    return arguments, position


def _plain(text: str) -> str:
    """An argument without its layout; adjacent string literals are one text."""
    text = text.strip()
    literals = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    if literals and not re.sub(r'"(?:[^"\\]|\\.)*"|\s', "", text):
        return "".join(literals).replace('\\"', '"')
    return " ".join(text.split())


# ---- variables ---------------------------------------------------------------------------------


def variables_page() -> str:
    entries = read_table(ROOT / "mariadb" / "variables.def")
    cairn = read_table(ROOT / "mariadb" / "cairn_variables.def")
    listed = [entry for entry in entries if entry.get("mutability") != "HIDDEN"]
    hidden = [entry for entry in entries if entry.get("mutability") == "HIDDEN"]
    idle = [e for e in entries if e.get("description").startswith(_COMPATIBLE)]
    ours = [e for e in entries if _OURS in e.get("description")]
    lines = [
        "# Variables",
        "",
        "<!-- ./cairn docs makes this page from mariadb/variables.def and cairn_variables.def. -->",
        "",
        f"The {len(listed)} system variables `rocksdb_*` are those of the stock plug-in: SHOW",
        "VARIABLES lists them and no others of that name, and a `my.cnf` written for that plug-in",
        f"starts here unchanged. What Cairn has beyond it is set by the {len(cairn)} variables",
        "`cairn_*` ([Variables of Cairn](#variables-of-cairn)).",
        "",
        "- *Set* says where: `start` in the configuration or on the command line; `global` with",
        "  SET GLOBAL as well, at once; `session` with SET too, for the session; `shown` nowhere,",
        "  it is a fact.",
        "- Sizes take k, m, g and t in the configuration. A value beyond the range is cut to it",
        "  with a warning; one of another type is refused and the old one stays.",
        f"- {_both(idle)} are accepted and do nothing, so that configuration files stay valid;",
        "  each says so below. Those whose option RocksDB no longer has also warn in the error log",
        "  when they are set.",
        f'- {_both(ours)} differ from the stock plug-in on purpose; these say "Cairn:" and how.',
        "",
    ]
    for section in dict.fromkeys(entry.section for entry in listed):
        lines += [f"## {section.rstrip('.') or 'Others'}", "", *_VARIABLE_HEAD]
        lines += _variable_rows("rocksdb", (e for e in listed if e.section == section))
        lines.append("")
    lines += [
        "## Options that SHOW VARIABLES does not list",
        "",
        "Configuration files for other builds of MyRocks use these names. They are options of the",
        "server (`my.cnf` and command line) and do what they say.",
        "",
        *_VARIABLE_HEAD,
        *_variable_rows("rocksdb", hidden),
        "",
        "## Variables of Cairn",
        "",
        "They belong to the plug-in CAIRN, which is in the same library. The stock plug-in does",
        "not know them: before you [go back to it](going-back.md), take them out of the",
        "configuration or give them the prefix `loose_`.",
        "",
        *_VARIABLE_HEAD,
        *_variable_rows("cairn", cairn),
        "",
        "More about them: [backup.md](backup.md#a-backup),",
        "[going-back.md](going-back.md#what-decides), [tuning.md](tuning.md#what-to-change-then),",
        "[transactions.md](transactions.md#range-locks) (range locks, snapshot conflicts, and",
        "under *Waiting* large transactions).",
        "",
    ]
    return "\n".join(lines)


_VARIABLE_HEAD = (
    "| variable | set | default | values | what it does |",
    "| --- | --- | --- | --- | --- |",
)


def _both(entries: list[Entry]) -> str:
    return f"{len(entries)} variables" if len(entries) != 1 else "One variable"


def _variable_rows(plugin: str, entries: Iterable[Entry]) -> list[str]:
    return [_variable_row(plugin, entry) for entry in entries]


def _variable_row(plugin: str, entry: Entry) -> str:
    cells = (
        f"`{plugin}_{entry.get('name')}`",
        _where_set(entry),
        _default(entry),
        _values(entry),
        entry.get("description").rstrip("."),
    )
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _where_set(entry: Entry) -> str:
    if entry.macro.startswith("SESSION_"):
        return "session"
    return {"FIXED": "start", "HIDDEN": "start", "DYNAMIC": "global", "SHOWN": "shown"}.get(
        entry.get("mutability"), entry.get("mutability").lower()
    )


def _enum_names(entry: Entry) -> list[str]:
    return [name for name in entry.get("names").split("\\0") if name]


def _default(entry: Entry) -> str:
    value = entry.get("default")
    if entry.get("mutability") == "SHOWN":
        return ""
    if entry.macro.endswith("_ENUM"):
        return f"`{_enum_names(entry)[int(value)]}`"
    if value in _SWITCH:
        return _SWITCH[value]
    if value == "nullptr":
        return "NULL"
    return f"`{_number(value)}`" if value else "empty"


def _values(entry: Entry) -> str:
    if entry.macro.endswith("_ENUM"):
        return ", ".join(f"`{name}`" for name in _enum_names(entry))
    if entry.get("default") in _SWITCH:
        return "ON, OFF"
    if "min" in entry.arguments and "max" in entry.arguments:
        return f"{_number(entry.get('min'))} to {_number(entry.get('max'))}"
    return "text"


def _number(text: str) -> str:
    return f"{_LIMITS.get(text, text)}"


# ---- statuses ----------------------------------------------------------------------------------


def statuses_page() -> str:
    entries = [entry for path in _status_tables() for entry in read_table(path)]
    lines = [
        "# Statuses",
        "",
        "<!-- ./cairn docs makes this page from the tables of counters in the source. -->",
        "",
        f"SHOW GLOBAL STATUS LIKE 'rocksdb%' lists these {len(entries)} figures. Counters count",
        "from the start of the server or from `SET GLOBAL rocksdb_reset_stats=ON`; what is called",
        '"now" is a state.',
        "`rocksdb_stats_level=0` stops those that RocksDB counts.",
        "",
        "| status | what it is |",
        "| --- | --- |",
        *(f"| `Rocksdb_{entry.get('name')}` | {_cell(_status_text(entry))} |" for entry in entries),
        "",
    ]
    return "\n".join(lines)


def _status_tables() -> list[Path]:
    """Tables of counters, wherever they stand."""
    found = [
        path
        for folder in ("engine", "mariadb")
        for pattern in ("*counters*.def", "*status*.def")
        for path in (ROOT / folder).rglob(pattern)
    ]
    return sorted(set(found))


def _status_text(entry: Entry) -> str:
    if description := entry.get("description"):
        return description.rstrip(".")
    if ticker := entry.get("ticker"):
        return f"RocksDB's counter `{ticker}`"
    if key := entry.get("key"):
        return f"write stalls of all column families: `{key}`"
    if entry.macro == "NOT_COUNTED":
        return "always 0: this RocksDB has no such figure"
    if found := re.search(r'"(rocksdb\.[\w.-]+)"', entry.get("expression")):
        return f"now: `{found[1]}`, summed over the column families"
    return "now: " + entry.get("name").replace("_", " ")
