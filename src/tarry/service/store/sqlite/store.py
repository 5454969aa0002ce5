"""The complete store in an SQLite file."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tarry.service.store.migrate import log_update
from tarry.service.store.old_rows import OldRows
from tarry.service.store.sqlite.catalogue.catalogue import SqliteCatalogue
from tarry.service.store.sqlite.catalogue.data_keys import SqliteDataKeys
from tarry.service.store.sqlite.catalogue.registry import SqliteRegistry
from tarry.service.store.sqlite.database.disk import Room
from tarry.service.store.sqlite.database.own_thread import in_own_thread
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.database.writer import Writer
from tarry.service.store.sqlite.ingest.accept import SqliteIngest
from tarry.service.store.sqlite.migrate import schema
from tarry.service.store.sqlite.migrate.schema import SqliteMigrator
from tarry.service.store.sqlite.queue.queue import SqliteQueue
from tarry.service.store.sqlite.queue.settle import SqliteSettling
from tarry.service.store.sqlite.queue.tasks import SqliteTasks
from tarry.service.store.sqlite.reading.history import SqliteHistory
from tarry.service.store.sqlite.reading.listing import SqliteListing
from tarry.service.store.sqlite.retention.upkeep import SqliteUpkeep


class SqliteStore(
    SqliteIngest,
    SqliteQueue,
    SqliteSettling,
    SqliteTasks,
    SqliteCatalogue,
    SqliteHistory,
    SqliteListing,
    SqliteRegistry,
    SqliteDataKeys,
    SqliteUpkeep,
):
    """Keeps everything in one file, whose schema must be up to date: see `open_sqlite`."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.time,
        room: Room | None = None,
        *,
        most_waiting: int | None = None,
    ) -> None:
        path = path.resolve()  # through a link to the file, a process would lock another lock file
        room = room or Room(path)
        session = partial(Session, path, clock, room, most_waiting=most_waiting)
        self._threads = Threads(path, clock, partial(Writer, path, session))
        self._old_messages, self._old_payloads, self._expired = OldRows(0), OldRows(0), OldRows(0)


async def open_sqlite(
    path: Path,
    *,
    migrate: bool = True,
    clock: Callable[[], float] = time.time,
    room: Room | None = None,
    most_waiting: int | None = None,
) -> SqliteStore:
    """Open a database file; with `migrate`, create it or bring it up to date.

    What `migrate` did is logged. Without it, a wrong schema raises SchemaMismatch. StoreError says
    in words why a file cannot be used. `clock` gives the time for leases, `room` checks the free
    disk space, and `most_waiting` is the limit of applications that have none of their own.
    """
    if migrate:
        log_update(str(path), await SqliteMigrator(path).up())
    else:
        await in_own_thread(partial(schema.on_file, path, schema.require))
    return SqliteStore(path, clock, room, most_waiting=most_waiting)
