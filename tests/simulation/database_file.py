"""A database file with open connections, which histories use one after the other.

Opening a new file for each history, and preparing all its statements, would take a tenth of the
time. The file is in memory if the machine has a memory file system: the disk is not simulated.
"""

import asyncio
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch
from weakref import finalize

import apsw

from tarry.service.store.sqlite.database import session, threads
from tarry.service.store.sqlite.database.connection import connect, connect_to_read
from tarry.service.store.sqlite.database.rows import Row
from tarry.service.store.sqlite.store import open_sqlite

IN_MEMORY = Path("/dev/shm")  # noqa: S108  a file system in memory, if it is there

Connect = Callable[[Path], apsw.Connection]


class DatabaseFile:
    """A file with the right schema, and the connections to it that were opened so far."""

    def __init__(self) -> None:
        where = IN_MEMORY if IN_MEMORY.is_dir() else None
        folder = Path(tempfile.mkdtemp(prefix="tarry-histories-", dir=where))
        finalize(self, shutil.rmtree, folder)
        self.path = folder / "hooks.db"
        asyncio.run(_make(self.path))
        self._free: defaultdict[Connect, list[apsw.Connection]] = defaultdict(list)
        self._lent: list[tuple[Connect, apsw.Connection]] = []
        self._db = connect(self.path)
        self._db.pragma("synchronous", "OFF")
        self._clearing = tuple(_clearing(self._db))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let the store use these connections inside the block."""
        with (
            patch.object(session, "connect", lambda _path: self.lend(connect)),
            patch.object(threads, "connect_to_read", lambda _path: self.lend(connect_to_read)),
        ):
            yield

    def clear(self) -> None:
        """Take back the connections, and reset the file to its initial rows."""
        for kind, db in self._lent:
            if _is_usable(db):
                self._free[kind].append(db)
        self._lent.clear()
        with self._db:
            for statement, rows in self._clearing:
                self._db.executemany(statement, rows)
        self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def lend(self, kind: Connect) -> apsw.Connection:
        """Return a connection that is free, or a new one, until the file is cleared."""
        free = self._free[kind]
        db = free.pop() if free else kind(self.path)
        db.pragma("synchronous", "OFF")
        self._lent.append((kind, db))
        return db


async def _make(path: Path) -> None:
    store = await open_sqlite(path)
    await store.close()


def _clearing(db: apsw.Connection) -> Iterator[tuple[str, list[Row]]]:
    """Yield the statements that leave in each table the rows it has now, with their parameters."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        rows = db.execute(f'SELECT * FROM "{table}"').fetchall()  # noqa: S608  its own tables
        yield f'DELETE FROM "{table}"', [()]  # noqa: S608  likewise
        if rows:
            places = ", ".join("?" * len(rows[0]))
            yield f'INSERT INTO "{table}" VALUES ({places})', rows  # noqa: S608  likewise


def _is_usable(db: apsw.Connection) -> bool:
    """Return whether a connection is open, and in no unfinished transaction."""
    try:
        return not db.in_transaction
    except apsw.ConnectionClosedError:
        return False
