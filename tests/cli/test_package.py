"""What ./cairn package decides: versions, the range of servers, the sizes of their classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn import versions
from cairn.errors import CairnError
from cairn.package import abi, compare, tree, version

SYMBOLS = """
Symbol table '.dynsym' contains 4 entries:
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     1: 00000000016c9858  1360 OBJECT  WEAK   DEFAULT   24 _ZTV12Type_handler
     2: 00000000016fa338 0x680 OBJECT  WEAK   DEFAULT   24 _ZTV7handler
     3: 00000000016fb898  1632 OBJECT  WEAK   DEFAULT   24 _ZTV4Item
     4: 00000000016ef200  1120 OBJECT  WEAK   DEFAULT   24 _ZTV5Field
"""


def adapter(server: str, package: str) -> tree.Adapter:
    return tree.Adapter(Path("a.so"), Path("mariadbd"), server, package)


def test_later_commits_are_later_versions_and_a_release_is_later_than_all_of_them() -> None:
    first = version.of_commit(1_700_000_000, "fff", changed=False)
    second = version.of_commit(1_700_000_001, "000", changed=False)
    assert versions.compare(first.text, second.text) < 0
    assert versions.compare(second.text, version.RELEASE) < 0


def test_a_changed_checkout_has_a_later_version_than_its_commit() -> None:
    clean = version.of_commit(1_700_000_000, "abc", changed=False)
    changed = version.of_commit(1_700_000_000, "abc", changed=True)
    assert versions.compare(clean.text, changed.text) < 0


def test_the_date_of_a_version_is_that_of_its_commit() -> None:
    assert version.of_commit(0, "abc", changed=False).date() == "Thu, 01 Jan 1970 00:00:00 +0000"


def test_the_package_depends_on_exactly_the_servers_that_it_has_builds_for() -> None:
    assert tree.server_core(["1:10.11.19-0+deb12u2", "1:10.11.18-0+deb12u1"]) == (
        "mariadb-server-core (= 1:10.11.19-0+deb12u2) | "
        "mariadb-server-core (= 1:10.11.18-0+deb12u1)"
    )


def test_the_newest_server_is_first_as_versions_are_ordered() -> None:
    text = tree.server_core(["1:10.11.9-0", "1:10.11.18-0", "1:10.11.18-0+deb12u1"])
    assert [part.split("= ")[1].rstrip(")") for part in text.split(" | ")] == [
        "1:10.11.18-0+deb12u1",
        "1:10.11.18-0",
        "1:10.11.9-0",
    ]


def test_two_builds_for_servers_that_call_themselves_the_same_are_refused() -> None:
    template = (tree.RECIPE / "control.in").read_text(encoding="utf-8")
    twice = (
        adapter("10.11.18-MariaDB-0", "1:10.11.18-0"),
        adapter("10.11.18-MariaDB-0", "1:10.11.18-0+b1"),
    )
    with pytest.raises(CairnError, match="two builds for 10.11.18-MariaDB-0"):
        tree.control(template, twice)


def test_the_control_file_names_every_server() -> None:
    template = (tree.RECIPE / "control.in").read_text(encoding="utf-8")
    both = (
        adapter("10.11.18-MariaDB-0", "1:10.11.18-0"),
        adapter("10.11.14-MariaDB-0", "1:10.11.14-0"),
    )
    text = tree.control(template, both)
    assert (
        "mariadb-server, mariadb-server-core (= 1:10.11.18-0) | "
        "mariadb-server-core (= 1:10.11.14-0) | cairn-adapter (= ${binary:Version}), " in text
    )
    assert "10.11.14-MariaDB-0, 10.11.18-MariaDB-0." in text


@pytest.mark.parametrize("package_versions", [[], ["10.11"], ["1:10.11.18-1)", "1:10.11.18-1"]])
def test_what_is_no_version_is_refused(package_versions: list[str]) -> None:
    with pytest.raises(CairnError):
        tree.server_core(package_versions)


def test_the_control_file_names_the_servers_and_leaves_no_place_open() -> None:
    template = (tree.RECIPE / "control.in").read_text(encoding="utf-8")
    text = tree.control(template, (adapter("10.11.18-MariaDB-0", "1:10.11.18-0"),))
    assert "@" not in text.replace("maintainers@cairn", "")
    dependencies = "mariadb-server-core (= 1:10.11.18-0) | cairn-adapter (= ${binary:Version})"
    assert f"mariadb-server, {dependencies}, " in text
    assert "10.11.18-MariaDB-0." in text
    assert "\nProtected: yes\n" in text


def test_sizes_of_virtual_tables_are_read_from_readelf() -> None:
    assert abi.virtual_tables(abi.parse(SYMBOLS)) == {
        "7handler": 1664,
        "5Field": 1120,
        "4Item": 1632,
        "12Type_handler": 1360,
    }


def test_a_server_without_one_of_the_classes_is_refused() -> None:
    with pytest.raises(CairnError, match="7handler"):
        abi.virtual_tables(abi.parse(SYMBOLS.replace("_ZTV7handler", "_ZTV7another")))


def test_a_symbol_that_the_server_only_uses_is_not_its_own() -> None:
    with pytest.raises(CairnError, match="4Item"):
        abi.virtual_tables(abi.parse(SYMBOLS.replace("24 _ZTV4Item", "UND _ZTV4Item")))


def test_a_directory_is_not_named_after_a_version_that_leads_elsewhere(tmp_path: Path) -> None:
    daemon = tmp_path / "mariadbd"
    for name in ("../10.11.18", ".10.11.18", "10.11.18/1"):
        daemon.write_text(f"#!/bin/sh\necho 'mariadbd  Ver {name} for debian-linux-gnu'\n", "utf-8")
        daemon.chmod(0o755)
        with pytest.raises(CairnError, match="names no version"):
            abi.version_of(daemon, {})
    daemon.write_text(
        "#!/bin/sh\necho 'mariadbd  Ver 10.11.18-MariaDB-0 for debian-linux-gnu'\n", "utf-8"
    )
    assert abi.version_of(daemon, {}) == "10.11.18-MariaDB-0"
    daemon.write_text(
        "#!/bin/sh\necho 'mariadbd  Ver 11.8.6-MariaDB-0 from Debian for debian-linux-gnu'\n",
        "utf-8",
    )
    assert abi.version_of(daemon, {}) == "11.8.6-MariaDB-0"


def server(classes: dict[str, int], functions: set[str]) -> abi.Symbols:
    defined = {f"_ZTV{name}": size for name, size in classes.items()}
    return abi.Symbols(defined | dict.fromkeys(functions, 1), frozenset())


PLUGIN = abi.Symbols({}, frozenset({"open_table", "malloc", "_ZTV7handler"}))


def test_two_servers_that_are_the_same_do_not_differ() -> None:
    old = server({"7handler": 8}, {"open_table"})
    found = compare.servers(old, old, PLUGIN)
    assert not found.differs()
    assert found.lost == []


def test_a_function_that_we_call_and_the_new_server_lacks_is_named() -> None:
    old = server({"7handler": 8}, {"open_table", "other"})
    found = compare.servers(old, server({"7handler": 8}, {"newer"}), PLUGIN)
    # malloc comes from elsewhere, and nobody of ours calls the other function.
    assert found.lost == ["open_table"]
    assert (found.gone, found.come) == (2, 1)
    assert found.differs()


def test_a_class_with_another_number_of_virtual_functions_differs() -> None:
    old = server({"7handler": 8, "4Item": 16}, {"open_table"})
    found = compare.servers(old, server({"7handler": 8, "4Item": 24}, {"open_table"}), PLUGIN)
    assert found.changed == [("4Item", 16, 24)]
    assert found.differs()


def test_a_class_that_only_one_server_has_is_no_changed_class() -> None:
    old = server({"7handler": 8, "3Old": 16}, {"open_table"})
    found = compare.servers(old, server({"7handler": 8, "3New": 16}, {"open_table"}), PLUGIN)
    assert found.changed == []


def test_of_many_changed_classes_those_that_are_checked_at_load_are_named_first() -> None:
    changed = [(f"{number}Class", 8, 16) for number in range(500)] + [("4Item", 8, 16)]
    named = compare.shown(changed)
    assert named[0] == ("4Item", 8, 16)
    assert len(named) < 20
