"""The options that every benchmark has."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from tarry.cli.ranges import Whole
from tarry.cli.show import json_option

P = ParamSpec("P")
T = TypeVar("T")


def bench_options(command: Callable[P, T]) -> Callable[P, T]:
    """Give a benchmark a database, its rounds, and a say in how it prints."""
    for option in (
        json_option,
        click.option(
            "--rounds",
            type=Whole(min=1),
            metavar="N",
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
