"""Open a database file with the settings that durability and speed depend on."""

import time
from itertools import count
from pathlib import Path

import apsw

APPLICATION_ID = int.from_bytes(b"tarr", "big")
BUSY = 5.0
"""Seconds to wait for a lock that another process has."""
AGAIN = 0.002
"""Seconds between two looks at it. SQLite's own become ever rarer, up to a tenth of a second: where
one process commits all the time, the others found it taken again and again, for seconds."""
CACHE_KB = 4_096
"""Pages that each connection keeps: the system has them too, and more of them made nothing faster,
for whoever writes or for whoever reads."""
WAL_KEPT_BYTES = 64 * 1024 * 1024
STATEMENTS = 300
"""How many prepared statements a connection keeps: more than this store has queries, those for many
rows counted once for each width."""


def connect(path: Path, *, create: bool = False) -> apsw.Connection:
    """A connection for somebody who writes; only `create` makes a file that is not there."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    db = apsw.Connection(str(path), flags=flags, statementcachesize=STATEMENTS)
    try:
        # Else a query with a join is planned anew whenever it is asked with another value, which
        # takes ten times as long as the answer. The plans here do not depend on values.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        db.set_busy_handler(Patience())
        if not is_another_programs(db):  # which is not to be changed, not even in this
            _write_ahead(db)
        db.pragma("synchronous", "FULL")
        db.pragma("cache_size", -CACHE_KB)
        db.pragma("temp_store", "MEMORY")
        # A log that a long read let grow is cut back once it was copied into the file.
        db.pragma("journal_size_limit", WAL_KEPT_BYTES)
    except BaseException:
        db.close()
        raise
    return db


class Patience:
    """Waits for a lock for a while: called when it is not free, with how often it was before."""

    def __init__(self) -> None:
        self._until = 0.0

    def __call__(self, times: int) -> bool:
        """Wait a little; whether to look again."""
        now = time.monotonic()
        if times == 0:
            self._until = now + BUSY
        if now >= self._until:
            return False
        time.sleep(AGAIN)
        return True


def _write_ahead(db: apsw.Connection) -> None:
    """Let the file have a write-ahead log, which it then keeps.

    Who changes this reads first and then wants the file alone. Of two who do so at once SQLite
    refuses one without waiting, lest they wait for each other; it has let go by then, so that
    asking again will do.
    """
    patience = Patience()
    for times in count():
        try:
            db.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if not patience(times):
                raise
        else:
            return


def is_another_programs(db: apsw.Connection) -> bool:
    """Whether a file has tables that tarry did not make."""
    has_tables = db.pragma("schema_version") != 0
    return bool(has_tables and db.pragma("application_id") != APPLICATION_ID)


def connect_to_read(path: Path) -> apsw.Connection:
    """A connection that sees a snapshot while it reads, and can change nothing."""
    db = connect(path)
    db.pragma("query_only", value=True)
    return db
