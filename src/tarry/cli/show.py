"""What a server answered: tables for people, JSON for programs."""

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

from tarry.cli.moments import due, told
from tarry.cli.plain import plain

WIDTH = 100
"""Of tables that go into a file or another program."""
PAYLOAD = "payload"
"""The field that is somebody else's JSON, and is shown as that."""
NARROW = 80
"""Of a window: in one that is narrower, columns would be a few letters each."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
Cell = Callable[[Mapping[str, Any]], str]
Columns = Mapping[str, str | Cell]
"""What stands above each column, and the field it is from or how it is made."""


def known_as(row: Mapping[str, Any]) -> str:
    """What a thing is called: by its owner's id if it has one."""
    return str(row.get("uid") or row["id"])


def console() -> Console:
    """Where tables are printed: as wide as the window."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def at(field: str) -> Cell:
    """A cell with an instant."""
    return lambda row: told(row.get(field))


def next_at(field: str) -> Cell:
    """A cell with the instant of what will happen."""
    return lambda row: due(row.get(field))


def one(row: Mapping[str, Any]) -> None:
    """Print a thing for people: a line for each of its fields that says something."""
    pairs(
        {
            label(name): cell(name, value)
            for name, value in row.items()
            if name == PAYLOAD or _tells(name, value)
        }
    )


def _tells(field: str, value: object) -> bool:
    return field not in _SAID and value not in (None, "", [], {}) and value is not False


def pairs(said: Mapping[str, str]) -> None:
    """Print names and values, a line for each."""
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in said.items():
        grid.add_row(Text(plain(name)), Text(plain(value)))
    if said:
        _print(grid)


def label(field: str) -> str:
    """A field's name as people write it.

    >>> label("eventTypes")
    'event types'
    """
    return _CALLED.get(field) or _HUMP.sub(lambda hump: f" {hump[0].lower()}", field)


_CALLED = {
    "createdAt": "made",
    "throttleRate": "rate",
    "timestamp": "accepted",
    "updatedAt": "changed",
}
"""Fields that options and columns have another word for."""
_HUMP = re.compile(r"(?<=[a-z])[A-Z]")
_SAID = frozenset({"disabled", "filterTypes", "rateLimit", "version"})
"""Fields that say nothing which is not there under a newer name as well."""


def table(rows: Iterable[Mapping[str, Any]], columns: Columns) -> int:
    """Print a list for people; how many there were. In a narrow window each is a few lines."""
    cells = [[_filled(row, source) for source in columns.values()] for row in rows]
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
        pairs({name: cell for name, cell in zip(columns, row, strict=True) if cell})
    return len(cells)


def _fits(drawn: Table) -> bool:
    """Whether there is room for a table; in a wide window some of its cells are folded."""
    screen = console()
    endless = screen.options.update(width=10_000)
    return screen.width >= NARROW or screen.measure(drawn, options=endless).maximum <= screen.width


def _print(shown: Table) -> None:
    """Print without what rich fills up with: a window takes no harm from it, a file does."""
    with (screen := console()).capture() as drawn:
        screen.print(shown)
    lines = [line.rstrip() for line in drawn.get().splitlines()]
    click.echo("\n".join(lines).strip("\n"))


_WHOLE = frozenset({"Id", "Message", "Endpoint"})
"""Columns whose words are copied, and so not broken."""


def lines(rows: Iterable[object]) -> int:
    """Print a list for programs, an object a line as it comes; how many there were."""
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007  counted
        written = isinstance(row, str)
        click.echo(row if written else json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    return count


def cell(name: str, value: object) -> str:
    """A value for people; what a name says to be an instant is told as one."""
    if isinstance(value, str):
        return told(value) if name.endswith(("At", "timestamp", "Since", "Attempt")) else value
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and name != PAYLOAD and _all_text(value):
        return ", ".join(f"{key}={part}" for key, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False)


def _all_text(said: Mapping[str, object]) -> bool:
    return all(isinstance(part, str) for part in said.values())


def _filled(row: Mapping[str, Any], source: str | Cell) -> str:
    if callable(source):
        return source(row)
    value = row.get(source)
    return "" if value is None else cell(source, value)
