"""The consistency conditions of TPC-C on real tables: each finds the rows that violate it."""

import pytest

from cairn import plugin, prefix, sysbench
from cairn.bench.tpcc import consistency, workload
from cairn.scratch_server import ScratchServer

pytestmark = pytest.mark.skipif(
    prefix.current() is None
    or not plugin.library().exists()
    or not prefix.require().sysbench.is_dir(),
    reason="./cairn up has not been run here, or nothing has asked for sysbench",
)

ENGINES = ("ROCKSDB", "InnoDB")

# Two warehouses of two districts of two customers, who have paid 10.00 and ordered in turn. 2,100
# orders of each district are delivered, at 1.50; the last three are new.
ORDERS = "seq_1_to_2103 o JOIN seq_1_to_2 w JOIN seq_1_to_2 d"
TIME = "'2026-01-01 00:00:00'"
ADDRESS = "'street', 'street', 'city', 'AB', '123411111'"
ROWS = {
    "warehouse": f"SELECT seq, 'name', {ADDRESS}, 0.1, 40 FROM seq_1_to_2",
    "district": f"SELECT d.seq, w.seq, 'name', {ADDRESS}, 0.1, 20, 2104 "
    "FROM seq_1_to_2 w JOIN seq_1_to_2 d",
    "customer": f"SELECT c.seq, d.seq, w.seq, 'first', 'OE', 'last', {ADDRESS}, '0123', {TIME}, "
    "'GC', 50000, 0.1, 1050 * 1.5 - 10, 10, 1, 1050, 'data' "
    "FROM seq_1_to_2 w JOIN seq_1_to_2 d JOIN seq_1_to_2 c",
    "history": f"SELECT c.seq, d.seq, w.seq, d.seq, w.seq, {TIME}, 10, 'data' "
    "FROM seq_1_to_2 w JOIN seq_1_to_2 d JOIN seq_1_to_2 c",
    "orders": f"SELECT o.seq, d.seq, w.seq, 1 + o.seq % 2, {TIME}, IF(o.seq <= 2100, 7, NULL), 2, "
    f"1 FROM {ORDERS}",
    "new_orders": f"SELECT o.seq, d.seq, w.seq FROM {ORDERS} WHERE o.seq > 2100",
    "order_line": f"SELECT o.seq, d.seq, w.seq, n.seq, 1, w.seq, IF(o.seq <= 2100, {TIME}, NULL), "
    "5, CASE WHEN o.seq > 2100 THEN 9 WHEN n.seq = 1 THEN 1.5 ELSE 0 END, 'info' "
    f"FROM {ORDERS} JOIN seq_1_to_2 n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("server")
    mariadb = prefix.require()
    with ScratchServer(mariadb, directory) as running:
        running.start()
        for engine in ENGINES:
            running.query(f"CREATE DATABASE {engine}")
            script = (str(workload.SCRIPT), f"--mysql-db={engine}", f"--engine={engine}", "tables")
            log = directory / "sysbench.log"
            status, output = sysbench.execute(mariadb, running.socket, script, limit_s=60, log=log)
            assert status == 0, output
            for table, rows in ROWS.items():
                running.query(f"INSERT INTO {table} {rows}", database=engine)
        yield running
        running.stop()


@pytest.fixture(params=ENGINES)
def cursor(server, request):
    """Inside a transaction, which undoes what a test changes."""
    with server.connect(database=request.param) as connection, connection.cursor() as found:
        connection.begin()
        yield Uncommitted(found)
        connection.rollback()


class Uncommitted:
    """A cursor without CHECK TABLE, which would commit."""

    def __init__(self, cursor):
        self._cursor = cursor
        self._checks = False

    def execute(self, statement):
        self._checks = statement.startswith("CHECK TABLE")
        if not self._checks:
            self._cursor.execute(statement)

    def fetchall(self):
        return [("", "check", "status", "OK")] if self._checks else self._cursor.fetchall()


def violated(cursor, loaded=True):
    """The numbers of the conditions, as 3 for 3.3.2.3; they are violated in warehouse 1 only."""
    found = list(consistency.violations(cursor, 2, loaded=loaded))
    assert all(text.endswith("warehouse 1") for text in found), found
    return {int(text.split()[0].rpartition(".")[2]) for text in found}


IN_1_2 = "{0}_w_id = 1 AND {0}_d_id = 2"
ORDER = f"{IN_1_2.format('o')} AND o_id"
LINE = f"{IN_1_2.format('ol')} AND ol_o_id"
NEW = f"{IN_1_2.format('no')} AND no_o_id"
CUSTOMER = f"{IN_1_2.format('c')} AND c_id"
DISTRICT = "d_w_id = 1 AND d_id"


def test_rows_that_violate_nothing_are_consistent(cursor):
    assert violated(cursor) == set()


@pytest.mark.parametrize(
    ("conditions", "statement"),
    [
        ({1, 8}, "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 1"),
        ({1, 9}, f"UPDATE district SET d_ytd = d_ytd - 0.01 WHERE {DISTRICT} = 2"),
        ({2}, f"UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE {DISTRICT} = 2"),
        ({2, 5, 11}, f"DELETE FROM new_orders WHERE {NEW} = 2103"),
        ({2, 4, 5, 11}, f"DELETE FROM orders WHERE {ORDER} = 2103"),
        ({3, 5, 11}, f"DELETE FROM new_orders WHERE {NEW} = 2102"),
        ({4}, f"INSERT INTO order_line VALUES (9999, 2, 1, 1, 1, 1, {TIME}, 5, 1, '')"),
        ({4, 6}, f"DELETE FROM order_line WHERE {LINE} = 2103 AND ol_number = 2"),
        ({5, 7}, f"UPDATE orders SET o_carrier_id = 7 WHERE {ORDER} = 2102"),
        ({5, 7}, f"UPDATE orders SET o_carrier_id = NULL WHERE {ORDER} = 2000"),
        ({6}, f"UPDATE orders SET o_ol_cnt = IF(o_id = 5, 1, 3) WHERE {ORDER} IN (5, 6)"),
        (
            {7},
            f"UPDATE order_line SET ol_delivery_d = NULL WHERE {LINE} = 2000 AND ol_number = 2",
        ),
        (
            {7, 10, 12},
            f"UPDATE order_line SET ol_delivery_d = {TIME} WHERE {LINE} = 2102 AND ol_number = 2",
        ),
        ({8}, f"INSERT INTO history VALUES (3, 2, 1, 3, 1, {TIME}, 1, '')"),
        ({9}, "UPDATE district SET d_ytd = IF(d_id = 1, 15, 25) WHERE d_w_id = 1"),
        (
            {10},
            "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 "
            f"WHERE {CUSTOMER} = 2",
        ),
        ({10, 12}, f"UPDATE order_line SET ol_amount = 2 WHERE {LINE} = 2000 AND ol_number = 2"),
        ({12}, f"UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE {CUSTOMER} = 2"),
    ],
)
def test_a_condition_finds_what_violates_it(cursor, conditions, statement):
    cursor.execute(statement)
    assert violated(cursor) == conditions


@pytest.mark.parametrize("delivered", [1, 3])
def test_only_a_load_leaves_2100_orders_of_each_district_delivered(cursor, delivered):
    for statement in (
        f"DELETE FROM new_orders WHERE {NEW} <= 2100 + {delivered}",
        f"UPDATE orders SET o_carrier_id = 7 WHERE {ORDER} BETWEEN 2101 AND 2100 + {delivered}",
        f"UPDATE order_line SET ol_delivery_d = {TIME} "
        f"WHERE {LINE} BETWEEN 2101 AND 2100 + {delivered}",
        "UPDATE customer SET c_balance = c_balance + 2 * 9 * (SELECT COUNT(*) FROM orders "
        f"WHERE {ORDER} BETWEEN 2101 AND 2100 + {delivered} AND o_c_id = c_id) "
        f"WHERE {IN_1_2.format('c')}",
    ):
        cursor.execute(statement)
    assert violated(cursor, loaded=True) == {11}
    assert violated(cursor, loaded=False) == set()


def test_check_table_finds_nothing_in_sound_tables(server):
    for engine in ENGINES:
        with server.connect(database=engine) as connection, connection.cursor() as cursor:
            assert list(consistency.violations(cursor, 2, loaded=True)) == []
