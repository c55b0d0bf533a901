"""What ./cairn migrate decides without a server: sets, order, ways, texts of SQL, resumption."""

import subprocess
import sys

import pytest

from cairn.errors import CairnError
from cairn.migrate import definition, pace, pieces, rights, sets, state, triggers, verify, ways
from cairn.migrate.link import literal, name
from cairn.migrate.schema import Column, ForeignKey, Selection, Table, parse_table
from cairn.migrate.state import Entry, Found, Phase, Step, after_interruption
from cairn.migrate.ways import Circumstances, Way

CREATE = """CREATE TABLE `c` (
  `id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'a, ''b'' CONSTRAINT `x` FOREIGN KEY (`y`)',
  `p` int(11) DEFAULT NULL CHECK (`p` > 0),
  PRIMARY KEY (`id`),
  KEY `p` (`p`),
  CONSTRAINT `c_ibfk_1` FOREIGN KEY (`p`) REFERENCES `p` (`id`) ON DELETE CASCADE,
  CONSTRAINT `odd``name` FOREIGN KEY (`p`) REFERENCES `other`.`q` (`id`),
  CONSTRAINT `positive` CHECK (`id` > 0)
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC"""
PARTITIONED = """CREATE TABLE `t` (
  `a` int(11) NOT NULL,
  PRIMARY KEY (`a`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1 DATA DIRECTORY='/x''y/'
 PARTITION BY RANGE (`a`)
(PARTITION `p0` VALUES LESS THAN (10) DATA DIRECTORY = '/d' ENGINE = InnoDB,
 PARTITION `p1` VALUES LESS THAN MAXVALUE ENGINE = InnoDB)"""
LOGGED = Circumstances("rocksdb", binary_log=True)


def key(child, parent):
    return ForeignKey(("s", child), f"{child}_{parent}", ("s", parent), ("p",), ("id",))


def table(names=("id",), types=("int",), text=CREATE, **facts):
    columns = tuple(Column(*pair) for pair in zip(names, types, strict=True))
    facts = {"primary_key": names, "columns": columns, "definition": text} | facts
    return Table(("s", "c"), "InnoDB", **facts)


def plain(**facts):
    """A table that can be copied online, but for what `facts` say."""
    return table(text="CREATE TABLE `c` (\n  `id` int\n) ENGINE=InnoDB", **facts)


# ---- sets ---------------------------------------------------------------------------------------


def connected(tables, *keys):
    found = sets.connected([("s", one) for one in tables], keys)
    return [[one for _, one in members] for members in found]


def test_tables_without_foreign_keys_are_sets_by_themselves():
    assert connected("cab") == [["a"], ["b"], ["c"]]


def test_a_set_has_all_that_is_tied_in_either_direction_parents_first():
    keys = key("c", "b"), key("b", "z"), key("a", "z")
    assert connected("abczx", *keys) == [["z", "a", "b", "c"], ["x"]]


def test_a_ring_is_ordered_with_what_it_needs_first():
    assert connected("abp", key("a", "b"), key("b", "a"), key("a", "p")) == [["p", "a", "b"]]


def test_a_table_may_reference_itself_and_one_that_is_missing():
    assert connected("a", key("a", "a"), key("a", "gone")) == [["a"]]


# ---- ways ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "circumstances", "way", "reason"),
    [
        (plain(), LOGGED, Way.ONLINE, ""),
        (plain(), Circumstances("rocksdb"), Way.HELD, "no binary log"),
        (plain(primary_key=()), LOGGED, Way.HELD, "no primary key"),
        (plain(types=("enum",)), LOGGED, Way.HELD, "in pieces"),
        (plain(types=("double",)), LOGGED, Way.HELD, "in pieces"),
        (plain(triggers=("t",)), LOGGED, Way.ALTER, "triggers (t)"),
        (plain(foreign_keys=(key("c", "c"),)), LOGGED, Way.HELD, "foreign keys"),
        (plain(kind="SEQUENCE"), LOGGED, Way.NONE, "sequence"),
        (plain(kind="SYSTEM VERSIONED"), LOGGED, Way.NONE, "system versions"),
        (plain(triggers=("t",), foreign_keys=(key("c", "c"),)), LOGGED, Way.NONE, "triggers (t)"),
        (plain(), Circumstances("rocksdb", True, replicating=True), Way.NONE, "STOP SLAVE"),
        (plain(), Circumstances("rocksdb", True, cluster=True), Way.NONE, "Galera"),
        (plain(), Circumstances("rocksdb", True, statement_format=True), Way.NONE, "STATEMENT"),
        (plain(), Circumstances("innodb", True, statement_format=True), Way.ONLINE, ""),
        (plain(), Circumstances("rocksdb", True, without_binary_log=True), Way.HELD, "--no-binlog"),
    ],
)
def test_each_class_of_tables_goes_its_way_and_says_why(one, circumstances, way, reason):
    decision = ways.of_set([one], circumstances)
    assert decision.way is way
    assert reason in " ".join(decision.reasons)


def test_encrypted_tables_are_not_taken_to_an_engine_that_does_not_encrypt():
    text = "CREATE TABLE `c` (\n  `id` int\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 `encrypted`=yes"
    one = table(text=text)
    assert ways.of_set([one], LOGGED).way is Way.NONE
    assert ways.of_set([one], Circumstances("innodb", True)).way is Way.ONLINE


def test_a_set_of_which_a_part_is_not_selected_is_not_converted_and_names_the_rest():
    decision = ways.of_set([plain()], LOGGED, [("s", "parent")])
    assert decision.way is Way.NONE and "s.parent" in decision.reasons[0]


def test_two_tied_tables_are_held_together():
    assert ways.of_set([plain(), plain()], LOGGED).way is Way.HELD


# ---- definitions --------------------------------------------------------------------------------


def test_a_definition_becomes_that_of_a_shadow_and_its_foreign_keys():
    parsed = definition.parse(CREATE)
    text = definition.create(parsed, "`s`.`x`", "rocksdb")
    assert text.startswith("CREATE TABLE `s`.`x` (\n  `id` int(11) NOT NULL AUTO_INCREMENT COMMENT")
    assert "CONSTRAINT `c_ibfk_1`" not in text and "`odd``name`" not in text
    assert "CONSTRAINT `positive` CHECK (`id` > 0)\n) ENGINE=rocksdb AUTO_INCREMENT=7" in text
    assert definition.add_foreign_keys(parsed, "s", "x") == (
        "ALTER TABLE `s`.`x` ADD CONSTRAINT `c_ibfk_1` FOREIGN KEY (`p`) REFERENCES `p` (`id`) "
        "ON DELETE CASCADE, ADD CONSTRAINT `odd``name` FOREIGN KEY (`p`) REFERENCES `other`.`q` "
        "(`id`)"
    )


def test_partitions_get_the_engine_and_lose_their_directories():
    parsed = definition.parse(PARTITIONED)
    text = definition.create(parsed, "`x`", "rocksdb")
    assert "InnoDB" not in text and "DIRECTORY" not in text and text.count("rocksdb") == 3
    assert "PARTITION" not in definition.create(parsed, "`x`", "rocksdb", temporary=True)


def test_a_shadow_has_the_shape_of_its_table_until_that_is_altered():
    for text in (CREATE, PARTITIONED):
        parsed = definition.parse(text)
        shadow = definition.create(parsed, "`s`", "ROCKSDB")
        rules = ",\n".join(f"  {rule}" for rule in parsed.foreign_keys)
        shadow = shadow.replace("\n) ENGINE", f",\n{rules}\n) ENGINE") if rules else shadow
        assert definition.shape(shadow) == definition.shape(text)
    altered = CREATE.replace("  KEY `p` (`p`)", "  KEY `p` (`p`,`id`)")
    assert definition.shape(altered) != definition.shape(CREATE)
    without_rule = CREATE.replace("`c_ibfk_1`", "`c_ibfk_2`")
    assert definition.shape(without_rule) != definition.shape(CREATE)


def test_what_is_no_definition_is_an_error():
    with pytest.raises(CairnError, match="not known"):
        definition.parse("CREATE VIEW `v` AS select 1")


# ---- pieces and triggers -------------------------------------------------------------------------


def test_conditions_of_a_piece_are_ranges_over_all_columns_of_the_key():
    one = table(("a", "b"), ("int", "varchar"))
    assert pieces.after(one, ("1", "_latin1 x'41'")) == (
        "((`a` > 1) OR (`a` = 1 AND `b` > _latin1 x'41'))"
    )
    assert pieces.up_to(one, ("1", "x''")) == "((`a` < 1) OR (`a` = 1 AND `b` <= x''))"


def test_bounds_come_back_as_literals_exact_to_the_byte():
    columns = (Column("n", "decimal"), Column("t", "datetime"), Column("s", "char", charset="ucs2"))
    one = plain(columns=(*columns, Column("b", "varbinary")), primary_key=("n", "t", "s", "b"))
    text = pieces.find_bound(one, None, 100)
    assert "CAST(`n` AS CHAR), CONCAT('''', `t`, '''')" in text
    assert "CONCAT('_ucs2 x', '''', HEX(`s`), '''')" in text
    assert "CONCAT('x''', HEX(`b`), '''')" in text and text.endswith("LIMIT 99, 1")


def test_beside_writers_a_piece_locks_its_rows_and_leaves_newer_ones():
    text = pieces.copy(plain(), "x", ("5",), ("9",), beside_writers=True)
    assert text == (
        "INSERT IGNORE INTO `s`.`x` (`id`) SELECT `id` FROM `s`.`c` FORCE INDEX (PRIMARY) "
        "WHERE ((`id` > 5)) AND ((`id` <= 9)) LOCK IN SHARE MODE"
    )
    assert pieces.copy(plain(), "x", None, None, beside_writers=False) == (
        "INSERT INTO `s`.`x` (`id`) SELECT `id` FROM `s`.`c`"
    )


def test_triggers_carry_a_changed_key_and_no_generated_column():
    columns = (Column("id", "int"), Column("g", "int", generated=True, virtual=True))
    delete, update, insert = triggers.carrying(plain(columns=columns), 3, "x")
    assert delete.endswith("DELETE FROM `s`.`x` WHERE `id` = OLD.`id`")
    assert "IF NOT (OLD.`id` <=> NEW.`id`) THEN DELETE" in update
    assert insert.endswith("REPLACE INTO `s`.`x` (`id`) VALUES (NEW.`id`)")


def test_deletes_are_carried_before_anything_else_is():
    assert [text.split()[4] for text in triggers.carrying(plain(), 3, "x")][0] == "DELETE"


def test_guards_refuse_with_an_error_that_undoes_the_statement_alone():
    for text in triggers.guarding(plain(), 3, 9):
        assert " BEFORE " in text and "'cairn_migrate.gate.9'" in text and "1205" in text


def test_names_and_strings_are_quoted():
    assert name("a`b") == "`a``b`"
    assert literal("a'b\\") == "'a\\'b\\\\'" and literal(None) == "NULL"


# ---- the state -----------------------------------------------------------------------------------


def found(*converted, shadow=True, former=True):
    return [Found(("s", f"t{n}"), one, shadow, former) for n, one in enumerate(converted)]


@pytest.mark.parametrize(
    ("phase", "way", "tables", "kept", "step"),
    [
        (Phase.WAITING, Way.HELD, found(False, False), True, Step.BEGIN),
        (Phase.MAKING, Way.ONLINE, found(False), True, Step.BEGIN),
        (Phase.COPYING, Way.ONLINE, found(False), True, Step.CONTINUE),
        (Phase.COPYING, Way.ONLINE, found(False), False, Step.BEGIN),
        (Phase.COPYING, Way.ONLINE, found(False, shadow=False), True, Step.BEGIN),
        (Phase.COPYING, Way.HELD, found(False, False), True, Step.BEGIN),
        (Phase.SWAPPING, Way.HELD, found(False, False), True, Step.BEGIN),
        (Phase.SWAPPING, Way.HELD, found(True, True), True, Step.CLEAN),
        (Phase.CLEANING, Way.HELD, found(True, True, former=False), True, Step.CLEAN),
        (Phase.ALTERING, Way.ALTER, found(False), True, Step.BEGIN),
        (Phase.ALTERING, Way.ALTER, found(True), True, Step.NOTHING),
        (Phase.DONE, Way.ONLINE, found(True), True, Step.NOTHING),
    ],
)
def test_each_phase_goes_on_where_it_was_interrupted(phase, way, tables, kept, step):
    assert after_interruption(phase, way, tables, kept=kept) is step


@pytest.mark.parametrize(
    ("phase", "tables"),
    [
        (Phase.SWAPPING, found(True, False)),
        (Phase.CLEANING, found(False, False)),
        (Phase.COPYING, found(True, False)),
        (Phase.WAITING, found(True)),
    ],
)
def test_what_no_interruption_leaves_behind_is_an_error_and_nothing_is_dropped(phase, tables):
    with pytest.raises(CairnError):
        after_interruption(phase, Way.HELD, tables, kept=True)


def test_names_of_ours_fit_and_differ():
    entry = Entry(2_000_000_000, 1, ("s", "t" * 64), Way.ONLINE)
    assert entry.shadow != entry.former and len(entry.former) <= 64
    assert all(len(triggers.trigger_name(entry.number, event)) <= 64 for event in triggers.EVENTS)
    assert {phase.value for phase in state.Phase} and all(len(p.value) <= 10 for p in state.Phase)


# ---- options, rights, pace -----------------------------------------------------------------------


def test_tables_are_named_with_their_schema():
    assert parse_table("a.b") == ("a", "b")
    assert parse_table("`a.b`.`c.d`") == ("a.b", "c.d")
    for text in ("a", "a.", ".b", "a.b.c", "`a.b", ""):
        with pytest.raises(CairnError, match="SCHEMA.NAME"):
            parse_table(text)


def test_without_a_choice_the_servers_own_schemas_are_left_out():
    assert Selection().has(("shop", "t")) and not Selection().has(("mysql", "user"))
    assert not Selection(("other",)).has(("shop", "t"))
    assert Selection((), (("shop", "t"),)).has(("shop", "t"))


def test_missing_rights_are_named_by_scope():
    assert rights.missing(["GRANT ALL PRIVILEGES ON *.* TO `r`@`%`"], ["s"], LOGGED) == []
    grants = [
        "GRANT RELOAD, SUPER ON *.* TO `u`@`%`",
        "GRANT ALL PRIVILEGES ON `cairn\\_migrate`.* TO `u`@`%`",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, "
        "CREATE TEMPORARY TABLES, TRIGGER ON `s%`.* TO `u`@`%`",
    ]
    assert rights.missing(grants, ["shop"], LOGGED) == [("`shop`.*", ["LOCK TABLES"])]
    lacking = dict(rights.missing(["GRANT USAGE ON *.* TO `u`@`%`"], ["s"], LOGGED))
    assert lacking["*.*"] == ["RELOAD", "SUPER"] and "TRIGGER" in lacking["`s`.*"]


def test_a_pattern_of_grants_means_one_character_unless_it_is_escaped():
    escaped = ["GRANT ALL PRIVILEGES ON `a\\_b`.* TO `u`@`%`"]
    scopes = [scope for scope, _ in rights.missing(escaped, ["a_b", "axb"], LOGGED)]
    assert "`axb`.*" in scopes and "`a_b`.*" not in scopes


def test_the_limit_of_rows_a_second_is_kept_together():
    waited = []
    limit = pace.Pace(100, clock=lambda: sum(waited), sleep=waited.append)
    for _ in range(4):
        limit.copied(50)
    assert sum(waited) == pytest.approx(2.0)
    assert limit.largest_piece() == 50 and pace.Pace(None).largest_piece() == pace.LARGEST


def test_pieces_grow_and_shrink_towards_their_time():
    assert pace.next_piece(1000, 0.01) == 2000
    assert pace.next_piece(1000, 0.6) == 500
    assert pace.next_piece(100, 60) == pace.SMALLEST
    assert pace.next_piece(15_000, 0.01) == pace.LARGEST
    assert pace.next_piece(10, 1, largest=5) == 5


def test_children_without_a_parent_are_looked_for_by_all_columns():
    one = ForeignKey(("s", "c"), "k", ("s", "p"), ("a", "b"), ("x", "y"))
    assert verify.orphans_query(one) == (
        "SELECT c.* FROM `s`.`c` c LEFT JOIN `s`.`p` p ON p.`x` = c.`a` AND p.`y` = c.`b` "
        "WHERE p.`x` IS NULL AND c.`a` IS NOT NULL AND c.`b` IS NOT NULL"
    )


def test_the_package_has_no_checkout_to_import():
    code = (
        "import sys, pkgutil, importlib, cairn.migrate as m\n"
        "[importlib.import_module(f'cairn.migrate.{one.name}') for one in "
        "pkgutil.iter_modules(m.__path__) if one.name != '__main__']\n"
        "print(sorted(one for one in sys.modules if one.startswith('cairn.') "
        "and not one.startswith('cairn.migrate')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['cairn.errors', 'cairn.place', 'cairn.report']"
