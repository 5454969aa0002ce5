"""The options that all benchmarks share."""

import click

from tarry.cli.input.option_group import option_group
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import json_option

bench_options = option_group(
    click.option(
        "--db",
        metavar="URL",
        help="A database for the benchmark alone. Default: a new SQLite file.",
    ),
    click.option(
        "--rounds",
        type=Whole(min=1),
        metavar="N",
        default=3,
        show_default=True,
        help="Report the best of N rounds.",
    ),
    json_option,
)
"""The database, the number of rounds, and the output format."""
