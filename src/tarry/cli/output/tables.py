"""Show a server's responses: tables for people, JSON for programs."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tarry.cli.input.times import describe, describe_due
from tarry.cli.output.safe_text import plain

WIDTH = 100
"""The width of tables that go into a file or to another program."""
PAYLOAD = "payload"
"""The field that holds the sender's own JSON, and is shown as JSON."""
NARROW = 80
"""In a window narrower than this, columns would be a few letters wide."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
CellText = Callable[[Mapping[str, Any]], str]
Columns = Mapping[str, str | CellText]
"""The header of each column, with the name of its field or a function that fills its cell."""


def known_as(row: Mapping[str, object]) -> str:
    """Return what a thing is called: its uid, or its id if it has none."""
    return str(row.get("uid") or row["id"])


def console() -> Console:
    """Return the console for tables, as wide as the window."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def time_cell(field: str) -> CellText:
    """Return a function that fills a cell with an instant."""
    return lambda row: describe(row.get(field))


def due_cell(field: str) -> CellText:
    """Return a function that fills a cell with an instant when something is due."""
    return lambda row: describe_due(row.get(field))


def print_fields(row: Mapping[str, object]) -> None:
    """Print one thing for people: a line for each field that is not empty or outdated."""
    print_pairs(
        {
            label(name): format_value(name, value)
            for name, value in row.items()
            if name == PAYLOAD or _is_worth_showing(name, value)
        }
    )


def _is_worth_showing(field: str, value: object) -> bool:
    """Return whether a field has a value that people want to see."""
    return field not in _SAID and value not in (None, "", [], {}) and value is not False


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values, one pair per line."""
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs.items():
        grid.add_row(Text(plain(name)), Text(plain(value)))
    if pairs:
        _print(grid)


def label(field: str) -> str:
    """Return a field's name in words.

    >>> label("eventTypes")
    'event types'
    """
    return _CALLED.get(field) or _HUMP.sub(lambda hump: f" {hump[0].lower()}", field)


_CALLED = {
    "createdAt": "created",
    "throttleRate": "rate",
    "timestamp": "accepted",
    "updatedAt": "updated",
}
"""Fields that options and columns call by another word."""
_HUMP = re.compile(r"(?<=[a-z])[A-Z]")
_SAID = frozenset({"disabled", "filterTypes", "rateLimit", "version"})
"""Fields that only repeat what a newer field says."""


def print_table(rows: Iterable[Mapping[str, object]], columns: Columns) -> int:
    """Print a table for people, and return its number of rows; in a narrow window, print lines."""
    cells = [[_cell(row, source) for source in columns.values()] for row in rows]
    drawn = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        drawn.add_column(name, overflow="fold", no_wrap=name in _WHOLE)
    for row in cells:
        drawn.add_row(*(Text(plain(cell)) for cell in row))
    if cells and _fits(drawn):
        _print(drawn)
        return len(cells)
    for number, row in enumerate(cells):
        if number:
            click.echo()
        print_pairs({name: cell for name, cell in zip(columns, row, strict=True) if cell})
    return len(cells)


def _fits(drawn: Table) -> bool:
    """Return whether a table fits; in a wide window it does, since its cells can fold."""
    screen = console()
    endless = screen.options.update(width=10_000)
    return screen.width >= NARROW or screen.measure(drawn, options=endless).maximum <= screen.width


def _print(shown: Table) -> None:
    """Print without rich's trailing spaces, which would end up in files."""
    with (screen := console()).capture() as drawn:
        screen.print(shown)
    lines = [line.rstrip() for line in drawn.get().splitlines()]
    click.echo("\n".join(lines).strip("\n"))


_WHOLE = frozenset({"Id", "Message", "Endpoint"})
"""Columns whose values people copy, so they are never broken across lines."""


def print_json_lines(rows: Iterable[object]) -> int:
    """Print one JSON object per line as they come, and return how many there were."""
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007  only the last count is used
        written = isinstance(row, str)
        click.echo(row if written else json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    return count


def format_value(name: str, value: object) -> str:
    """Format a value for people; the name says whether a text is an instant."""
    if isinstance(value, str):
        return describe(value) if name.endswith(("At", "timestamp", "Since", "Attempt")) else value
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and name != PAYLOAD and _all_text(value):
        return ", ".join(f"{key}={part}" for key, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False)


def _all_text(item: Mapping[str, object]) -> bool:
    """Return whether all values are text."""
    return all(isinstance(part, str) for part in item.values())


def _cell(row: Mapping[str, object], source: str | CellText) -> str:
    """Return the text of a cell: a field of the row, or what a function makes of the row."""
    if callable(source):
        return source(row)
    value = row.get(source)
    return "" if value is None else format_value(source, value)
