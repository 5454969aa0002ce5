"""`tarry explain`: show what a policy does, as a table with sentences or as JSON."""

import json
import math
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tarry.cli.extras import needed_for
from tarry.cli.input.policy_file import read_policy
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import json_option
from tarry.core.codec import to_dict
from tarry.core.duration import spoken
from tarry.core.explain import COUNTED_ATTEMPTS, Range, Row, schedule, sentences
from tarry.core.policy import Policy

NO_WAIT = Range(0.0, 0.0, 0.0)


@click.command(epilog="Exit codes: 0, success; 2, the file or the command line is wrong.")
@click.argument("policy_file", metavar="POLICY", type=click.Path(path_type=Path))
@json_option
@click.option(
    "--attempts",
    type=Whole(min=1, max=COUNTED_ATTEMPTS),
    metavar="N",
    help="Show up to N attempts (10,000 at most).",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.png|svg",
    help="Write a picture of the waits.",
)
def explain(policy_file: Path, *, as_json: bool, attempts: int | None, plot: Path | None) -> None:
    """Show the waits of POLICY, a .toml or .json file.

    For each attempt after the first, the table has the shortest, typical and longest wait before
    it, and the same for the sum of all waits so far.
    """
    policy = read_policy(policy_file)
    rows = schedule(policy, attempts)
    if plot:
        with needed_for("--plot"):
            from tarry.cli.storm.pictures import waits_to  # noqa: PLC0415  it needs the extra
        waits_to(plot)(policy, policy.name or policy_file.stem, attempts)
    if as_json:
        click.echo(json.dumps(_document(policy, rows), indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    if rows:
        console.print("Wait before each attempt, and all waits up to it:")
        console.print(_table(rows))
    if attempts is None and len(rows) < _retries(policy):
        console.print(f"The first {len(rows)} retries are shown.")
    for sentence in sentences(policy):
        console.print(sentence, markup=False, soft_wrap=True)


def _retries(policy: Policy) -> float:
    """Return how many times a policy retries at most."""
    return math.inf if policy.attempts is None else policy.attempts - 1


def _document(policy: Policy, rows: tuple[Row, ...]) -> dict[str, object]:
    """Return the policy and its waits for JSON."""
    return {
        "policy": to_dict(policy),
        "attempts": [
            {
                "attempt": row.attempt,
                "wait": _span_fields(row.wait),
                "total": _span_fields(row.total),
            }
            for row in rows
        ],
        "total": _span_fields(rows[-1].total if rows else NO_WAIT),
        "unlimited": policy.attempts is None,
    }


def _span_fields(span: Range) -> dict[str, float]:
    """Return a range as fields of the JSON output."""
    return {"least": span.least, "typical": span.typical, "most": span.most}


def _table(rows: tuple[Row, ...]) -> Table:
    """Return a table of the waits after each attempt."""
    table = Table()
    table.add_column("Attempt", justify="right")
    for part_name in ("wait", "total"):
        for which in _span_fields(NO_WAIT):
            table.add_column(f"{part_name.capitalize()}\n{which}", justify="right", no_wrap=True)
    for row in rows:
        parts = (*_span_fields(row.wait).values(), *_span_fields(row.total).values())
        table.add_row(str(row.attempt), *map(spoken, parts))
    return table
