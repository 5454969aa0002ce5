"""Environments, applications, endpoints and policies."""

from collections.abc import Callable

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.failpoints import hit
from tarry.service.model.application import Application, shard_of
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow, Noting, first_version
from tarry.service.model.task import Task, discarding
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Environment, PolicyVersion, SealedEndpoints
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import Part, wake
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.database.rows import refuse_nul
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.queue.tasks import put_tasks


class PostgresCatalogue(RecordsByKind, Part):
    """Environments, applications, endpoints and policies."""

    async def _environments(self) -> list[Environment]:
        return [
            Environment(row["id"], row["policy"])
            for row in await self._database.fetch(SQL["read_environments"])
        ]

    async def _create_environment(self, environment: Environment) -> None:
        row = (environment.id, environment.policy)
        refuse_nul(*row)
        await self._database.execute(SQL["create_environment"], *row)

    async def _put_environment(self, environment: Environment) -> None:
        row = (environment.id, environment.policy)
        refuse_nul(*row)

        async def put(connection: Connection) -> None:
            await connection.execute(SQL["put_environment"], *row)
            await connection.execute(SQL["put_environment_patience"])
            await connection.execute(SQL["put_environment_lock"])
            await connection.execute(SQL["put_environment_tell"], environment.id)
            hit("environment.before")

        await self._database.run(put)
        hit("environment.after")

    async def _environment(self, known_as: str) -> Environment:
        found = await self._database.fetch(SQL["get_environment"], known_as)
        return Environment(known_as, found[0]["policy"] if found else None)

    async def _put_application(self, application: Application) -> None:
        """Create or replace an application."""

        async def put(connection: Connection) -> None:
            await _keep_application(connection, application)

        await self._database.run(put)
        hit("application.after")

    async def _change_application(
        self, environment: str, application: str, change: Callable[[Application], Application]
    ) -> Application:
        async def put(connection: Connection) -> Application:
            found = await connection.fetch(SQL["change_application"], application)
            if not found or found[0]["environment"] != environment:
                raise NotFound("application", application)
            changed = change(rows.application(found[0]))
            await _keep_application(connection, changed)
            return changed

        changed = await self._database.run(put)
        hit("application.after")
        return changed

    async def _application(self, environment: str, known_as: str) -> Application:
        """Return the application with this id or uid."""
        found = await self._database.fetch(SQL["get_application"], environment, known_as)
        if not found:
            raise NotFound("application", known_as)
        return rows.application(found[0])

    async def _put_endpoint(self, endpoint: Endpoint, *, noting: Noting | None = None) -> Endpoint:
        """Create or replace an endpoint; a new endpoint gets a lane."""
        application = endpoint.application

        async def put(connection: Connection) -> Endpoint:
            if not await connection.fetch(SQL["put_endpoint_application"], application):
                raise NotFound("application", application)
            known = await connection.fetch(SQL["put_endpoint_known"], endpoint.id)
            stored = rows.endpoint(known[0]) if known else None
            if stored is not None:
                kept = await _change(connection, stored, lambda _: endpoint)
            else:
                place = (application, shard_of(application), first_version(endpoint))
                (made,) = await connection.fetch(SQL["put_endpoint_lane"], *place)
                kept = await _keep(connection, replace(endpoint, lane=made["lane"]))
            await _keep_noted(connection, noting, stored, kept)
            hit("endpoint.before")
            return kept

        kept = await self._database.run(put)
        hit("endpoint.after")
        return kept

    async def _change_endpoint(
        self,
        application: str,
        endpoint: str,
        change: Callable[[Endpoint], Endpoint],
        *,
        noting: Noting | None = None,
    ) -> Endpoint:
        """Apply `change` to the stored endpoint."""

        async def put(connection: Connection) -> Endpoint:
            stored = await _stored(connection, application, endpoint)
            changed = await _change(connection, stored, change)
            await _keep_noted(connection, noting, stored, changed)
            hit("change.before")
            return changed

        changed = await self._database.run(put)
        hit("change.after")
        return changed

    async def _delete_endpoint(
        self, application: str, endpoint: str, *, now: float, noting: Noting | None = None
    ) -> Task:
        """Mark an endpoint DELETED; return the task that discards its deliveries."""

        async def delete(connection: Connection) -> Task:
            stored = await _stored(connection, application, endpoint)
            gone = stored.stand(Standing.DELETED, now)
            left = await _left_by(connection, await _change(connection, stored, lambda _: gone))
            await _keep_noted(connection, noting, stored, gone)
            hit("delete.before")
            return left

        left = await self._database.run(delete)
        hit("delete.after")
        return left

    async def _endpoint(self, application: str, known_as: str) -> Endpoint:
        """Return the endpoint with this id or uid."""
        found = await self._database.fetch(SQL["get_endpoint"], application, known_as)
        if not found:
            raise NotFound("endpoint", known_as)
        return rows.endpoint(found[0])

    async def _lane(self, application: str, endpoint: str) -> LaneRow:
        """Return an endpoint's lane."""
        found = await self._database.fetch(SQL["get_lane"], application, endpoint)
        if not found:
            raise NotFound("endpoint", endpoint)
        (row,) = await self._database.fetch(SQL["lanes"], [found[0]["lane"]])
        return rows.lane(row)

    async def _delete_application(
        self, environment: str, application: str, *, now: float
    ) -> list[Task]:
        async def delete(connection: Connection) -> list[Task]:
            hidden = await connection.fetch(SQL["delete_application"], application, now)
            if not hidden or hidden[0]["environment"] != environment:
                raise NotFound("application", application)
            found = await connection.fetch(SQL["delete_application_endpoints"], application)
            gone = [rows.endpoint(row).stand(Standing.DELETED, now) for row in found]
            left = [discarding(endpoint, environment) for endpoint in gone]
            lanes = [endpoint.lane for endpoint in gone]
            # In one statement for all endpoints: others wait for these lanes until the commit.
            await connection.execute(SQL["delete_application_lanes"], lanes)
            await connection.executemany(SQL["put_endpoint"], map(rows.from_endpoint, gone))
            await wake(connection, lanes)
            await put_tasks(connection, left)
            hit("delete.before")
            return left

        left = await self._database.run(delete)
        hit("delete.after")
        return left

    async def _put_policy(self, policy: PolicyVersion) -> None:
        refuse_nul(policy.version, policy.document)

        async def put(connection: Connection) -> None:
            await connection.execute(SQL["put_policy"], policy.version, policy.document)
            hit("policy.before")

        await self._database.run(put)
        hit("policy.after")

    async def _policy(self, version: str) -> PolicyVersion:
        found = await self._database.fetch(SQL["get_policy"], version)
        if not found:
            raise NotFound("policy", version)
        return PolicyVersion(version, found[0]["document"])

    async def _sealed(self, query: SealedEndpoints) -> list[Endpoint]:
        found = await self._database.fetch(SQL["read_sealed"], query.after, query.limit)
        return [rows.endpoint(row) for row in found]


async def _keep_application(connection: Connection, application: Application) -> None:
    told = rows.from_application(application)
    refuse_nul(*(value for value in told if isinstance(value, str)))
    try:
        found = await connection.fetch(SQL["put_application"], *told)
    except asyncpg.UniqueViolationError as error:
        raise Conflict("application", str(application.uid)) from error
    if not found:
        raise NotFound("application", application.id)
    lanes = await connection.fetch(SQL["put_application_lanes"], application.id)
    await wake(connection, [row["number"] for row in lanes])
    hit("application.before")


async def _stored(connection: Connection, application: str, endpoint: str) -> Endpoint:
    """Return an endpoint as it is stored, locked until the commit."""
    await connection.execute(SQL["put_endpoint_application"], application)
    known = await connection.fetch(SQL["put_endpoint_known"], endpoint)
    if not known or known[0]["application"] != application:
        raise NotFound("endpoint", endpoint)
    return rows.endpoint(known[0])


async def _change(
    connection: Connection, stored: Endpoint, change: Callable[[Endpoint], Endpoint]
) -> Endpoint:
    if stored.standing is Standing.DELETED:
        raise NotFound("endpoint", stored.id)
    return await _keep(connection, change(stored).following(stored))


async def _keep(connection: Connection, endpoint: Endpoint) -> Endpoint:
    """Save an endpoint and wake its lane; if it is deleted, add the task that discards."""
    refuse_nul(*_texts(endpoint))
    await connection.execute(SQL["put_endpoint_changed"], endpoint.lane)
    try:
        await connection.execute(SQL["put_endpoint"], *rows.from_endpoint(endpoint))
    except asyncpg.UniqueViolationError as error:
        raise Conflict("endpoint", str(endpoint.uid)) from error
    await wake(connection, [endpoint.lane])
    if endpoint.standing is Standing.DELETED:
        await put_tasks(connection, [await _left_by(connection, endpoint)])
    return endpoint


async def _keep_noted(
    connection: Connection, noting: Noting | None, before: Endpoint | None, after: Endpoint
) -> None:
    """Save the notices that `noting` returns for a change of an endpoint."""
    told = [] if noting is None else [rows.from_notice(one) for one in noting(before, after)]
    if told:
        await connection.executemany(SQL["settle_notices"], told)


async def _left_by(connection: Connection, gone: Endpoint) -> Task:
    """Return the discard task of a deleted endpoint."""
    (row,) = await connection.fetch(SQL["delete_endpoint_environment"], gone.application)
    return discarding(gone, row["environment"])


def _texts(endpoint: Endpoint) -> list[str]:
    told: list[str] = []
    for value in rows.from_endpoint(endpoint):
        if isinstance(value, str):
            told.append(value)
        elif isinstance(value, tuple):
            told.extend(value)
    return told
