"""Run a query that takes one row for many rows, with few statements.

SQLite lets other threads run during a statement. With one statement for each row, the writer would
wait for the interpreter after each of them, while the loop's thread handles incoming requests.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import apsw

from tarry.service.store.sqlite.rows import Row

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 500)
"""Row counts of a statement. The smallest that is large enough is used, and padded with NULLs."""
LONGEST = 16 * 1024
"""Characters of a statement: apsw does not cache longer ones, so they are prepared each time."""

_ROW = re.compile(r"VALUES (\([?, ]+\))")


def write(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> None:
    """Run a query with the placeholders of one row, `VALUES (?, ?)`, for all these rows.

    Rows of NULLs are added to fill up a statement, and the query must ignore them.
    """
    widths = _widths(sql)
    for start in range(0, len(rows), widths[-1]):
        part = rows[start : start + widths[-1]]
        width = next(width for width in widths if width >= len(part))
        nothing = (None,) * (len(part[0]) * (width - len(part)))
        db.execute(widened(sql, width), (*chain.from_iterable(part), *nothing))


@lru_cache(maxsize=100)
def _widths(sql: str) -> tuple[int, ...]:
    return tuple(width for width in WIDTHS if len(widened(sql, width)) <= LONGEST)


@lru_cache(maxsize=100)
def widened(sql: str, width: int) -> str:
    """Return the query for `width` rows."""
    head, row, tail = _ROW.split(sql)
    return f"{head}VALUES {','.join([row.replace(' ', '')] * width)}{tail}"
