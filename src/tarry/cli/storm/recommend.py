"""`tarry recommend`: find a policy for a wish, with the evidence. This file has the options."""

from pathlib import Path
from typing import TypedDict, Unpack

import click

from tarry.cli.extras import needed_for
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import json_option

EXIT_CODES = (
    "Exit codes: 0, a policy meets the requirements; 1, none does, and the best one is shown; 2, "
    "the command line is wrong; 130, Ctrl-C."
)
MOST_RUNS = 10_000


class WishOptions(TypedDict):
    """The fields of the wish; how to search is passed separately."""

    clients: int
    capacity: float
    outage: float
    latency: float
    endpoint: str


@click.command(epilog=EXIT_CODES)
@click.option("--clients", type=int, required=True, metavar="N", help="Clients that fail at once.")
@click.option(
    "--capacity",
    type=float,
    required=True,
    metavar="C",
    help="Requests that the service can handle a second.",
)
@click.option(
    "--outage", type=float, required=True, metavar="SECONDS", help="How long the service is down."
)
@click.option(
    "--latency",
    type=float,
    required=True,
    metavar="SECONDS",
    help="All clients should be served this soon after the outage.",
)
@click.option(
    "--endpoint",
    type=click.Choice(["shed", "brittle", "degrade"]),
    default="brittle",
    show_default=True,
    help="Above its capacity the service refuses the rest, fails altogether, or serves ever less.",
)
@click.option(
    "--seed",
    type=Whole(min=0),
    metavar="N",
    default=1,
    show_default=True,
    help="Seed of the random numbers. The same seed gives the same answer.",
)
@click.option(
    "--runs",
    type=Whole(min=2, max=MOST_RUNS),
    metavar="N",
    default=20,
    show_default=True,
    help="Runs to predict from; fewer where one takes long.",
)
@json_option
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE.toml|json",
    help="Write the recommended policy to a file.",
)
def recommend(
    *, seed: int, runs: int, as_json: bool, save: Path | None, **wish_options: Unpack[WishOptions]
) -> None:
    """Find a policy for clients that all fail at once.

    This happens when an outage begins. The command simulates the outage with many policies, all
    with the same random numbers. It shows the policies that no other one beats in recovery, load
    and attempts at once, and recommends one policy.
    """
    with needed_for("the simulator"):
        from tarry.cli.storm.policy_search import SearchOptions, search_policy  # noqa: PLC0415  it needs the extra
    search_policy(SearchOptions(dict(wish_options), seed, runs, as_json, save))
