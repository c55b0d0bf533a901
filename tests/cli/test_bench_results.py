"""Results of a bench: ratios, files, and what engines disagree about."""

import json
from dataclasses import asdict

import pytest
from bench_samples import LOAD, READS, results, series, workload

from cairn.bench import differences
from cairn.bench.results import Ratio, as_json, load
from cairn.errors import CairnError


def test_a_ratio_is_the_median_of_the_rounds_with_its_spread():
    assert READS.ratio("innodb") == Ratio(1.0, 0.9, 1.2, 3)


def test_a_ratio_above_one_is_better_where_less_is_better_too():
    assert LOAD.ratio("innodb") == Ratio(1.0, 1.0, 2.0, 3)
    assert LOAD.ratio("stock").most == 0.5


def test_only_rounds_that_both_engines_finished_count():
    assert series("x", cairn=[10, 20], innodb=[10]).ratio("innodb").rounds == 1


def test_there_is_no_ratio_without_figures():
    assert series("x", cairn=[10]).ratio("innodb") is None
    assert series("x", cairn=[0.0], innodb=[0.0]).ratio("innodb") is None


def test_details_become_figures_of_which_less_is_better():
    detail = READS.detail("server_cpu_us", "µs")
    assert detail.values("cairn") == [100.0] * 3
    assert not detail.higher_is_better
    assert READS.detail("unknown", "µs") is None


def test_a_file_of_results_gives_back_what_was_written(tmp_path):
    path = tmp_path / "results.json"
    found = results(workload(READS, LOAD, failures=["wrong"], facts={"rows": 5}))
    path.write_text(json.dumps(as_json(found)))
    again = load(path)
    assert asdict(again) == asdict(found)
    assert again.failed


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("nonsense", "is not JSON"),
        ("[]", "no file of results"),
        ('{"schema": 999}', "layout 999"),
        ('{"schema": 1, "about": {}}', "damaged"),
        ('{"schema": 1, "about": {}, "engines": {}, "workloads": [{"series": 3}]}', "damaged"),
    ],
)
def test_another_file_is_refused_in_words(tmp_path, text, wrong):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(CairnError, match=wrong):
        load(path)


def test_a_missing_file_is_refused_in_words(tmp_path):
    with pytest.raises(CairnError, match="No such file"):
        load(tmp_path / "none.json")


def test_engines_that_agree_say_nothing():
    same = {"rows": 10, "checksum": 7}
    assert differences.between({"Cairn": same, "InnoDB": dict(same)}, "after loading") == []


def test_a_fact_that_differs_is_told_with_all_its_values():
    facts = {"Cairn": {"rows": 10}, "InnoDB": {"rows": 11}, "stock plug-in": {}}
    (text,) = differences.between(facts, "after loading")
    assert text == "after loading: rows differs: Cairn 10, InnoDB 11, stock plug-in missing"
