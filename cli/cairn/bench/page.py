"""The results as one HTML page: the same tables as in Markdown, with the plots inside."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from cairn.bench import markdown
from cairn.bench.markdown import Table
from cairn.bench.plots import Plot
from cairn.bench.results import Results, WorkloadResult


def render(results: Results, plots: Sequence[Plot]) -> str:
    """The whole page, which refers to no other file."""
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        # An icon of its own: browsers would ask for one otherwise.
        '<link rel="icon" href="data:,">',
        "<title>Cairn bench</title>",
        f"<style>{style}</style>",
        "</head><body><header><h1>Cairn bench</h1>",
        *([f'<p class="failed">{html.escape(markdown.FAILED)}</p>'] if results.failed else []),
        f"<p>{html.escape(markdown.HOW)}</p><dl>",
        *(_fact(name, value) for name, value in markdown.facts(results)),
        "</dl></header>",
        *(_workload(results, workload, plots) for workload in results.workloads),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _fact(name: str, value: str) -> str:
    return f"<dt>{html.escape(name)}</dt><dd>{html.escape(value.replace('`', ''))}</dd>"


def _workload(results: Results, workload: WorkloadResult, plots: Sequence[Plot]) -> str:
    name, title = html.escape(workload.name), html.escape(workload.title)
    parts = [f"<section><h2>{name}</h2><p>{title}</p>"]
    if workload.skipped:
        parts.append(f'<p class="failed">Not run: {html.escape(workload.skipped)}.</p>')
    else:
        parts.append(f"<p>{html.escape(markdown.circumstances(workload))}</p>")
        parts += [f'<p class="failed">{html.escape(text)}</p>' for text in workload.failures]
        notes = (html.escape(note.replace("`", "")) for note in markdown.remarks(results, workload))
        parts += ["<ul>", *(f"<li>{note}</li>" for note in notes), "</ul>"]
        own = [plot for plot in plots if plot.workload == workload.name]
        parts += [f"<figure>{plot.svg}</figure>" for plot in own]
        parts += [_table(table) for table in markdown.tables(results, workload)]
    return "\n".join([*parts, "</section>"])


def _table(table: Table) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(_cell(cell, tag) for cell in cells) + "</tr>"

    head = row(table.head, "th")
    body = "".join(row(cells, "td") for cells in table.rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _cell(text: str, tag: str) -> str:
    missed = ' class="missed"' if markdown.MISSED in text else ""
    return f"<{tag}{missed}>{html.escape(text)}</{tag}>"
