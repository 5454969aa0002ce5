"""Open a database file with the settings that durability and speed depend on."""

import time
from itertools import count
from pathlib import Path

import apsw

from tarry.service.store.sqlite.database.private_file import create_private

APPLICATION_ID = int.from_bytes(b"tarr", "big")
LOCK_WAIT_SECONDS = 5.0
"""How long to wait for a lock that another process has."""
LOCK_RETRY_SECONDS = 0.002
"""The pause between two tries to get the lock. SQLite's own pauses grow to a tenth of a second:
with them, a process missed every gap for seconds while another one committed all the time."""
CACHE_KB = 4_096
"""Page cache of each connection. The operating system caches the pages too, and a larger cache made
neither writes nor reads faster."""
WAL_KEPT_BYTES = 64 * 1024 * 1024
CACHED_STATEMENTS = 300
"""How many prepared statements a connection keeps: more than this store has queries, where a query
for many rows counts once for each width."""


def connect(path: Path, *, create: bool = False) -> apsw.Connection:
    """Return a connection for writing; a missing file is created only with `create`."""
    if create:
        create_private(path)
    flags = apsw.SQLITE_OPEN_READWRITE
    db = apsw.Connection(str(path), flags=flags, statementcachesize=CACHED_STATEMENTS)
    try:
        # Without it, SQLite plans a query with a join again for every new parameter value, and that
        # takes ten times as long as the query. The plans here do not depend on the values.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        db.set_busy_handler(BusyHandler())
        if not has_foreign_tables(db):  # a foreign file must not change at all
            _write_ahead(db)
        db.pragma("synchronous", "FULL")
        db.pragma("cache_size", -CACHE_KB)
        db.pragma("temp_store", "MEMORY")
        # After a long read let the log grow, truncate it once it was copied into the file.
        db.pragma("journal_size_limit", WAL_KEPT_BYTES)
    except BaseException:
        db.close()
        raise
    return db


class BusyHandler:
    """Busy handler that waits up to `LOCK_WAIT_SECONDS`. SQLite passes the number of calls."""

    def __init__(self) -> None:
        self._until = 0.0

    def __call__(self, times: int) -> bool:
        """Wait a little; return whether to try again."""
        now = time.monotonic()
        if times == 0:
            self._until = now + LOCK_WAIT_SECONDS
        if now >= self._until:
            return False
        time.sleep(LOCK_RETRY_SECONDS)
        return True


def _write_ahead(db: apsw.Connection) -> None:
    """Switch the file to a write-ahead log, which is permanent.

    The switch reads the file first and then needs it exclusively. If two processes do this at
    once, SQLite refuses one of them without waiting, to avoid a deadlock. The refused process
    holds no lock any more, so it can just try again.
    """
    handler = BusyHandler()
    for times in count():
        try:
            db.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if not handler(times):
                raise
        else:
            return


def has_foreign_tables(db: apsw.Connection) -> bool:
    """Return whether the file has tables that tarry did not create."""
    has_tables = db.pragma("schema_version") != 0
    return bool(has_tables and db.pragma("application_id") != APPLICATION_ID)


def connect_to_read(path: Path) -> apsw.Connection:
    """Return a read-only connection. Each of its transactions sees a snapshot."""
    db = connect(path)
    db.pragma("query_only", value=True)
    return db
