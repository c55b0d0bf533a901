"""TPC-C: what a run's records give, when it is refused, and what its Lua scripts draw."""

import subprocess

import pytest
from bench_machine import machine

from cairn import prefix, sysbench
from cairn.bench import floors
from cairn.bench.engines import Engine
from cairn.bench.insert import workload as insert
from cairn.bench.records import Request
from cairn.bench.settings import Settings
from cairn.bench.tpcc import consistency, references, workload
from cairn.bench.tpcc.workload import Scale
from cairn.errors import CairnError

SCALE = Scale(warehouses=2, threads=4, warm_up_s=5, seconds=20)


def request(ended_s, kind="new_order", outcome="ok", duration_s=0.1):
    return Request(round(ended_s * 1e6), kind, round(duration_s * 1e6), 1, outcome)


def test_new_orders_are_counted_in_steps_after_the_warm_up():
    requests = [
        request(100.1),  # The first: the run begins with it.
        request(104.9),
        *(request(105 + number) for number in (1, 2, 3)),
        request(108, outcome="rollback"),
        request(108, outcome="error 1213"),
        request(108, kind="payment", duration_s=0.4),
        request(116),
        request(125.1),
    ]
    figures = {each.name: each for each in workload.measure("tpcc", requests, SCALE, 2.0)}
    assert figures["tpcc"].value == 4 * 60 / 20
    assert figures["tpcc"].points == ((10.0, 18.0), (20.0, 6.0))
    assert figures["tpcc"].details["new_order error 1213"] == 1
    assert figures["tpcc"].details["server_cpu_us"] == 2e6 / len(requests)
    assert figures["worst 10 s by the median"].value == 0.5
    promised = {name: floors.find_own("tpcc", name) for name in figures}
    assert promised.pop("worst 10 s by the median") == 0.5
    assert set(promised.values()) == {None}
    assert figures["payment 95%"].value == 400.0
    assert not figures["payment 95%"].higher_is_better


def test_a_run_without_transactions_is_an_error():
    with pytest.raises(CairnError, match="without a single transaction"):
        workload.measure("tpcc", [], SCALE, 0.0)


def test_the_estimate_grows_with_the_warehouses():
    small, large = (workload.workloads(Settings(warehouses=count))[0] for count in (1, 50))
    assert large.prepare_s > 10 * small.prepare_s
    assert large.cases[0].seconds > small.cases[0].seconds
    assert large.needs().disk_bytes > 5 * small.needs().disk_bytes


def test_quick_benches_have_it_only_when_it_is_named():
    assert workload.workloads(Settings(quick=True)) == []
    (quick,) = workload.workloads(Settings(quick=True, names=("tpcc",), seconds=25))
    assert (quick.scale.warehouses, quick.scale.seconds) == (1, 20)
    assert insert.workloads(Settings(quick=True)) == []
    assert len(insert.workloads(Settings(quick=True, names=("insert/l.i0",)))) == 1


def test_a_machine_with_too_little_is_refused_in_words():
    tpcc = workload.workloads(Settings(memory_bytes=64 << 20))[0]
    text = tpcc.refusal(machine(is_root=False, disk_free_bytes=1 << 20))
    assert "root" in text and "of disk" in text and "192 MiB of memory at least" in text


def test_without_limits_nobody_needs_to_be_root():
    tpcc = workload.workloads(Settings(iops=0, mb_per_s=0, memory_bytes=0))[0]
    assert tpcc.refusal(machine(is_root=False, has_memory_groups=False)) is None
    assert tpcc.title.endswith("no limits")


def test_all_caches_of_an_engine_are_a_part_of_the_memory(tmp_path):
    innodb = Engine("innodb", "InnoDB", "InnoDB", None)
    cairn = Engine("cairn", "Cairn", "ROCKSDB", tmp_path)
    tpcc = workload.workloads(Settings())[0]

    def sizes(engine):
        return [int(text.rpartition("=")[2]) >> 20 for text in tpcc.options(engine)]

    assert sizes(innodb) == [200] == [tpcc.setup.memory_bytes >> 20]
    assert sizes(cairn) == [48, 64, 32]
    assert sizes(Engine("stock", "stock", "ROCKSDB", tmp_path)) == [96, 64, 32]
    tpcc = workload.workloads(Settings(memory_bytes=0))[0]
    assert tpcc.options(innodb) == tpcc.options(cairn) == ()


def test_those_in_memory_run_when_they_are_named_and_not_on_the_stock_plugin(tmp_path):
    names = [each.name for each in workload.workloads(Settings())]
    assert names == ["tpcc", "tpcc-foreign-keys"]
    named = workload.workloads(Settings(quick=True, names=("tpcc-cached*",), iops=500))
    assert [each.name for each in named] == ["tpcc-cached", "tpcc-cached-foreign-keys"]
    assert all(each.title.endswith("no limits") for each in named)
    stock = Engine("stock", "stock", "ROCKSDB", tmp_path)
    assert [each.runs_on(stock) for each in named] == [True, False]
    assert all(each.runs_on(Engine("innodb", "InnoDB", "InnoDB", None)) for each in named)


def test_each_foreign_key_has_a_clause_and_a_query_of_its_orphans():
    made = list(references.statements())
    assert len(made) == 7
    assert sum(text.count("ADD FOREIGN KEY") for text in made) == len(references.FOREIGN_KEYS) == 10
    assert made[0] == "ALTER TABLE district ADD FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)"
    cursor = Answers()
    assert list(references.violations(cursor)) == []
    assert len(cursor.asked) == 10
    assert cursor.asked[1] == (
        "SELECT COUNT(*) FROM customer AS c LEFT JOIN district AS p "
        "ON c.c_w_id = p.d_w_id AND c.c_d_id = p.d_id WHERE p.d_w_id IS NULL"
    )
    assert "3 rows of stock without their row of item" in references.violations(Answers(3))


class Answers:
    """A cursor whose queries count `violations`, and whose CHECK TABLE says `check`."""

    def __init__(self, violations=0, check="OK"):
        self.asked = []
        self._violations = violations
        self._check = check

    def execute(self, query):
        self.asked.append(query)

    def fetchall(self):
        if self.asked[-1].startswith("CHECK"):
            return [("sbtest.orders", "check", "status", self._check)]
        return [(self._violations,)]


def test_all_conditions_are_asked_of_every_warehouse_and_one_only_after_the_load():
    cursor = Answers()
    assert list(consistency.violations(cursor, 3, loaded=True)) == []
    assert len(cursor.asked) == 12 * 3 + 2
    assert not any("{" in query for query in cursor.asked)
    later = Answers()
    assert list(consistency.violations(later, 3, loaded=False)) == []
    assert len(later.asked) == 11 * 3 + 2


def test_violations_name_the_clause_and_the_warehouse():
    found = list(consistency.violations(Answers(violations=4), 1, loaded=False))
    assert found[0] == "3.3.2.1 (w_ytd is the sum of d_ytd): 4 violations in warehouse 1"
    assert len(found) == 11
    (damaged, _) = consistency.violations(Answers(check="Corrupt"), 1, loaded=False)
    assert damaged == "CHECK TABLE customer: status: Corrupt"


def test_a_table_with_too_few_rows_is_named():
    contents = {table: (count * 2, 0) for table, count in consistency.ROWS_OF_WAREHOUSE.items()}
    contents["item"] = (consistency.ITEMS, 0)
    assert list(consistency.wrong_counts(contents, 2)) == []
    contents["stock"] = (199_999, 0)
    (text,) = consistency.wrong_counts(contents, 2)
    assert "199999" in text and "200000" in text


# ---- the scripts -------------------------------------------------------------------------------

CHECKS = """
package.path = "{bench}/lua/?.lua;{bench}/tpcc/?.lua;" .. package.path
local Random = require("random")
local data = require("data")
local transactions = require("transactions")

local function check()
  local one, same, other = Random.new(7, 1), Random.new(7, 1), Random.new(7, 2)
  local text = one:text(10, 20)
  assert(text == same:text(10, 20) and text ~= other:text(10, 20))
  local least, most = 1e9, 0
  for _ = 1, 20000 do
    local number = one:uniform(5, 15)
    least, most = math.min(least, number), math.max(most, number)
  end
  assert(least == 5 and most == 15)

  assert(data.last_name(0) == "BARBARBAR" and data.last_name(371) == "PRICALLYOUGHT")
  assert(data.money(123) == "1.23" and data.money(-5) == "-0.05" and data.cents("-1.07") == -107)
  for _ = 1, 20000 do
    local item, customer = data.item(one), data.customer(one)
    assert(item >= 1 and item <= 100000 and customer >= 1 and customer <= 3000)
  end

  local failing, remote, named = 0, 0, 0
  local terminal = {{ warehouse = 2, warehouses = 5, district = 1 }}
  for _ = 1, 20000 do
    local order = transactions.new_order.input(one, terminal)
    assert(#order.lines >= 5 and #order.lines <= 15)
    failing = failing + (order.fails and 1 or 0)
    local payment = transactions.payment.input(one, terminal)
    remote = remote + (payment.customer_warehouse ~= 2 and 1 or 0)
    named = named + (payment.last_name and 1 or 0)
  end
  assert(failing > 140 and failing < 260, failing)
  assert(remote > 2800 and remote < 3200, remote)
  assert(named > 11700 and named < 12300, named)
  print("all is well")
end

sysbench.cmdline.commands = {{ check = {{ check }} }}
"""


def run_sysbench(*arguments):
    mariadb = prefix.current()
    if mariadb is None or not mariadb.sysbench.is_dir():
        pytest.skip("sysbench is not in the cache: run ./cairn sysbench once")
    command, environment = sysbench.invocation(mariadb, "/nonexistent", arguments)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_random_numbers_and_inputs_are_as_the_standard_wants(tmp_path):
    script = tmp_path / "check.lua"
    script.write_text(CHECKS.format(bench=workload.SCRIPT.parents[1]))
    done = run_sysbench(str(script), "check")
    assert "all is well" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("script", [workload.SCRIPT, insert.SCRIPT])
def test_the_scripts_compile(script):
    done = run_sysbench(str(script), "help")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "options:" in done.stdout
