"""Play a storm and tell what came of it: what `tarry storm run` and `compare` do."""

from pathlib import Path
from typing import NamedTuple, NoReturn

import click
from rich.console import Console

from tarry.cli.contestants import contestants
from tarry.cli.pictures import plot_to, report_to
from tarry.cli.progress import progress
from tarry.cli.results import as_json, show
from tarry.cli.scenario_file import read_storm
from tarry.sim.study import study

INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C has ended."""


class Wish(NamedTuple):
    """What was asked for; `command` repeats it."""

    scenario: str
    policies: tuple[str, ...]
    seed: int
    runs: int
    as_json: bool
    report: Path | None
    plot: Path | None
    command: str


def play(wish: Wish) -> None:
    """Simulate, and print and write what was asked for. All that can be wrong is found before."""
    storm = read_storm(wish.scenario)
    chosen = contestants(storm, wish.policies)
    writers = [report_to(wish.report, wish.command)] if wish.report else []
    writers += [plot_to(wish.plot)] if wish.plot else []
    with progress(storm.name, wish.runs * len(chosen), Console(stderr=True)) as on_step:
        found = study(storm, chosen, seed=wish.seed, runs=wish.runs, on_step=on_step)
    if not found.runs:
        _interrupted("before the first run was done: there is nothing to show")
    if wish.as_json:
        click.echo(as_json(found))
    else:
        show(found, Console(highlight=False))
    for write in writers:
        write(found)
    if found.runs < found.asked:
        _interrupted(f"after {found.runs} of {found.asked} runs")


def _interrupted(when: str) -> NoReturn:
    click.echo(f"Interrupted {when}.", err=True)
    raise click.exceptions.Exit(INTERRUPTED)
