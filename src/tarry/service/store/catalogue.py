"""What a store must keep of who gets messages, and by which rules."""

from collections.abc import Callable
from typing import Protocol

from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import LaneRow, Noting
from tarry.service.model.task import Task


class Catalogue(Protocol):
    """Environments, applications, endpoints, policies. Ids are ids, but for what is `known_as`."""

    async def environments(self) -> list[str]:
        """Every environment's id."""

    async def add_environment(self, environment: str) -> None:
        """Make an environment, unless there is one of this id: that stays as it is."""

    async def put_environment(self, environment: str, *, policy: str | None = None) -> None:
        """Make an environment, or change its policy, for whoever has none of their own.

        Wakes those of its lanes that are not at rest.
        """

    async def environment_policy(self, environment: str) -> str | None:
        """Its policy document, if it has one."""

    async def put_application(self, application: Application) -> None:
        """Add or change one; Conflict if its uid is taken in the environment. Wakes its lanes.

        NotFound if it was deleted before.
        """

    async def change_application(
        self, application: str, change: Callable[[Application], Application]
    ) -> Application:
        """Change an application as it is by now, as `change_endpoint` does an endpoint.

        It is kept as `put_application` would. NotFound if there is none of this id.
        """

    async def application(self, environment: str, known_as: str) -> Application:
        """The application with this id or uid; NotFound if there is none."""

    async def put_endpoint(self, endpoint: Endpoint, *, noting: Noting | None = None) -> Endpoint:
        """Add or change one; a new one gets its lane. Conflict if its uid is taken. Wakes its lane.

        NotFound if the application is, or if the endpoint was deleted before. The lane and the
        parkings of one that is there are the store's: see `Endpoint.following`. A change of
        standing keeps what waits; one that becomes DELETED leaves the task that discards it
        (`discarding`) in the same commit, and its uid is free again. So is what `noting` makes of
        it put on record; what was told of already stays so.
        """

    async def change_endpoint(
        self,
        application: str,
        endpoint: str,
        change: Callable[[Endpoint], Endpoint],
        *,
        noting: Noting | None = None,
    ) -> Endpoint:
        """Change an endpoint as it is by now; it is kept as `put_endpoint` would.

        `change` gets it as it is stored, which nobody else changes until the commit. It may be
        called more than once and on any thread; what it raises is raised, and nothing is changed.
        The same holds for `noting`.
        NotFound if there is none of this id or if it is deleted.
        """

    async def delete_endpoint(
        self, application: str, endpoint: str, *, now: float, noting: Noting | None = None
    ) -> Task:
        """Let an endpoint be DELETED since `now`; returns the task that discards what waits.

        NotFound if there is none of this id or if it is deleted.
        """

    async def endpoint(self, application: str, known_as: str) -> Endpoint:
        """The endpoint with this id or uid; NotFound if there is none or it is deleted."""

    async def lane(self, application: str, endpoint: str) -> LaneRow:
        """An endpoint's lane, also of a deleted one; NotFound if there is none."""

    async def delete_application(self, application: str, *, now: float) -> list[Task]:
        """Hide an application, and delete its endpoints; returns the tasks they leave, in order.

        It is not found any more, and its uid is free again; its lanes and messages stay until they
        are discarded and swept. NotFound if there is none.
        """

    async def put_policy(self, version: str, document: str) -> None:
        """Keep a policy document under its version, so that a decision can be made again."""

    async def policy(self, version: str) -> str:
        """The document of a version; NotFound if there is none."""
