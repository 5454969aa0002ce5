"""Open a database file with the settings that durability and speed depend on."""

from pathlib import Path

import apsw

APPLICATION_ID = int.from_bytes(b"tarr", "big")
BUSY_MS = 5_000
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
        db.set_busy_timeout(BUSY_MS)
        if not is_another_programs(db):  # which is not to be changed, not even in this
            db.pragma("journal_mode", "WAL")
        db.pragma("synchronous", "FULL")
        db.pragma("cache_size", -CACHE_KB)
        db.pragma("temp_store", "MEMORY")
        # A log that a long read let grow is cut back once it was copied into the file.
        db.pragma("journal_size_limit", WAL_KEPT_BYTES)
    except BaseException:
        db.close()
        raise
    return db


def is_another_programs(db: apsw.Connection) -> bool:
    """Whether a file has tables that tarry did not make."""
    has_tables = db.pragma("schema_version") != 0
    return bool(has_tables and db.pragma("application_id") != APPLICATION_ID)


def connect_to_read(path: Path) -> apsw.Connection:
    """A connection that sees a snapshot while it reads, and can change nothing."""
    db = connect(path)
    db.pragma("query_only", value=True)
    return db
