"""Do for many rows what a query does for one, by few statements.

SQLite lets other threads run during a statement. With one for each row the writer would have to
wait its turn again after each of them, while the loop's thread reads what comes in next.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import apsw

from tarry.service.store.sqlite.rows import Row

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 500)
"""How many rows a statement may have. The next that is wide enough is taken, and filled up."""
LONGEST = 16 * 1024
"""Characters: a longer statement would be prepared anew each time, apsw keeps none that long."""

_ROW = re.compile(r"VALUES (\([?, ]+\))")


def write(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> None:
    """Have a query with the placeholders of one row, `VALUES (?, ?)`, done for these.

    To fill up, rows of nothing but NULL come behind them: the query has to pass over these.
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
    """The same query for so many rows."""
    head, row, tail = _ROW.split(sql)
    return f"{head}VALUES {','.join([row.replace(' ', '')] * width)}{tail}"
