"""The contract for environments, applications, endpoints and policies."""

from collections.abc import Callable
from typing import Protocol

from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import LaneRow, Noting
from tarry.service.model.task import Task


class Catalogue(Protocol):
    """Environments, applications, endpoints, policies. `known_as` takes an id or a uid."""

    async def environments(self) -> list[str]:
        """Return the ids of all environments."""

    async def add_environment(self, environment: str) -> None:
        """Create an environment, unless one with this id exists; that one is not changed."""

    async def put_environment(self, environment: str, *, policy: str | None = None) -> None:
        """Create an environment, or change its policy: the default of all its endpoints.

        Wakes those of its lanes that are not at rest.
        """

    async def environment_policy(self, environment: str) -> str | None:
        """Return its policy document, if it has one."""

    async def put_application(self, application: Application) -> None:
        """Create or replace an application, and wake its lanes.

        Raises Conflict if another application of the environment has its uid, and NotFound if it
        was deleted before.
        """

    async def change_application(
        self, application: str, change: Callable[[Application], Application]
    ) -> Application:
        """Apply `change` to the stored application, as `change_endpoint` does to an endpoint.

        The result is saved as by `put_application`. NotFound if there is none with this id.
        """

    async def application(self, environment: str, known_as: str) -> Application:
        """Return the application with this id or uid; NotFound if there is none."""

    async def put_endpoint(self, endpoint: Endpoint, *, noting: Noting | None = None) -> Endpoint:
        """Create or replace an endpoint and wake its lane; a new endpoint gets a lane.

        Raises Conflict if another endpoint has its uid, and NotFound if the application does not
        exist or the endpoint was deleted before. The store keeps the lane and the parkings of an
        existing endpoint: see `Endpoint.following`. A change of standing keeps waiting deliveries.
        An endpoint that becomes DELETED gets, in the same commit, a task that discards them
        (`discarding`), and its uid is free again. The notices that `noting` returns are saved in
        the same commit; notices that were sent already stay marked as sent.
        """

    async def change_endpoint(
        self,
        application: str,
        endpoint: str,
        change: Callable[[Endpoint], Endpoint],
        *,
        noting: Noting | None = None,
    ) -> Endpoint:
        """Apply `change` to the stored endpoint; the result is saved as by `put_endpoint`.

        The endpoint passed to `change` is locked until the commit. `change` may be called more than
        once and on any thread. If it raises, the error is passed on and the store does not change.
        The same holds for `noting`. Raises NotFound if there is no endpoint with this id, or if it
        is deleted.
        """

    async def delete_endpoint(
        self, application: str, endpoint: str, *, now: float, noting: Noting | None = None
    ) -> Task:
        """Mark an endpoint DELETED as of `now`; return the task that discards its deliveries.

        NotFound if there is none with this id or if it is deleted.
        """

    async def endpoint(self, application: str, known_as: str) -> Endpoint:
        """Return the endpoint with this id or uid; NotFound if there is none or it is deleted."""

    async def lane(self, application: str, endpoint: str) -> LaneRow:
        """Return an endpoint's lane, even of a deleted endpoint; NotFound if there is none."""

    async def delete_application(self, application: str, *, now: float) -> list[Task]:
        """Hide an application and delete its endpoints; return their discard tasks, in order.

        The application is no longer found and its uid is free again. Its lanes and messages stay
        until they are discarded and swept. NotFound if there is none.
        """

    async def put_policy(self, version: str, document: str) -> None:
        """Save a policy document under its version, so that a decision can be repeated later."""

    async def policy(self, version: str) -> str:
        """Return the document of a version; NotFound if there is none."""
