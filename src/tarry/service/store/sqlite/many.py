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

WIDTHS = (500, 256, 128, 64, 32, 16, 8, 4, 2, 1)
"""How many rows a statement may have; the widest that fit are taken first."""
LONGEST = 16 * 1024
"""Characters: a longer statement would be prepared anew each time, apsw keeps none that long."""

_ROW = re.compile(r"VALUES (\([?, ]+\))")


def write(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> None:
    """Have a query with the placeholders of one row, `VALUES (?, ?)`, done for these."""
    at = 0
    for width in _widths(sql):
        end = len(rows) - (len(rows) - at) % width
        for part in range(at, end, width):
            wide = tuple(chain.from_iterable(rows[part : part + width]))
            db.execute(widened(sql, width), wide)
        at = end


@lru_cache(maxsize=100)
def _widths(sql: str) -> tuple[int, ...]:
    return tuple(width for width in WIDTHS if len(widened(sql, width)) <= LONGEST)


@lru_cache(maxsize=100)
def widened(sql: str, width: int) -> str:
    """The same query for so many rows."""
    head, row, tail = _ROW.split(sql)
    return f"{head}VALUES {','.join([row.replace(' ', '')] * width)}{tail}"
