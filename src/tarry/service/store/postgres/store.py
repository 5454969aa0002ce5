"""The complete PostgreSQL store."""

from collections.abc import Sequence
from typing import Self

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.audit import Action, message_target
from tarry.service.model.message import NewMessage
from tarry.service.store.migrate import log_update
from tarry.service.store.old_rows import OldRows
from tarry.service.store.postgres.catalogue.catalogue import PostgresCatalogue
from tarry.service.store.postgres.catalogue.data_keys import PostgresDataKeys
from tarry.service.store.postgres.catalogue.registry import PostgresRegistry
from tarry.service.store.postgres.database import address
from tarry.service.store.postgres.database.listen import Listening
from tarry.service.store.postgres.database.part import write_entry
from tarry.service.store.postgres.database.pool import Connection, Database
from tarry.service.store.postgres.database.rows import refuse_nul
from tarry.service.store.postgres.ingest.accept import accept
from tarry.service.store.postgres.ingest.batches import Batches
from tarry.service.store.postgres.ingest.collect import PostgresCollect
from tarry.service.store.postgres.ingest.decide import Result
from tarry.service.store.postgres.ingest.routes import Routes
from tarry.service.store.postgres.migrate.schema import PostgresMigrator
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.queue.queue import PostgresQueue
from tarry.service.store.postgres.queue.settle import PostgresSettle
from tarry.service.store.postgres.queue.tasks import PostgresTasks
from tarry.service.store.postgres.reading.history import PostgresHistory
from tarry.service.store.postgres.reading.listing import PostgresListing
from tarry.service.store.postgres.retention.drop_partitions import OldPartitions
from tarry.service.store.postgres.retention.upkeep import PostgresUpkeep

CONNECTIONS = 6
"""The most connections of a process, besides one for leases and one that listens."""


class PostgresStore(
    PostgresQueue,
    PostgresSettle,
    PostgresCollect,
    PostgresTasks,
    PostgresCatalogue,
    PostgresHistory,
    PostgresListing,
    PostgresRegistry,
    PostgresDataKeys,
    PostgresUpkeep,
):
    """Keeps everything in the schema `tarry` of a PostgreSQL database."""

    def __init__(self, database: Database, *, most_waiting: int | None = None) -> None:
        self._database = database
        self._listening = Listening(database)
        self._routes = Routes(most_waiting)
        self._collected = ""
        self._old_messages, self._old_payloads, self._expired = (
            OldRows(""),
            OldRows(""),
            OldRows(""),
        )
        self._old_partitions = OldPartitions(database)
        self._adding: Batches[NewMessage, Result] = Batches(self._accept)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        migrate: bool = False,
        connections: int = CONNECTIONS,
        most_waiting: int | None = None,
    ) -> Self:
        """Open the database at a URL; with `migrate`, create its schema or bring it up to date.

        What `migrate` did is logged. `most_waiting` is the limit of applications that have none of
        their own. SettingsError, StoreError or SchemaMismatch say why the database cannot be used.
        """
        database_address = address.read(url)
        database = Database(database_address, size=connections)
        store = cls(database, most_waiting=most_waiting)
        try:
            if migrate:
                log_update(database_address.shown, await PostgresMigrator(database).up())
            await store.check()
        except BaseException:
            await store.close()
            raise
        return store

    async def add(self, messages: Sequence[NewMessage]) -> list[Result]:
        """Accept messages; return one result for each. Concurrent calls share a commit."""
        for new in messages:
            message = new.message
            refuse_nul(message.id, message.event_type, message.event_id, new.key)
            refuse_nul(*message.channels, *message.tags)
        return await self._adding(messages)

    async def _expunge_message(
        self, application: str, message: str, *, by: Action | None = None
    ) -> None:
        """Delete a message's payload."""

        async def delete_payload(connection: Connection) -> None:
            if not await connection.fetch(SQL["expunge"], application, message):
                raise NotFound("message", message)
            await write_entry(connection, by, message_target(application, message))
            hit("expunge.before")

        await self._database.run(delete_payload)
        hit("expunge.after")

    async def close(self) -> None:
        """Finish running work and close the connections."""
        await self._adding.drain()
        await self._listening.close()
        await self._database.close()

    async def _accept(self, messages: Sequence[NewMessage]) -> list[Result]:
        """Accept messages in one transaction; return the result of each."""

        async def decide_and_save(connection: Connection) -> list[Result]:
            results = await accept(connection, self._routes, messages)
            hit("add.before")
            return results

        results = await self._database.run(decide_and_save)
        hit("add.after")
        return results
