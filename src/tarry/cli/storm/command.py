"""`tarry storm`: simulate what policies do to a service. This file has the commands."""

import json
import shlex
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypedDict, Unpack

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tarry.cli.extras import needed_for
from tarry.cli.input.option_group import option_group
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import json_option

EXIT_CODES = "Exit codes: 0, success; 2, the command line or a file is wrong; 130, Ctrl-C."
MOST_RUNS = 100_000
THE_SIMULATOR = "the simulator"
POLICY = "--policy"


class RunOptions(TypedDict):
    """The options of `run` and `compare`."""

    scenario: str
    policies: tuple[str, ...]
    seed: int
    runs: int
    as_json: bool
    report: Path | None
    plot: Path | None


class SimulationCommand(click.Command):
    """A command in which every argument after SCENARIO is a policy, in the order typed.

    So `--policy a.toml b.toml` names two, and so does `--policy a.toml --policy b.toml`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the option before each policy that was typed without it."""
        return super().parse_args(ctx, list(self._spelled_out(args)))

    def _spelled_out(self, args: list[str]) -> Iterator[str]:
        """Yield the arguments with `--policy` before each policy that was typed without it."""
        takes_value = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        remaining = deque(args)
        scenario = False
        while remaining:
            typed = remaining.popleft()
            if typed.startswith("-"):
                yield typed
                if typed in takes_value and remaining:
                    yield remaining.popleft()
            elif scenario:
                yield from (POLICY, typed)
            else:
                scenario = True
                yield typed


def complete(
    _context: click.Context, _argument: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete a scenario: the names of shipped ones, else files."""
    with needed_for(THE_SIMULATOR):
        from tarry.sim.shipped import names  # noqa: PLC0415  it needs the extra
    items = [CompletionItem(name) for name in names() if name.startswith(typed)]
    return items or [CompletionItem(typed, type="file")]


def _simulation_options(metavar: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add what `run` and `compare` have in common; `metavar` shows their arguments in the help."""
    return option_group(
        click.argument("scenario", metavar=metavar, shell_complete=complete),
        click.option(
            "--seed",
            type=Whole(min=0),
            metavar="N",
            default=1,
            show_default=True,
            help="Seed of the random numbers. The same seed gives the same results.",
        ),
        click.option(
            "--runs",
            type=Whole(min=1, max=MOST_RUNS),
            metavar="N",
            default=20,
            show_default=True,
            help="Number of runs, each with its own random numbers.",
        ),
        json_option,
        click.option(
            "--report",
            type=click.Path(path_type=Path),
            metavar="FILE.html",
            help="Write a page with tables and pictures, all in one file.",
        ),
        click.option(
            "--plot",
            type=click.Path(path_type=Path),
            metavar="FILE.png|svg",
            help="Write a picture.",
        ),
    )


@click.group(epilog=EXIT_CODES)
def storm() -> None:
    """See what a policy does to a service, before it ships.

    SCENARIO is a .toml file, or a name that `tarry storm list` shows. A policy is a .toml or .json
    file, the name of one in the scenario, or `paced`, the pacer of a webhook lane.
    """


@storm.command(cls=SimulationCommand, epilog=EXIT_CODES)
@_simulation_options("SCENARIO [POLICY ...]")
@click.option(
    POLICY,
    "policies",
    multiple=True,
    metavar="POLICY ...",
    help="A policy to simulate; repeat for several. Default: the policies of the scenario.",
)
def run(**options: Unpack[RunOptions]) -> None:
    """Simulate policies under SCENARIO and show the results."""
    _simulate("run", **options)


@storm.command(cls=SimulationCommand, epilog=EXIT_CODES)
@_simulation_options("SCENARIO POLICY ...")
@click.option(POLICY, "policies", multiple=True, hidden=True)
def compare(**options: Unpack[RunOptions]) -> None:
    """Compare every POLICY under SCENARIO.

    All policies get the same random numbers.
    """
    if not options["policies"]:
        raise click.UsageError("Missing argument 'POLICY ...': name the policies to compare.")
    _simulate("compare", **options)


@storm.command(name="list", epilog=EXIT_CODES)
@json_option
def list_scenarios(*, as_json: bool) -> None:
    """List the scenarios that come with tarry."""
    with needed_for(THE_SIMULATOR):
        from tarry.sim.shipped import names, shipped  # noqa: PLC0415  it needs the extra
    storms = [shipped(name) for name in names()]
    if as_json:
        rows = [
            {"name": listed.name, "model": listed.model, "about": listed.about} for listed in storms
        ]
        click.echo(json.dumps({"scenarios": rows}, indent=2, ensure_ascii=False))
        return
    table = Table()
    for title in ("Scenario", "Model", "About"):
        table.add_column(title, no_wrap=title == "Scenario")
    for listed in storms:
        table.add_row(listed.name, listed.model, Text(listed.about))
    Console(highlight=False).print(table)


@storm.command(epilog=EXIT_CODES)
@click.argument("scenario", metavar="SCENARIO", shell_complete=complete)
def show(scenario: str) -> None:
    """Print the file of SCENARIO, to start one of your own from."""
    with needed_for(THE_SIMULATOR):
        from tarry.cli.storm.scenario_file import read_storm  # noqa: PLC0415  it needs the extra
    click.echo(read_storm(scenario).text, nl=False)


def _simulate(verb: str, **options: Unpack[RunOptions]) -> None:
    """Import the simulator and run a storm with the options that were typed."""
    with needed_for(THE_SIMULATOR):
        from tarry.cli.storm.simulation import StormOptions, run_simulation  # noqa: PLC0415  it needs the extra
    run_simulation(StormOptions(**options, command=_command(verb, options)))


def _command(verb: str, options: RunOptions) -> str:
    """Return the command line that gives the same numbers again, even if defaults change."""
    policies = [word for policy in options["policies"] for word in (POLICY, policy)]
    named = policies if verb == "run" else options["policies"]
    rest = ["--seed", str(options["seed"]), "--runs", str(options["runs"])]
    return shlex.join(["tarry", "storm", verb, options["scenario"], *named, *rest])
