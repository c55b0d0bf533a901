"""The options of ./cairn bench; what they do is imported when it runs, so that --help is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click


class _RunByDefault(click.Group):
    """A group in which `run` need not be written."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if not arguments or (arguments[0] not in self.commands and arguments[0] not in _HELP):
            arguments = ["run", *arguments]
        return super().parse_args(context, arguments)


_HELP = ("-h", "--help")
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(cls=_RunByDefault, no_args_is_help=False)
def bench() -> None:
    """Measure Cairn, InnoDB and the stock plug-in side by side.

    ./cairn bench means ./cairn bench run, whose --help lists what can be chosen; begin with ./cairn
    bench --quick.
    """


@bench.command("run")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="A meaningful part, in less than 5 minutes.")
@click.option("--floors", is_flag=True, help="What the project has promised ratios for.")
@click.option("--list", "lists", is_flag=True, help="List the names and the time they take.")
@click.option("--engines", default="cairn,innodb,stock", show_default=True, metavar="LIST")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--threads", metavar="LIST", help="Numbers of clients, such as 1,4,16.")
@click.option("--seconds", type=click.IntRange(1, 86400), help="The length of a measured run.")
@click.option("--rows", type=click.IntRange(1000), help="The rows of a table.")
@click.option("--tables", type=click.IntRange(1, 1000), help="How many tables sysbench makes.")
@click.option(
    "--memory",
    type=click.IntRange(0),
    metavar="MIB",
    help="The cache of each engine, in MiB; of tpcc and insert-large all that a server has.",
)
@click.option("--iops", type=click.IntRange(0), help="Of the slow disk of tpcc; 0: no limit.")
@click.option("--mb-per-s", type=click.IntRange(0), help="Of the slow disk of tpcc; 0: no limit.")
@click.option("--warehouses", type=click.IntRange(1, 10_000), help="The size of tpcc.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the results go, instead of var/bench/DATE.",
)
def run(**options: Any) -> None:
    """Run workloads on each engine in turn, round after round.

    NAME is a workload (sysbench-durable), a case (oltp_point_select/2), a case at any number of
    threads (oltp_point_select) or both (sysbench-durable/oltp_point_select); * stands for any part.
    Without names everything runs, for hours: the estimate is said first.
    """
    from cairn.bench import bench as command

    sys.exit(command.run(command.Wish(**options)))


@bench.command("compare")
@click.argument("before", type=_FILE)
@click.argument("after", type=_FILE)
def compare(before: Path, after: Path) -> None:
    """Compare the ratios of two runs: BEFORE and AFTER are their files results.json."""
    from cairn.bench import compare as command

    sys.exit(command.run(before, after))
