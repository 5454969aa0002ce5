"""The options that every benchmark has."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

P = ParamSpec("P")
T = TypeVar("T")


def bench_options(command: Callable[P, T]) -> Callable[P, T]:
    """Give a benchmark a database, its rounds, and a say in how it prints."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
        click.option(
            "--rounds",
            type=click.IntRange(min=1),
            default=3,
            show_default=True,
            help="The best of so many counts.",
        ),
        click.option(
            "--db",
            metavar="URL",
            help="A database that nobody else uses; a new SQLite file if none is named.",
        ),
    ):
        command = option(command)
    return command
