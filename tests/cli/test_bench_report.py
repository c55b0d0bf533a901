"""What people read of a bench: Markdown, pictures, the page, and the comparison of two runs."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from bench_samples import ABOUT, LOAD, READS, results, series, workload

from cairn.bench import bench, compare, floors, markdown, page, plots
from cairn.bench.floors import Floor
from cairn.bench.results import Results, Run, Series

FOUND = results(workload(READS, LOAD))


@pytest.fixture
def promised(monkeypatch):
    monkeypatch.setattr(floors, "FLOORS", (Floor("load/r*", "stock", 1.5), Floor("*", "stock", 1)))


def test_the_first_floor_that_matches_counts(promised):
    assert floors.find("load", "reads", "stock") == 1.5
    assert floors.find("load", "seconds", "stock") == 1
    assert floors.find("load", "reads", "innodb") is None


def test_a_figure_that_is_promised_by_another_one_of_ours_is_compared_with_it(monkeypatch):
    ours = floors.OwnRatio("keys/reads", "load/reads", 0.85)
    monkeypatch.setattr(floors, "OWN_RATIOS", (ours,))
    slower = series("reads", cairn=[80, 90, 100], innodb=[1, 1, 1])
    found = results(workload(READS), workload(slower, name="keys"))
    said = "keys/reads by load/reads: 0.89 (0.83–0.90), floor 0.85 met"
    assert said in markdown.remarks(found, found.workloads[1])
    assert said not in markdown.remarks(found, found.workloads[0])
    assert said not in markdown.remarks(results(workload(slower, name="keys")), found.workloads[1])


def test_a_table_has_medians_ratios_and_floors(promised):
    figures, cpu = markdown.tables(FOUND, FOUND.workloads[0])
    assert figures.rows[0] == [
        *("reads", "1/s", "100", "100", "40"),
        *("1.00 (0.90–1.20)", "", "2.50 (1.80–4.00)", "1.5 met"),
    ]
    assert figures.rows[1][1] == "s, less is better"
    assert figures.rows[1][-1] == "1 MISSED"
    assert cpu.rows[0][-1] == "1.00 (1.00–1.00)"


@pytest.mark.parametrize(
    ("dips", "text"),
    [
        ([0.8, 0.5, 0.9], "0.5 met (worst round 0.50)"),
        ([0.8, 0.49, 0.9], "0.5 MISSED (worst round 0.49)"),
    ],
)
def test_a_floor_of_cairns_own_is_for_every_round(dips, text):
    dip = series("worst 10 s by the median", cairn=dips, innodb=[0.1] * 3, stock=[0.1] * 3)
    found = results(workload(READS, dip, name="tpcc"))
    table, _ = markdown.tables(found, found.workloads[0])
    assert table.head[-1] == "floor of Cairn's own"
    assert [row[-1] for row in table.rows] == ["", text]
    assert text in markdown.summary(found)
    cell = f'<td class="missed">{text}' if "MISSED" in text else f"<td>{text}"
    assert cell in page.render(found, [])


def test_the_page_in_markdown_says_on_what_and_how():
    text = markdown.page(FOUND, ["load-ratios.png"])
    for part in ("A <processor>", "0123456789ab", "sysbench 1.0.20", "Cache of 512 MiB", "rounds"):
        assert part in text
    assert "![load-ratios](load-ratios.png)" in text
    assert markdown.FAILED not in text


def test_the_options_of_the_servers_are_told_once():
    options = {"cairn": ["--a", "--b=1"], "innodb": ["--a", "--c"], "stock": ["--a", "--b=1"]}
    peaks = {"cairn": {"resident_bytes": 300 << 20, "data_bytes": 9 << 20}}
    found = results(workload(READS, options=options, peaks=peaks, notes=["odd"]))
    assert list(markdown.remarks(found, found.workloads[0])) == [
        "Cairn: 300 MiB resident at most, 9 MiB in the data directory at the end",
        "options of all servers: `--a`",
        "options of Cairn: `--b=1`",
        "options of InnoDB: `--c`",
        "options of stock plug-in: `--b=1`",
        "odd",
    ]


def test_a_failed_bench_says_so_first():
    text = markdown.page(results(workload(READS, failures=["rows differ"])))
    assert text.index(markdown.FAILED) < text.index("A <processor>")
    assert "**FAILED**: rows differ" in text


def test_a_workload_that_was_not_run_says_why():
    assert "Not run: it needs root." in markdown.page(results(workload(skipped="it needs root")))


def test_ratios_are_drawn_with_a_name_for_each_figure():
    (plot,) = plots.draw(FOUND)
    ElementTree.fromstring(plot.svg)
    for text in ("reads", "seconds", "Cairn / InnoDB", "Cairn / stock plug-in"):
        assert text in plot.svg
    assert plots.png(plot).startswith(b"\x89PNG")


def figure_over_time(name: str, seconds: list[float]) -> Series:
    points = tuple((second, 100.0 + second) for second in seconds)
    return Series(name, "1/s", True, {"cairn": [Run(1.0, points)], "innodb": [Run(2.0)]})


def test_long_runs_are_drawn_over_time():
    short = figure_over_time("short", [float(second) for second in range(1, 11)])
    steps = figure_over_time("new_orders/4", [10.0, 20.0, 30.0])
    names = [plot.name for plot in plots.draw(results(workload(short, steps)))]
    assert names == ["load-ratios", "load-new_orders-4"]


def test_names_of_pictures_are_addresses_of_files():
    found = results(workload(figure_over_time("q100 writes: longest", [10.0, 20.0])))
    (_, plot) = plots.draw(found)
    assert plot.name == "load-q100-writes-longest"


def test_nothing_is_drawn_of_one_engine():
    alone = Results(ABOUT, {"cairn": "Cairn"}, [workload(series("reads", cairn=[1]))])
    assert list(plots.draw(alone)) == []
    assert "| reads" in markdown.page(alone)


def test_the_page_needs_no_other_file():
    text = page.render(FOUND, list(plots.draw(FOUND)))
    assert "A &lt;processor&gt;" in text
    assert "<svg" in text
    references = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(each.startswith(("data:", "#")) for each in references)
    assert "@import" not in text


def test_all_files_are_written(tmp_path):
    bench.write(FOUND, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"results.json", "results.md", "results.html", "load-ratios.png"}


# ---- compare -----------------------------------------------------------------------------------


def changed(*figures: Series) -> list[str]:
    return list(compare.report(FOUND, results(workload(*figures))))


def test_the_ratio_of_ratios_has_the_spread_that_both_allow():
    faster = series("reads", cairn=[180, 200, 240], innodb=[100] * 3, stock=[50, 40, 30])
    change = next(compare.changes_between(FOUND, results(workload(faster))))
    assert (change.figure, change.other) == ("load/reads", "InnoDB")
    assert change.factor.median == 2.0
    assert (change.factor.least, change.factor.most) == (1.8 / 1.2, 2.4 / 0.9)
    assert change.verdict == "better"


def test_spreads_that_overlap_are_no_verdict():
    lines = changed(READS)
    row = next(line for line in lines if line.startswith("load/reads  "))
    assert "1.00 (0.75–1.33)" in row
    assert not row.endswith(("better", "worse"))


def test_settings_that_differ_are_named():
    other = replace(FOUND, about=ABOUT | {"settings": {"quick": False, "threads": None}})
    assert "  settings quick: True before, False after" in compare.report(FOUND, other)
    assert "The settings are the same." in compare.report(FOUND, FOUND)


def test_variables_of_servers_are_settings():
    variables = {"common": {"version": "10.12"}, "different": {}}
    lines = compare.report(FOUND, results(workload(READS, variables=variables)))
    assert "  load common version: 10.11 before, 10.12 after" in lines


def test_runs_without_a_common_figure_say_so():
    assert changed(series("other", cairn=[1], innodb=[1]))[-1] == (
        "The runs have no figure in common."
    )
