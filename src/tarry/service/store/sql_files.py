"""Read the SQL of a store: named queries, each with a comment that says its purpose.

A file in a dialect's folder `sql/` holds queries such as

    -- name: settle
    -- Close a delivery; the number of tries is the fence.
    UPDATE delivery SET ... ;

Both dialects use the same names, and a name is the store's method (or a step of it). SQL that
several queries of a file share is a part: `-- part: fits` replaces `{fits}` in these queries.
"""

import re
from collections.abc import Mapping
from importlib.resources import files

from msgspec import Struct

_HEADING = re.compile(r"^-- (name|part): *(\S*) *$", re.MULTILINE)
_PART = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_ORDER = re.compile(r"(?<=ORDER BY )[a-z_.]+(?:, [a-z_.]+)*$", re.MULTILINE)


class Query(Struct, frozen=True):
    """A named query: its purpose, and its SQL without the semicolon at the end."""

    name: str
    purpose: str
    sql: str


def parse(text: str, where: str = "SQL") -> list[Query]:
    """Return the queries in a text; ValueError says what is wrong, and `where`."""
    head, *rest = _HEADING.split(text)
    if any(line and not line.startswith("--") for line in map(str.strip, head.splitlines())):
        raise ValueError(f"{where}: there is SQL before the first '-- name: ...'")
    queries, parts = list[Query](), dict[str, str]()
    for kind, name, body in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        query = _query(name, _fill_in(body.strip(), parts, where), where)
        if kind == "part":
            parts[name] = query.sql
        else:
            queries.append(query)
    return queries


def load(package: str) -> dict[str, Query]:
    """Return all queries in the folder `sql` of a package by name; names must be unique."""
    queries: dict[str, Query] = {}
    folder = files(package) / "sql"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".sql"):
            continue
        for query in parse(file.read_text(encoding="utf-8"), file.name):
            if query.name in queries:
                raise ValueError(f"{file.name}: there is another query {query.name!r} already")
            queries[query.name] = query
    return queries


def downwards(sql: str) -> str:
    """Return a query with every `ORDER BY columns` at the end of a line in descending order."""
    descending, orders = _ORDER.subn(
        lambda columns: f"{columns[0].replace(',', ' DESC,')} DESC", sql
    )
    if not orders:
        raise ValueError(f"there is no line with 'ORDER BY columns' at its end to turn in: {sql}")
    return descending


def _fill_in(body: str, parts: Mapping[str, str], where: str) -> str:
    """Return a query with its parts filled in; they must come before it in the file."""
    for name in _PART.findall(body):
        if name not in parts:
            raise ValueError(f"{where}: there is no '-- part: {name}' before it is used")
    return _PART.sub(lambda reference: parts[reference[1]], body)


def _query(name: str, body: str, where: str) -> Query:
    """Return the query with its name, purpose and text; ValueError says what it lacks."""
    if not _WORD.fullmatch(name):
        raise ValueError(f"{where}: {name!r} is no name: it must be lower case words joined by _")
    lines = body.splitlines()
    comments = 0
    while comments < len(lines) and lines[comments].startswith("-- "):
        comments += 1
    purpose = " ".join(line.removeprefix("-- ").strip() for line in lines[:comments])
    if not purpose:
        raise ValueError(f"{where}: query {name!r} needs a line '-- ...' that says what it is for")
    sql = "\n".join(lines[comments:]).strip().removesuffix(";").rstrip()
    if not sql:
        raise ValueError(f"{where}: query {name!r} has no SQL")
    return Query(name, purpose, sql)
