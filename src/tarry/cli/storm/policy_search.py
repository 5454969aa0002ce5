"""Search for a policy for a wish and show it: the work of `tarry recommend`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import click
from rich.console import Console

from tarry.cli.exit_codes import FAILED, INTERRUPTED, WRONG
from tarry.cli.output.output_file import check, write_file
from tarry.cli.output.progress import progress
from tarry.cli.storm.recommendation import as_json, show
from tarry.core.policy import Policy
from tarry.core.text import to_json, to_toml
from tarry.errors import ScenarioError
from tarry.sim.recommend.recommendation import recommend, steps
from tarry.sim.recommend.wish import Wish

WRITERS = {".toml": to_toml, ".json": to_json}


class BadWish(click.ClickException):
    """The wish makes no sense."""

    exit_code = WRONG


class SearchOptions(NamedTuple):
    """The options of a search: the wish, how to search, and what to do with the result."""

    wish: Mapping[str, object]
    seed: int
    runs: int
    as_json: bool
    save: Path | None


def search_policy(options: SearchOptions) -> None:
    """Search, then print and write the results. All input is checked before the search."""
    wish = _wish(options.wish)
    if options.save:
        check("--save", options.save, WRITERS)
    with progress("recommend", steps(wish, options.runs), Console(stderr=True)) as on_step:
        recommendation = recommend(wish, seed=options.seed, runs=options.runs, on_step=on_step)
    if recommendation is None:
        click.echo("Interrupted before anything was known: there is nothing to show.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if options.save and recommendation.complete:
        # Save first, because the reader of the output may close the pipe.
        _save(options.save, recommendation.policy)
    if options.as_json:
        click.echo(as_json(recommendation))
    else:
        show(recommendation, Console(highlight=False))
    if not recommendation.complete:
        unsaved = " Nothing was saved." if options.save else ""
        click.echo(f"Interrupted: this is what was known by then.{unsaved}", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    if not recommendation.feasible:
        raise click.exceptions.Exit(FAILED)


def _wish(typed: Mapping[str, object]) -> Wish:
    """Return the wish made of the options; BadWish names the option that is wrong."""
    try:
        return Wish(**cast("dict[str, Any]", dict(typed)))  # Wish checks its fields itself
    except ScenarioError as error:
        raise BadWish(f"'--{error.field}' is {error.value!r}; it must be {error.wanted}") from None


def _save(path: Path, policy: Policy) -> None:
    """Write a policy to a file, in the format that the suffix names."""
    text = WRITERS[path.suffix.lower()](policy)
    write_file(path, lambda: path.write_text(text, encoding="utf-8"))
