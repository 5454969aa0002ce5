"""Insert rows into a new file and do nothing else: the floor of benchmarks of the store.

The schema, the SQL and the settings of the connection are the store's own. There is no id
generation, no fan-out to endpoints, and no other reader or writer.
"""

from collections.abc import Sequence
from pathlib import Path

from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.database.disk import Log
from tarry.service.store.sqlite.database.rows import Row
from tarry.service.store.sqlite.migrate.schema import bring_up, on_file
from tarry.service.store.sqlite.queries import SQL

Rows = tuple[list[Row], list[Row]]
"""The rows of messages, and the rows of their deliveries."""


class BareFile:
    """A new database file."""

    def __init__(self, path: Path) -> None:
        on_file(path, bring_up, create=True)
        self._db = connect(path)
        self._log = Log(self._db, path)

    @staticmethod
    def rows(ids: Sequence[str], payload: bytes, *, first: int, now: float) -> Rows:
        """Return the rows of messages with one delivery each, numbered from `first`."""
        numbered = list(enumerate(ids, start=first))
        messages: list[Row] = [
            (
                number,
                id_,
                "app",
                "order.created",
                None,
                "[]",
                "[]",
                now,
                None,
                None,
                None,
                0,
                payload,
                None,
            )
            for number, id_ in numbered
        ]
        return messages, [
            (1, number, number, "ready", "new", None, now, None) for number, _ in numbered
        ]

    def insert(self, rows: Rows) -> None:
        """Insert messages and deliveries in a durable transaction."""
        messages, deliveries = rows
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(SQL["add_message"], messages)
        self._db.executemany(SQL["add_delivery"], deliveries)
        self._db.execute("COMMIT")
        self._log.tidy()

    def close(self) -> None:
        """Wait for the copy of the write-ahead log, and close the file."""
        self._log.leave()
        self._db.close()
