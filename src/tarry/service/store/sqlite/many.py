"""Insert many rows by few statements.

SQLite lets other threads run during a statement. With one for each row the writer would have to
wait its turn again after each of them, while the loop's thread reads what comes in next.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import apsw

from tarry.service.store.sqlite.rows import Row

WIDTHS = (500, 64, 8, 1)
"""How many rows a statement may have; the widest that fit are taken first.

One of more than 16 KiB would be prepared anew each time: apsw keeps none that long.
"""


def insert(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> None:
    """Insert rows by a query that ends with the placeholders of one, `VALUES (?, ?)`."""
    at = 0
    for width in WIDTHS:
        end = len(rows) - (len(rows) - at) % width
        if at < end:
            parts = range(at, end, width)
            wide = (tuple(chain.from_iterable(rows[part : part + width])) for part in parts)
            db.executemany(widened(sql, width), wide)
        at = end


@lru_cache(maxsize=100)
def widened(sql: str, width: int) -> str:
    """The same query for so many rows."""
    head, values, one = sql.rpartition("VALUES")
    return head + values + ",".join([one.replace(" ", "")] * width)
