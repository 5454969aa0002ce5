"""Environments, applications, endpoints and policies in this store."""

from collections.abc import Callable
from typing import TypeVar

import apsw
from msgspec import json
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
from tarry.service.model.task import Task
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Environment, PolicyVersion, SealedEndpoints
from tarry.service.store.sqlite.catalogue.data_keys import erase_data_key
from tarry.service.store.sqlite.catalogue.endpoints import (
    discard_task,
    keep_endpoint,
    save_notices,
    stored_endpoint,
)
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL

Value = TypeVar("Value")


class SqliteCatalogue(RecordsByKind):
    """Environments, applications, endpoints and policies."""

    _threads: Threads

    async def _environments(self) -> list[Environment]:
        return await self._threads.browse(
            lambda db: [Environment(*row) for row in db.execute(SQL["read_environments"])]
        )

    async def _create_environment(self, environment: Environment) -> None:
        """Add an environment, unless it exists."""
        row = (environment.id, environment.policy)
        await self._threads.write(
            lambda session: session.db.execute(SQL["create_environment"], row).fetchall()
        )

    async def _put_environment(self, environment: Environment, *, by: Action | None = None) -> None:
        """Create or replace an environment, and wake the lanes of its applications."""

        def save_and_wake(session: Session) -> None:
            session.db.execute(SQL["put_environment"], (environment.id, environment.policy))
            session.db.execute(SQL["put_environment_tell"], (environment.id,))
            session.woke = True
            session.write_entry(by, environment_target(environment.id))
            hit("environment.before")

        await self._threads.write(save_and_wake)
        hit("environment.after")

    async def _environment(self, known_as: str) -> Environment:
        return await self._threads.browse(
            lambda db: Environment(known_as, db.execute(SQL["get_environment"], (known_as,)).get)
        )

    async def _put_application(self, application: Application, *, by: Action | None = None) -> None:
        """Create or replace an application."""
        await self._threads.write(lambda session: _save_application(session, application, None, by))
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

        def change_stored(session: Session) -> Application:
            stored = _stored_application(session, environment, application)
            return _save_application(session, change(stored), stored, by)

        saved = await self._threads.write(change_stored)
        hit("application.after")
        return saved

    async def _application(self, environment: str, known_as: str) -> Application:
        """Return the application with this id or uid."""
        applications = await self._documents(
            "get_application", (environment, known_as), rows.APPLICATION
        )
        if not applications:
            raise NotFound("application", known_as)
        return applications[0]

    async def _put_endpoint(
        self,
        endpoint: Endpoint,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Endpoint:
        """Create or replace an endpoint; a new endpoint gets a lane."""

        def create_or_change(session: Session) -> Endpoint:
            if not session.db.execute(
                SQL["put_endpoint_application"], (endpoint.application,)
            ).fetchone():
                raise NotFound("application", endpoint.application)
            stored = stored_endpoint(session, endpoint.id)
            if stored is None:
                _check_count(session, endpoint.application, most)
                lane = _new_lane(session, endpoint)
                saved = keep_endpoint(session, replace(endpoint, lane=lane))
            else:
                saved = _change_stored(session, stored, lambda _: endpoint)
            save_notices(session, noting, stored, saved)
            session.write_entry(by, changed(saved, stored))
            hit("endpoint.before")
            return saved

        saved = await self._threads.write(create_or_change)
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

        def change_stored(session: Session) -> Endpoint:
            stored = _stored_endpoint(session, application, endpoint)
            saved = _change_stored(session, stored, change)
            save_notices(session, noting, stored, saved)
            session.write_entry(by, changed(saved, stored))
            hit("change.before")
            return saved

        saved = await self._threads.write(change_stored)
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

        def mark_deleted(session: Session) -> Task:
            stored = _stored_endpoint(session, application, endpoint)
            deleted = _change_stored(
                session, stored, lambda current: current.stand(Standing.DELETED, now)
            )
            save_notices(session, noting, stored, deleted)
            session.write_entry(by, target_of(deleted))
            hit("delete.before")
            return discard_task(session, deleted)

        task = await self._threads.write(mark_deleted)
        hit("delete.after")
        return task

    async def _endpoint(self, application: str, known_as: str) -> Endpoint:
        """Return the endpoint with this id or uid."""
        endpoints = await self._documents("get_endpoint", (application, known_as), rows.ENDPOINT)
        if not endpoints:
            raise NotFound("endpoint", known_as)
        return endpoints[0]

    async def _lane(self, application: str, endpoint: str) -> LaneRow:
        """Return an endpoint's lane."""

        def read_lane(db: apsw.Connection) -> LaneRow:
            row = db.execute(SQL["get_lane"], (endpoint, application)).fetchone()
            if row is None:
                raise NotFound("endpoint", endpoint)
            return rows.lane_row(row)

        return await self._threads.browse(read_lane)

    async def _delete_application(
        self, environment: str, application: str, *, now: float, by: Action | None = None
    ) -> list[Task]:
        """Hide an application and delete its endpoints; return tasks that discard deliveries."""

        def delete_all(session: Session) -> list[Task]:
            db = session.db
            _stored_application(session, environment, application)
            db.execute(SQL["delete_application"], (now, application)).fetchall()
            documents = list(db.execute(SQL["add_endpoints"], (application,)))
            endpoints = sorted(
                (rows.ENDPOINT.decode(text) for (text,) in documents),
                key=lambda endpoint: endpoint.id,
            )
            tasks = [
                discard_task(session, keep_endpoint(session, endpoint.stand(Standing.DELETED, now)))
                for endpoint in endpoints
            ]
            erase_data_key(session, application)
            session.write_entry(by, application_target(application))
            hit("delete.before")
            return tasks

        tasks = await self._threads.write(delete_all)
        hit("delete.after")
        return tasks

    async def _put_policy(self, policy: PolicyVersion) -> None:
        """Save a version of a policy."""

        def save_policy(session: Session) -> None:
            session.db.execute(SQL["put_policy"], (policy.version, policy.document))
            hit("policy.before")

        await self._threads.write(save_policy)
        hit("policy.after")

    async def _policy(self, version: str) -> PolicyVersion:
        """Return a version of a policy."""

        def read_policy(db: apsw.Connection) -> PolicyVersion:
            document = db.execute(SQL["get_policy"], (version,)).get
            if document is None:
                raise NotFound("policy", version)
            return PolicyVersion(version, document)

        return await self._threads.browse(read_policy)

    async def _sealed(self, query: SealedEndpoints) -> list[Endpoint]:
        """Return the endpoints that have sealed secrets or headers, in the order of their ids."""
        return await self._documents("read_sealed", (query.after, query.limit), rows.ENDPOINT)

    async def _documents(
        self, query: str, bounds: rows.Row, decoder: json.Decoder[Value]
    ) -> list[Value]:
        """Return the decoded documents that a query finds."""
        return await self._threads.browse(
            lambda db: [decoder.decode(text) for (text,) in db.execute(SQL[query], bounds)]
        )


def _check_count(session: Session, application: str, most: int | None) -> None:
    """Raise TooManyEndpoints if an application has `most` endpoints already."""
    if most is None:
        return
    if session.db.execute(SQL["put_endpoint_count"], (application,)).get >= most:
        raise TooManyEndpoints(application, most)


def _stored_endpoint(session: Session, application: str, endpoint: str) -> Endpoint:
    """Return the application's endpoint; NotFound if it has none with this id."""
    stored = stored_endpoint(session, endpoint)
    if stored is None or stored.application != application:
        raise NotFound("endpoint", endpoint)
    return stored


def _stored_application(session: Session, environment: str, application: str) -> Application:
    """Return the environment's application; NotFound if it has none with this id."""
    document = session.db.execute(SQL["change_application"], (application,)).get
    stored = None if document is None else rows.APPLICATION.decode(document)
    if stored is None or stored.environment != environment:
        raise NotFound("application", application)
    return stored


def _save_application(
    session: Session, application: Application, stored: Application | None, by: Action | None
) -> Application:
    """Save an application and wake its lanes; Conflict if another one has its uid."""
    try:
        saved = session.db.execute(
            SQL["put_application"],
            {
                "id": application.id,
                "environment": application.environment,
                "uid": application.uid,
                "most_waiting": application.most_waiting,
                "document": rows.document(application),
            },
        ).fetchall()
    except apsw.ConstraintError:
        raise Conflict("application", str(application.uid)) from None
    if not saved:
        raise NotFound("application", application.id)
    lanes = list(session.db.execute(SQL["put_application_lanes"], (application.id,)))
    session.db.executemany(SQL["put_endpoint_lane_changed"], lanes)
    session.wake(lane for (lane,) in lanes)
    session.write_entry(by, changed(application, stored))
    hit("application.before")
    return application


def _change_stored(
    session: Session, stored: Endpoint, change: Callable[[Endpoint], Endpoint]
) -> Endpoint:
    """Apply `change` to an endpoint that is not deleted, and save it."""
    if stored.standing is Standing.DELETED:
        raise NotFound("endpoint", stored.id)
    return keep_endpoint(session, change(stored).following(stored))


def _new_lane(session: Session, endpoint: Endpoint) -> int:
    """Create the lane of a new endpoint, and return its number."""
    row = (shard_of(endpoint.application), first_version(endpoint))
    ((lane,),) = list(session.db.execute(SQL["put_endpoint_lane"], row))
    session.db.execute(SQL["put_endpoint_lane_state"], (lane,))
    return int(lane)
