"""Environments, applications, endpoints and policies in the memory store."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, TooManyEndpoints
from tarry.service.model.application import Application
from tarry.service.model.audit import (
    Action,
    application_target,
    changed,
    environment_target,
    target_of,
)
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow, Noting
from tarry.service.model.task import Task, discarding
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Environment, PolicyVersion, SealedEndpoints
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane

Named = TypeVar("Named", Application, Endpoint)


class MemoryCatalogue(RecordsByKind):
    """Environments, applications, endpoints and policies."""

    _data: Data

    async def _environments(self) -> list[Environment]:
        return [Environment(*stored) for stored in sorted(self._data.environments.items())]

    async def _create_environment(self, environment: Environment) -> None:
        self._data.environments.setdefault(environment.id, environment.policy)

    async def _put_environment(self, environment: Environment, *, by: Action | None = None) -> None:
        """Create or replace an environment, and wake the lanes of its applications."""
        self._data.environments[environment.id] = environment.policy
        for application in self._applications(environment.id):
            for lane in self._data.lanes_of[application.id]:
                if not lane.resting:
                    self._data.wake(lane)
        self._data.write_entry(by, environment_target(environment.id))

    async def _environment(self, known_as: str) -> Environment:
        return Environment(known_as, self._data.environments.get(known_as))

    async def _put_application(self, application: Application, *, by: Action | None = None) -> None:
        """Create or replace an application."""
        self._save_application(application)
        self._data.write_entry(by, changed(application))

    def _save_application(self, application: Application) -> None:
        """Save an application and wake its lanes."""
        _check_uid("application", application, self._applications(application.environment))
        if application.id in self._data.hidden:
            raise NotFound("application", application.id)
        self._data.applications[application.id] = application
        for lane in self._data.lanes_of[application.id]:
            lane.version += 1
            self._data.wake(lane)

    async def _change_application(
        self,
        environment: str,
        application: str,
        change: Callable[[Application], Application],
        *,
        by: Action | None = None,
    ) -> Application:
        """Apply `change` to the stored application."""
        stored = self._application_in(environment, application)
        saved = change(stored)
        self._save_application(saved)
        self._data.write_entry(by, changed(saved, stored))
        return saved

    async def _application(self, environment: str, known_as: str) -> Application:
        """Return the application with this id or uid."""
        return _find("application", known_as, self._applications(environment))

    async def _put_endpoint(
        self,
        endpoint: Endpoint,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Endpoint:
        """Create or replace an endpoint; a new endpoint gets a lane."""
        self._data.application(endpoint.application)
        lane = self._data.lane_of(endpoint.id)
        if lane is not None:
            return await self._change_endpoint(
                lane.endpoint.application, endpoint.id, lambda _: endpoint, by=by, noting=noting
            )
        if most is not None and len(self._endpoints(endpoint.application)) >= most:
            raise TooManyEndpoints(endpoint.application, most)
        new = replace(endpoint, lane=len(self._data.lanes) + 1)
        self._check_endpoint(new)
        self._save_notices(noting, None, new)
        self._data.write_entry(by, changed(new))
        return self._save_endpoint(self._new_lane(new))

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
        lane = self._data.lane_of(endpoint)
        if lane is None or lane.endpoint.application != application or lane.deleted:
            raise NotFound("endpoint", endpoint)
        saved = change(lane.endpoint).following(lane.endpoint)
        self._check_endpoint(saved)
        self._save_notices(noting, lane.endpoint, saved)
        self._data.write_entry(by, changed(saved, lane.endpoint))
        lane.endpoint = saved
        return self._save_endpoint(lane)

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
        deleted = await self._change_endpoint(
            application,
            endpoint,
            lambda stored: stored.stand(Standing.DELETED, now),
            noting=noting,
        )
        self._data.write_entry(by, target_of(deleted))
        return self._discarding(deleted)

    async def _endpoint(self, application: str, known_as: str) -> Endpoint:
        """Return the endpoint with this id or uid."""
        return _find("endpoint", known_as, self._endpoints(application))

    async def _lane(self, application: str, endpoint: str) -> LaneRow:
        """Return an endpoint's lane."""
        lane = self._data.lane_of(endpoint)
        if lane is None or lane.endpoint.application != application:
            raise NotFound("endpoint", endpoint)
        return self._data.row(lane)

    async def _delete_application(
        self, environment: str, application: str, *, now: float, by: Action | None = None
    ) -> list[Task]:
        """Hide an application and delete its endpoints; return tasks that discard deliveries."""
        self._application_in(environment, application)
        self._data.hidden.add(application)
        self._data.erase_data_key(application)
        self._data.write_entry(by, application_target(application))
        endpoints = sorted(self._endpoints(application), key=_id)
        return [
            await self._delete_endpoint(application, endpoint.id, now=now) for endpoint in endpoints
        ]

    async def _put_policy(self, policy: PolicyVersion) -> None:
        self._data.policies[policy.version] = policy.document

    async def _policy(self, version: str) -> PolicyVersion:
        """Return a version of a policy."""
        if version not in self._data.policies:
            raise NotFound("policy", version)
        return PolicyVersion(version, self._data.policies[version])

    async def _sealed(self, query: SealedEndpoints) -> list[Endpoint]:
        """Return the endpoints that have sealed secrets or headers, in the order of their ids."""
        sealed = (
            lane
            for lane in self._data.lanes.values()
            if lane.endpoint.standing is not Standing.DELETED
            and lane.endpoint.id > query.after
            and (lane.endpoint.secrets or lane.endpoint.headers is not None)
        )
        return self._data.endpoints(sealed)[: query.limit]

    def _application_in(self, environment: str, application: str) -> Application:
        """Return the application with this id; NotFound if it is not in the environment."""
        stored = self._data.application(application)
        if stored.environment != environment:
            raise NotFound("application", application)
        return stored

    def _check_endpoint(self, endpoint: Endpoint) -> None:
        """Raise Conflict if another endpoint of the application has the same uid."""
        if endpoint.standing is not Standing.DELETED:  # a deleted endpoint does not use its uid
            _check_uid("endpoint", endpoint, self._endpoints(endpoint.application))

    def _save_notices(
        self, noting: Noting | None, before: Endpoint | None, after: Endpoint
    ) -> None:
        """Save the notices that `noting` returns for a change of an endpoint."""
        for notice in () if noting is None else noting(before, after):
            self._data.notices[notice.id] = notice

    def _save_endpoint(self, lane: Lane) -> Endpoint:
        """Count a new version of the lane, wake it, and save the task of a deleted endpoint."""
        lane.version += 1
        if lane.deleted:
            task = self._discarding(lane.endpoint)
            self._data.tasks[task.id] = task
        self._data.wake(lane)
        return lane.endpoint

    def _discarding(self, deleted: Endpoint) -> Task:
        """Return the task that discards a deleted endpoint's deliveries."""
        return discarding(deleted, self._data.applications[deleted.application].environment)

    def _new_lane(self, endpoint: Endpoint) -> Lane:
        """Create the lane of a new endpoint."""
        lane = Lane(endpoint)
        self._data.lanes[lane.number] = lane
        self._data.lane_numbers[endpoint.id] = lane.number
        self._data.lanes_of[endpoint.application].append(lane)
        return lane

    def _applications(self, environment: str) -> list[Application]:
        """Return the environment's applications, without deleted ones."""
        return [
            application
            for application in self._data.applications.values()
            if application.environment == environment and application.id not in self._data.hidden
        ]

    def _endpoints(self, application: str) -> list[Endpoint]:
        """Return the endpoints of an application that are not deleted."""
        return [lane.endpoint for lane in self._data.lanes_of[application] if not lane.deleted]


def _check_uid(kind: str, new: Named, others: Iterable[Named]) -> None:
    """Raise Conflict if another of these records has the new record's uid."""
    if new.uid is not None and any(new.uid == other.uid and new.id != other.id for other in others):
        raise Conflict(kind, new.uid)


def _find(kind: str, known_as: str, records: Iterable[Named]) -> Named:
    """Return the record with this id, else the one with this uid."""
    matches = [record for record in records if known_as in (record.id, record.uid)]
    if not matches:
        raise NotFound(kind, known_as)
    return min(matches, key=lambda record: record.id != known_as)


def _id(record: Application | Endpoint) -> str:
    """Return the id of a record."""
    return record.id
