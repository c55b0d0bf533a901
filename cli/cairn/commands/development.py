"""The commands that build, test and lay out the code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

PRESETS = ("release", "debug", "asan", "tsan")
PARTS = ("unit", "tidy", "sql", "crash", "conformance", "package", "lint", "all")
FUZZ_TARGETS = ("codec", "block", "log", "file")


@click.command()
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    default="release",
    show_default=True,
    help="Which build: asan is the address and undefined-behaviour sanitizers, tsan threads.",
)
def build(preset: str) -> None:
    """Build the plug-in and the unit tests.

    CAIRN_SERVER_SOURCE=DIR builds for the server whose source tree DIR is, which was configured.
    """
    from cairn import packages, plugin, prefix, rocksdb, server_source
    from cairn.report import Reporter

    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS), phase)
    with reporter.phase("MariaDB server") as phase:
        mariadb = prefix.ensure(phase)
    with reporter.phase("Server headers") as phase:
        if tree := server_source.named():
            mariadb = server_source.apply(mariadb)
            phase.summary = f"{server_source.version(tree)}: of {tree}"
        else:
            prefix.ensure_headers(phase, mariadb)
    with reporter.phase("RocksDB") as phase:
        library = rocksdb.ensure(phase, plugin.sanitizer_of(preset))
    with reporter.phase("Build") as phase:
        plugin.build(phase, preset, mariadb, library)


@click.command()
@click.argument("part", type=click.Choice(PARTS), default="all")
def test(part: str) -> None:
    """Run the tests: lint, unit, tidy, sql (a server), crash (short), conformance, package.

    tidy is clang-tidy over what has changed. crash cuts DDL statements off and records histories of
    transactions; conformance runs the packaged tests of the stock plug-in that pass by the ledger;
    package makes the Debian package and tries it in clean systems.
    """
    from cairn import testing

    sys.exit(testing.run(part))


@click.command()
@click.argument("targets", nargs=-1, type=click.Choice(FUZZ_TARGETS))
@click.option("--seconds", type=click.IntRange(1), default=60, show_default=True)
@click.option(
    "--corpus",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where new inputs go, by target, instead of var/fuzz/corpus.",
)
@click.option("--save", is_flag=True, help="Choose the committed corpora anew afterwards.")
def fuzz(targets: tuple[str, ...], seconds: int, corpus: Path | None, save: bool) -> None:
    """Let libFuzzer look for stored bytes that are read wrongly (needs clang).

    TARGETS share the time; without any, all do. tests/fuzz/README.md says what each checks.
    """
    from cairn import fuzz as command

    sys.exit(command.run(targets or FUZZ_TARGETS, seconds, corpus, save=save))


@click.command()
@click.argument("statements", nargs=-1)
@click.option(
    "--engine",
    "engines",
    type=click.Choice(["cairn", "innodb", "stock"]),
    multiple=True,
    help="May be repeated; all three without it.",
)
@click.option(
    "--write-order",
    is_flag=True,
    help="Instead, write mariadb/function_order.ld: what runs, for the linker to put together.",
)
def instructions(
    statements: tuple[str, ...], engines: tuple[str, ...], *, write_order: bool
) -> None:
    """Count the instructions that kinds of statements take (under valgrind; some minutes)."""
    from cairn.instructions import command

    if write_order and (statements or engines):
        raise click.UsageError("--write-order takes all statements, with Cairn: give none.")
    sys.exit(command.write_order() if write_order else command.run(statements, engines))


@click.command()
@click.option(
    "--rocksdb", "with_rocksdb", is_flag=True, help="Of RocksDB as well, which is compiled for it."
)
def train(with_rocksdb: bool) -> None:
    """Note how often each branch of our own code is taken, for the compiler (a quarter of an hour).

    Replaces cmake/profile.tar.xz, and with --rocksdb cmake/rocksdb/profile.tar.xz (three quarters);
    the next build compiles by them.
    """
    from cairn import training

    sys.exit(training.run(with_rocksdb=with_rocksdb))


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit status 1 when a page is stale.")
def docs(check: bool) -> None:
    """Make docs/variables.md and docs/statuses.md from the tables in the source."""
    from cairn import docs as command

    sys.exit(command.run(check=check))


@click.command("format")
def format_code() -> None:
    """Lay out the code with clang-format and ruff."""
    from cairn import testing
    from cairn.report import Reporter

    testing.lay_out(Reporter())


@click.command()
@click.argument("tests", nargs=-1, metavar="[SUITE[.TEST]]...")
@click.option(
    "--plugin",
    "plugin_name",
    type=click.Choice(["cairn", "stock"]),
    default="cairn",
    show_default=True,
    help="The plug-in to test: ours, or the distribution's as the yardstick.",
)
@click.option("--repeat", type=click.IntRange(1), default=1, help="Run each test this many times.")
@click.option(
    "--combination",
    default="write_committed",
    show_default=True,
    help="Run the suites' variant of this name, where they have variants.",
)
@click.option("--all-combinations", is_flag=True, help="Run every variant.")
@click.option("--parallel", type=click.IntRange(1), default=2, show_default=True)
@click.option("--update-ledger", is_flag=True, help="Write what came out into the ledger.")
@click.option(
    "--engine-suites", is_flag=True, help="The server's suites for any engine, against InnoDB."
)
@click.option(
    "--foreign-keys",
    is_flag=True,
    help="The server's tests of InnoDB's foreign keys, with ROCKSDB.",
)
def conformance(
    tests: tuple[str, ...], engine_suites: bool, foreign_keys: bool, **options: Any
) -> None:
    """Run packaged test suites of the server and of the stock plug-in.

    Without arguments: the suites of the stock plug-in. The outcome is compared with
    tests/conformance/ledger.tsv; a test that does worse than it says makes the exit status 1.

    With --engine-suites each test runs with InnoDB and with ROCKSDB, which must give as much as
    InnoDB unless tests/conformance/engine_suites.tsv says why not.

    With --foreign-keys the packaged tests of foreign keys run with ROCKSDB in place of InnoDB. Each
    difference from InnoDB's result is in tests/conformance/foreign_keys.tsv, with its reason; one
    that is not there makes the exit status 1.
    """
    if engine_suites and foreign_keys:
        raise click.UsageError("--engine-suites and --foreign-keys are two runs.")
    if foreign_keys:
        from cairn import foreign_key_suites

        sys.exit(
            foreign_key_suites.run(
                tests, options["parallel"], update_ledger=options["update_ledger"]
            )
        )
    if engine_suites:
        from cairn import engine_suites as suites

        sys.exit(suites.run(tests, options["parallel"]))
    from cairn import conformance as command

    sys.exit(command.run(tests, command.Options(**options)))


@click.command()
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the package goes, instead of dist/.",
)
@click.option(
    "--server",
    "versions",
    multiple=True,
    metavar="VERSION",
    help="Build for this version of mariadb-server-core as well: 1:10.11.14-0+deb12u2. Repeatable.",
)
@click.option("--test", "tested", is_flag=True, help="Try it in clean systems (needs root).")
def package(output: Path | None, versions: tuple[str, ...], tested: bool) -> None:
    """Make the Debian package mariadb-plugin-cairn.

    It has a build for the server of ./cairn up, and for each version that --server names.
    """
    from cairn.package import build as command
    from cairn.report import Reporter

    made = command.make(Reporter(), (output or command.DIST).absolute(), versions)
    if tested:
        from tests.acceptance.package import run as acceptance

        sys.exit(acceptance.run(made.package, versions))


@click.command()
@click.argument("old")
@click.argument("new")
def abi(old: str, new: str) -> None:
    """Compare two versions of the server, as far as Cairn uses them.

    OLD and NEW are mariadbd programs, packages of mariadb-server-core, or versions of the archive
    such as 1:10.11.19-0+deb12u1. The exit status is 1 if they differ.
    """
    from cairn.package import compare as command

    sys.exit(command.run(old, new))


COMMANDS: tuple[click.Command, ...] = (
    build,
    package,
    abi,
    test,
    fuzz,
    instructions,
    train,
    docs,
    format_code,
    conformance,
)
