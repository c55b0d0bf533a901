"""What a bench will run: names, estimates, and machines that cannot run it."""

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from click.testing import CliRunner

from cairn.bench import catalog, floors, machine, plan, queries, settings, sysbench
from cairn.bench.engines import Engine, Setup
from cairn.bench.machine import Needs
from cairn.bench.settings import Settings
from cairn.errors import CairnError
from cairn.main import cli

ALL = catalog.workloads(Settings())
INNODB = Engine("innodb", "InnoDB", "InnoDB", None)
ROCKSDB = Engine("cairn", "Cairn", "ROCKSDB", Path("ha_rocksdb.so"))
QUICK = catalog.workloads(Settings(quick=True))


# Some run only where they are named.
NAMED = catalog.workloads(Settings(names=("tpcc-cached*",)))


def chosen(*patterns: str, workloads=ALL) -> set[str]:
    parts = plan.choose(workloads, patterns)
    return {f"{part.workload.name}/{case.name}" for part in parts for case in part.cases}


def test_everything_runs_without_names():
    assert len(chosen()) == sum(len(workload.cases) for workload in ALL)


def test_names_are_those_of_workloads_and_cases():
    for workload in ALL:
        names = [case.name for case in workload.cases]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("load", "load/plain"),
        ("load/plain", "load/plain"),
        ("oltp_insert", "sysbench-relaxed/oltp_insert/4"),
        ("oltp_insert/16", "sysbench-durable-large/oltp_insert/16"),
        ("sysbench-durable/range_*", "sysbench-durable/range_100/1"),
    ],
)
def test_a_name_chooses_what_it_says(pattern, name):
    assert name in chosen(pattern)
    assert len(chosen(pattern)) < len(chosen())


def test_threads_are_a_part_of_a_name_only_where_they_are_said():
    assert chosen("sysbench-durable/oltp_insert/16") == {"sysbench-durable/oltp_insert/16"}
    assert len(chosen("sysbench-durable/oltp_insert")) == 5


@pytest.mark.parametrize("kind", ["range", "secondary_covered", "secondary_rows"])
def test_ranges_have_from_ten_to_ten_thousand_rows_by_either_index(kind):
    wanted = [f"{kind}_{rows}" for rows in (10, 100, 1000, 10_000)]
    spans = {query.name: query.span for query in queries.QUERIES if query.name in wanted}
    assert spans == dict(zip(wanted, (10, 100, 1000, 10_000), strict=True))
    assert {f"sysbench-durable/{name}/1" for name in wanted} <= chosen()


def test_statements_of_ours_run_with_as_many_clients_as_scripts():
    counts = {name.rpartition("/")[2] for name in chosen("sysbench-durable/in_list_*")}
    assert counts == {"1", "2", "4", "8", "16"}
    asked = catalog.workloads(Settings(threads=(3, 5)))
    assert chosen("sysbench-durable-large/join_10000", workloads=asked) == {
        "sysbench-durable-large/join_10000/3",
        "sysbench-durable-large/join_10000/5",
    }


def test_what_is_called_cached_fits_into_the_cache_of_every_engine():
    for workload in ALL:
        if isinstance(workload, sysbench.Sysbench) and not workload.limited:
            assert workload.scale.widest_bytes < workload.setup.memory_bytes, workload.name


def test_what_statements_of_ours_read_is_larger_than_memory_where_the_name_says_so():
    sizes = {
        workload.name: (
            workload.scale.permuted_rows * sysbench.ROW_BYTES,
            workload.setup.memory_bytes + sysbench.SERVER_BYTES,
        )
        for workload in ALL
        if isinstance(workload, sysbench.Sysbench)
    }
    read, memory = sizes["sysbench-durable-large"]
    assert read > 1.5 * memory
    read, memory = sizes["sysbench-durable"]
    assert read < 0.5 * memory


def test_full_scans_by_a_crowd_are_expected_to_take_longer():
    (part,) = plan.choose(ALL, ("sysbench-durable-large/full_scan",))
    one, *_, sixteen = (case.seconds for case in part.cases)
    assert sixteen > one + 10


def test_a_name_that_nothing_has_is_an_error():
    with pytest.raises(CairnError, match="Nothing is called oltp_nothing"):
        chosen("load", "oltp_nothing")


def test_the_floors_can_be_asked_for_and_each_has_a_case():
    cases = chosen(*floors.CASES, workloads=NAMED)
    for floor in floors.FLOORS:
        workload, _, figure = floor.pattern.partition("/")
        if workload.startswith("sysbench-"):
            assert any(fnmatchcase(case, floor.pattern) for case in cases), floor
        elif workload != "*":
            assert any(case.startswith(f"{workload}/") for case in cases), floor
    for own in floors.OWN_FLOORS:
        workload = own.pattern.partition("/")[0]
        assert any(case.startswith(f"{workload}/") for case in cases), own
    for case in cases:
        if not case.startswith(("load/", "tpcc/")):
            promised = {each for ratio in floors.OWN_RATIOS for each in (ratio.name, ratio.other)}
            assert case in promised or floors.find(*case.split("/", 1), engine="innodb"), case
    for ratio in floors.OWN_RATIOS:
        assert {ratio.name, ratio.other} <= set(cases), ratio


def test_durable_writes_are_promised_for_every_script_that_writes():
    asked = chosen(*floors.CASES, workloads=NAMED)
    for script in sysbench.WRITING:
        if not script.startswith("oltp_"):
            continue  # bulk_insert hardly ever commits.
        assert f"sysbench-durable-binlog/{script}/16" in asked
        assert floors.find("sysbench-durable-binlog", f"{script}/16", "innodb") == 1.5
        assert floors.find("sysbench-durable-binlog", f"{script}/16", "stock") == 1.3


def test_an_engine_that_cannot_run_a_workload_is_left_out_of_the_plan(tmp_path):
    (part,) = plan.choose(catalog.workloads(Settings()), ["foreign-keys"])
    engines = [
        Engine("cairn", "Cairn", "ROCKSDB", tmp_path),
        Engine("innodb", "InnoDB", "InnoDB", None),
        Engine("stock", "stock plug-in", "ROCKSDB", tmp_path),
    ]
    assert [engine.key for engine in part.engines(engines)] == ["cairn", "innodb"]
    whole = plan.Plan((part,), tuple(engines), rounds=3)
    assert whole.runs == 3 * 2 * len(part.cases)
    assert whole.seconds == part.seconds(2, 3)


def test_nothing_is_promised_against_an_engine_that_does_less():
    assert floors.find("sysbench-written", "oltp_insert/2", engine="stock") is None
    assert floors.find("sysbench-relaxed", "oltp_insert/2", engine="stock") == 1.15


def test_relaxed_commits_are_as_safe_with_every_engine():
    durability = {workload.name: workload.setup.durability for workload in ALL}
    assert durability["sysbench-durable"].flush_log_at_commit == 1
    # With 2 the stock plug-in does what all do with 0.
    assert durability["sysbench-relaxed"].flush_log_at_commit == 0
    assert durability["sysbench-written"].flush_log_at_commit == 2
    relaxed = Setup(64 << 20, durability["sysbench-relaxed"])
    assert "--innodb-flush-log-at-trx-commit=0" in INNODB.options(relaxed)
    assert "--rocksdb-flush-log-at-trx-commit=0" in ROCKSDB.options(relaxed)


def test_a_quick_bench_takes_less_than_five_minutes():
    parts = plan.choose(QUICK, ())
    assert sum(part.seconds(engines=3, rounds=3) for part in parts) < 300


def test_a_quick_bench_takes_more_setups_only_when_they_are_named():
    asked = catalog.workloads(Settings(quick=True, names=("sysbench-relaxed*/oltp_insert",)))
    names = [workload.name for workload in asked]
    assert "sysbench-relaxed" in names
    assert "sysbench-durable-binlog" not in names


def test_the_estimate_grows_with_rounds_and_engines():
    (part,) = plan.choose(ALL, ("load",))
    assert part.seconds(engines=3, rounds=2) > part.seconds(engines=2, rounds=2)
    assert part.seconds(engines=3, rounds=3) > part.seconds(engines=3, rounds=2)


def test_options_reach_the_workloads():
    (workload, *_) = catalog.workloads(
        Settings(threads=(3,), rows=5000, tables=2, memory_bytes=64 << 20, seconds=7)
    )
    assert workload.setup == Setup(64 << 20)
    assert "2 tables of 5,000 rows" in workload.title
    assert workload.cases[0].name.endswith("/3")


def test_a_bench_names_settings_it_is_asked_for():
    assert settings.Settings(names=("load/plain",)).asks_for("load")
    assert not settings.Settings(names=("plain",)).asks_for("load")


# ---- machines ----------------------------------------------------------------------------------


def small(tmp_path) -> machine.Machine:
    return replace(
        machine.look(tmp_path),
        is_root=False,
        has_memory_groups=False,
        disk_free_bytes=10 << 20,
        memory_available_bytes=10 << 20,
    )


def test_a_machine_is_described(tmp_path):
    found = machine.look(tmp_path)
    assert found.cores >= 1
    assert found.memory_bytes > found.memory_available_bytes > 0
    assert json.dumps(vars(found))


def test_what_a_machine_lacks_is_said(tmp_path):
    needs = Needs(disk_bytes=20 << 20, memory_bytes=30 << 20, root=True, memory_groups=True)
    text = small(tmp_path).lack(needs)
    assert "root" in text
    assert "control groups" in text
    assert "20 MiB of disk, 10 MiB are free" in text
    assert "30 MiB of memory, 10 MiB are free" in text


def test_a_machine_that_has_everything_lacks_nothing(tmp_path):
    assert small(tmp_path).lack(Needs(disk_bytes=1)) is None


def test_workloads_larger_than_memory_need_control_groups(tmp_path):
    refused = {workload.name for workload in ALL if workload.refusal(small(tmp_path))}
    assert "sysbench-durable-large" in refused


# ---- the command line --------------------------------------------------------------------------


def message(*arguments: str) -> str:
    error = CliRunner().invoke(cli, ["bench", *arguments]).exception
    return str(error)


def test_wrong_options_are_refused_with_what_is_allowed():
    assert "cairn, innodb, stock" in message("--list", "--engines=oracle")
    assert "such as 1,4,16" in message("--list", "--threads=four")
    assert "leave --quick out" in message("--list", "--floors", "--quick")


def test_the_list_shows_names_and_times():
    shown = CliRunner().invoke(cli, ["bench", "--quick", "--list"]).output
    assert "sysbench-durable: 4 tables of 50,000 rows" in shown
    assert "oltp_point_select/2" in shown
