"""Environments, applications, endpoints and policies."""

from collections.abc import Callable

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, TooManyEndpoints
from tarry.service.failpoints import hit
from tarry.service.model.application import Application, shard_of
from tarry.service.model.audit import (
    Action,
    application_target,
    changed,
    environment_target,
    target_of,
)
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow, Noting, first_version
from tarry.service.model.task import Task, discarding
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Environment, PolicyVersion, SealedEndpoints
from tarry.service.store.postgres.catalogue.data_keys import erase_data_key
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import (
    Part,
    lock_and_wake,
    notify_owners,
    wake,
    write_entry,
)
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.database.rows import refuse_nul
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.queue.tasks import put_tasks


class PostgresCatalogue(RecordsByKind, Part):
    """Environments, applications, endpoints and policies."""

    async def _environments(self) -> list[Environment]:
        """Return all environments."""
        return [
            Environment(row["id"], row["policy"])
            for row in await self._database.fetch(SQL["read_environments"])
        ]

    async def _create_environment(self, environment: Environment) -> None:
        row = (environment.id, environment.policy)
        refuse_nul(*row)
        await self._database.execute(SQL["create_environment"], *row)

    async def _put_environment(self, environment: Environment, *, by: Action | None = None) -> None:
        """Create or replace an environment, and wake the lanes of its applications."""
        row = (environment.id, environment.policy)
        refuse_nul(*row)

        async def save_and_wake(connection: Connection) -> None:
            await connection.execute(SQL["put_environment"], *row)
            await write_entry(connection, by, environment_target(environment.id))
            await connection.execute(SQL["put_environment_patience"])
            await connection.execute(SQL["put_environment_lock"])
            await connection.execute(SQL["put_environment_tell"], environment.id)
            hit("environment.before")

        await self._database.run(save_and_wake)
        hit("environment.after")

    async def _environment(self, known_as: str) -> Environment:
        environment_rows = await self._database.fetch(SQL["get_environment"], known_as)
        return Environment(known_as, environment_rows[0]["policy"] if environment_rows else None)

    async def _put_application(self, application: Application, *, by: Action | None = None) -> None:
        """Create or replace an application."""

        async def save_application(connection: Connection) -> None:
            await _save_application(connection, application, None, by)

        await self._database.run(save_application)
        hit("application.after")

    async def _change_application(
        self,
        environment: str,
        application: str,
        change: Callable[[Application], Application],
        *,
        by: Action | None = None,
    ) -> Application:
        """Apply `change` to the stored application."""

        async def change_stored(connection: Connection) -> Application:
            application_rows = await connection.fetch(SQL["change_application"], application)
            if not application_rows or application_rows[0]["environment"] != environment:
                raise NotFound("application", application)
            stored = rows.application(application_rows[0])
            saved = change(stored)
            await _save_application(connection, saved, stored, by)
            return saved

        saved = await self._database.run(change_stored)
        hit("application.after")
        return saved

    async def _application(self, environment: str, known_as: str) -> Application:
        """Return the application with this id or uid."""
        application_rows = await self._database.fetch(SQL["get_application"], environment, known_as)
        if not application_rows:
            raise NotFound("application", known_as)
        return rows.application(application_rows[0])

    async def _put_endpoint(
        self,
        endpoint: Endpoint,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Endpoint:
        """Create or replace an endpoint; a new endpoint gets a lane."""
        application = endpoint.application

        async def create_or_change(connection: Connection) -> Endpoint:
            if not await connection.fetch(SQL["put_endpoint_application"], application):
                raise NotFound("application", application)
            endpoint_rows = await connection.fetch(SQL["put_endpoint_known"], endpoint.id)
            stored = rows.endpoint(endpoint_rows[0]) if endpoint_rows else None
            if stored is not None:
                saved = await _change_stored(connection, stored, lambda _: endpoint)
            else:
                await _check_count(connection, application, most)
                parameters = (application, shard_of(application), first_version(endpoint))
                (lane_row,) = await connection.fetch(SQL["put_endpoint_lane"], *parameters)
                saved = await _save(connection, replace(endpoint, lane=lane_row["lane"]))
            await _save_notices(connection, noting, stored, saved)
            await write_entry(connection, by, changed(saved, stored))
            hit("endpoint.before")
            return saved

        saved = await self._database.run(create_or_change)
        hit("endpoint.after")
        return saved

    async def _change_endpoint(
        self,
        application: str,
        endpoint: str,
        change: Callable[[Endpoint], Endpoint],
        *,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> Endpoint:
        """Apply `change` to the stored endpoint."""

        async def change_stored(connection: Connection) -> Endpoint:
            stored = await _stored(connection, application, endpoint)
            saved = await _change_stored(connection, stored, change)
            await _save_notices(connection, noting, stored, saved)
            await write_entry(connection, by, changed(saved, stored))
            hit("change.before")
            return saved

        saved = await self._database.run(change_stored)
        hit("change.after")
        return saved

    async def _delete_endpoint(
        self,
        application: str,
        endpoint: str,
        *,
        now: float,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> Task:
        """Mark an endpoint DELETED; return the task that discards its deliveries."""

        async def mark_deleted(connection: Connection) -> Task:
            stored = await _stored(connection, application, endpoint)
            deleted = stored.stand(Standing.DELETED, now)
            saved = await _change_stored(connection, stored, lambda _: deleted)
            task = await _discard_task(connection, saved)
            await _save_notices(connection, noting, stored, deleted)
            await write_entry(connection, by, target_of(deleted))
            hit("delete.before")
            return task

        task = await self._database.run(mark_deleted)
        hit("delete.after")
        return task

    async def _endpoint(self, application: str, known_as: str) -> Endpoint:
        """Return the endpoint with this id or uid."""
        endpoint_rows = await self._database.fetch(SQL["get_endpoint"], application, known_as)
        if not endpoint_rows:
            raise NotFound("endpoint", known_as)
        return rows.endpoint(endpoint_rows[0])

    async def _lane(self, application: str, endpoint: str) -> LaneRow:
        """Return an endpoint's lane."""
        lane_rows = await self._database.fetch(SQL["get_lane"], application, endpoint)
        if not lane_rows:
            raise NotFound("endpoint", endpoint)
        (row,) = await self._database.fetch(SQL["lanes"], [lane_rows[0]["lane"]])
        return rows.lane(row)

    async def _delete_application(
        self, environment: str, application: str, *, now: float, by: Action | None = None
    ) -> list[Task]:
        """Hide an application and delete its endpoints; return tasks that discard deliveries."""

        async def delete_all(connection: Connection) -> list[Task]:
            hidden = await connection.fetch(SQL["delete_application"], application, now)
            if not hidden or hidden[0]["environment"] != environment:
                raise NotFound("application", application)
            endpoint_rows = await connection.fetch(SQL["delete_application_endpoints"], application)
            deleted = [rows.endpoint(row).stand(Standing.DELETED, now) for row in endpoint_rows]
            tasks = [discarding(endpoint, environment) for endpoint in deleted]
            lanes = [endpoint.lane for endpoint in deleted]
            # In one statement for all endpoints: others wait for these lanes until the commit.
            await connection.execute(SQL["delete_application_lanes"], lanes)
            await connection.executemany(SQL["put_endpoint"], map(rows.from_endpoint, deleted))
            await write_entry(connection, by, application_target(application))
            await lock_and_wake(connection, lanes)
            await erase_data_key(connection, application)
            await notify_owners(connection, lanes)
            await put_tasks(connection, tasks)
            hit("delete.before")
            return tasks

        tasks = await self._database.run(delete_all)
        hit("delete.after")
        return tasks

    async def _put_policy(self, policy: PolicyVersion) -> None:
        """Save a version of a policy."""
        refuse_nul(policy.version, policy.document)

        async def save_policy(connection: Connection) -> None:
            await connection.execute(SQL["put_policy"], policy.version, policy.document)
            hit("policy.before")

        await self._database.run(save_policy)
        hit("policy.after")

    async def _policy(self, version: str) -> PolicyVersion:
        """Return a version of a policy."""
        policy_rows = await self._database.fetch(SQL["get_policy"], version)
        if not policy_rows:
            raise NotFound("policy", version)
        return PolicyVersion(version, policy_rows[0]["document"])

    async def _sealed(self, query: SealedEndpoints) -> list[Endpoint]:
        """Return the endpoints that have sealed secrets or headers, in the order of their ids."""
        endpoint_rows = await self._database.fetch(SQL["read_sealed"], query.after, query.limit)
        return [rows.endpoint(row) for row in endpoint_rows]


async def _save_application(
    connection: Connection,
    application: Application,
    stored: Application | None,
    by: Action | None,
) -> None:
    """Save an application and wake its lanes; Conflict if another one has its uid."""
    columns = rows.from_application(application)
    refuse_nul(*(value for value in columns if isinstance(value, str)))
    try:
        saved = await connection.fetch(SQL["put_application"], *columns)
    except asyncpg.UniqueViolationError as error:
        raise Conflict("application", str(application.uid)) from error
    if not saved:
        raise NotFound("application", application.id)
    lane_rows = await connection.fetch(SQL["put_application_lanes"], application.id)
    await write_entry(connection, by, changed(application, stored))
    await wake(connection, [row["number"] for row in lane_rows])
    hit("application.before")


async def _check_count(connection: Connection, application: str, most: int | None) -> None:
    """Raise TooManyEndpoints if an application has `most` endpoints already."""
    if most is None:
        return
    (row,) = await connection.fetch(SQL["put_endpoint_count"], application)
    if row["count"] >= most:
        raise TooManyEndpoints(application, most)


async def _stored(connection: Connection, application: str, endpoint: str) -> Endpoint:
    """Return an endpoint as it is stored, locked until the commit."""
    await connection.execute(SQL["put_endpoint_application"], application)
    endpoint_rows = await connection.fetch(SQL["put_endpoint_known"], endpoint)
    if not endpoint_rows or endpoint_rows[0]["application"] != application:
        raise NotFound("endpoint", endpoint)
    return rows.endpoint(endpoint_rows[0])


async def _change_stored(
    connection: Connection, stored: Endpoint, change: Callable[[Endpoint], Endpoint]
) -> Endpoint:
    """Apply `change` to an endpoint that is not deleted, and save it."""
    if stored.standing is Standing.DELETED:
        raise NotFound("endpoint", stored.id)
    return await _save(connection, change(stored).following(stored))


async def _save(connection: Connection, endpoint: Endpoint) -> Endpoint:
    """Save an endpoint and wake its lane; if it is deleted, add the task that discards."""
    refuse_nul(*_texts_of(endpoint))
    await connection.execute(SQL["put_endpoint_changed"], endpoint.lane)
    try:
        await connection.execute(SQL["put_endpoint"], *rows.from_endpoint(endpoint))
    except asyncpg.UniqueViolationError as error:
        raise Conflict("endpoint", str(endpoint.uid)) from error
    await wake(connection, [endpoint.lane])
    if endpoint.standing is Standing.DELETED:
        await put_tasks(connection, [await _discard_task(connection, endpoint)])
    return endpoint


async def _save_notices(
    connection: Connection, noting: Noting | None, before: Endpoint | None, after: Endpoint
) -> None:
    """Save the notices that `noting` returns for a change of an endpoint."""
    notices = () if noting is None else noting(before, after)
    notice_rows = [rows.from_notice(notice) for notice in notices]
    if notice_rows:
        await connection.executemany(SQL["settle_notices"], notice_rows)


async def _discard_task(connection: Connection, deleted: Endpoint) -> Task:
    """Return the discard task of a deleted endpoint."""
    (row,) = await connection.fetch(SQL["delete_endpoint_environment"], deleted.application)
    return discarding(deleted, row["environment"])


def _texts_of(endpoint: Endpoint) -> list[str]:
    """Return all texts in an endpoint's row, to check them for NUL characters."""
    texts: list[str] = []
    for value in rows.from_endpoint(endpoint):
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, tuple):
            texts.extend(value)
    return texts
