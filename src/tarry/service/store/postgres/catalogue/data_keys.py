"""Data keys: created, sealed again and erased.

A data key is locked after everything else but wake-ups: see ARCHITECTURE.md ("The order of locks").
"""

from collections.abc import Callable

from msgspec.structs import astuple

from tarry.errors import Conflict, NotFound
from tarry.service.model.audit import Action, application_target
from tarry.service.model.data_key import DataKey
from tarry.service.model.task import erasing
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import DataKeys
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import (
    Part,
    lock_and_wake,
    notify_owners,
    write_entry,
)
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.queue.tasks import put_tasks


class PostgresDataKeys(RecordsByKind, Part):
    """Data keys, each of one application."""

    async def erase(self, application: str, *, now: float, by: Action | None = None) -> bool:
        """Delete an application's data key; return whether it had one."""

        async def erase_and_wake(connection: Connection) -> bool:
            stored = await connection.fetch(SQL["change_application"], application)
            if not stored:
                raise NotFound("application", application)
            await write_entry(connection, by, application_target(application))
            endpoint_rows = await connection.fetch(SQL["delete_application_endpoints"], application)
            await connection.execute(SQL["put_application_lanes"], application)
            endpoints = [rows.endpoint(row) for row in endpoint_rows]
            lanes = [endpoint.lane for endpoint in endpoints]
            await lock_and_wake(connection, lanes)
            data_key = await erase_data_key(connection, application)
            if data_key is None:
                return False
            environment = stored[0]["environment"]
            tasks = [erasing(endpoint, environment, data_key, now) for endpoint in endpoints]
            await put_tasks(connection, tasks)
            await notify_owners(connection, lanes)
            return True

        return await self._database.run(erase_and_wake)

    async def _create_data_key(self, data_key: DataKey) -> None:
        """Save an application's first data key."""

        async def save_key(connection: Connection) -> None:
            application = data_key.application
            if not await connection.fetch(SQL["create_data_key_application"], application):
                raise NotFound("application", application)
            if not await connection.fetch(SQL["create_data_key"], *astuple(data_key)):
                raise Conflict("data key", application)

        await self._database.run(save_key)

    async def _change_data_key(
        self, known_as: str, change: Callable[[DataKey], DataKey]
    ) -> DataKey:
        """Apply `change` to a stored data key; only its sealed form is saved."""

        async def change_stored(connection: Connection) -> DataKey:
            stored = await connection.fetch(SQL["change_data_key_known"], known_as)
            if not stored:
                raise NotFound("data key", known_as)
            changed = change(DataKey(**stored[0]))
            await connection.execute(SQL["change_data_key"], known_as, changed.sealed)
            return changed

        return await self._database.run(change_stored)

    async def _data_keys(self, query: DataKeys) -> list[DataKey]:
        """Return the data keys with these names, or all of them."""
        if query.names is not None:
            key_rows = await self._database.fetch(SQL["read_data_keys"], query.names)
        else:
            bounds = (query.after, query.limit)
            key_rows = await self._database.fetch(SQL["read_data_keys_all"], *bounds)
        return [DataKey(**row) for row in key_rows]


async def erase_data_key(connection: Connection, application: str) -> str | None:
    """Delete an application's data key; return its id, None if there is none."""
    deleted = await connection.fetch(SQL["erase_data_key"], application)
    return deleted[0]["id"] if deleted else None
