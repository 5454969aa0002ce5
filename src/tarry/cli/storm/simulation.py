"""Simulate a storm and show the results: the work of `tarry storm run` and `compare`."""

from pathlib import Path
from typing import NamedTuple, NoReturn

import click
from rich.console import Console

from tarry.cli.exit_codes import INTERRUPTED
from tarry.cli.output.progress import progress
from tarry.cli.storm.contestants import contestants
from tarry.cli.storm.pictures import plot_to, report_to
from tarry.cli.storm.results import as_json, show
from tarry.cli.storm.scenario_file import read_storm
from tarry.sim.study import study


class StormOptions(NamedTuple):
    """The options of a simulation; `command` is the command line that repeats it."""

    scenario: str
    policies: tuple[str, ...]
    seed: int
    runs: int
    as_json: bool
    report: Path | None
    plot: Path | None
    command: str


def run_simulation(options: StormOptions) -> None:
    """Simulate, then print and write the results. All input is checked before the simulation."""
    storm = read_storm(options.scenario)
    chosen = contestants(storm, options.policies)
    writers = [report_to(options.report, options.command)] if options.report else []
    writers += [plot_to(options.plot)] if options.plot else []
    with progress(storm.name, options.runs * len(chosen), Console(stderr=True)) as on_step:
        finished = study(storm, chosen, seed=options.seed, runs=options.runs, on_step=on_step)
    if not finished.runs:
        _exit_as_interrupted("before the first run was done: there is nothing to show")
    for write in writers:  # first, as the reader of the table may close the pipe
        write(finished)
    if options.as_json:
        click.echo(as_json(finished))
    else:
        show(finished, Console(highlight=False))
    if finished.runs < finished.asked:
        _exit_as_interrupted(f"after {finished.runs} of {finished.asked} runs")


def _exit_as_interrupted(when: str) -> NoReturn:
    """Report the interruption, and end the command."""
    click.echo(f"Interrupted {when}.", err=True)
    raise click.exceptions.Exit(INTERRUPTED)
