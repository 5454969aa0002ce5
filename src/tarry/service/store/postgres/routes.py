"""Where the messages of applications go, remembered until their endpoints change."""

import asyncio
from collections.abc import Iterable, Sequence

from msgspec import Struct

from tarry.service.model.endpoint import Endpoint
from tarry.service.model.message import Message
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.queries import SQL

MOST_REMEMBERED = 20_000
"""Applications; when there are more, all are forgotten and looked up again."""
RESTLESS = 5.0
"""Seconds in which whoever adds to an application holds it, after its endpoints were changed while
somebody did: that one shall not find them changed again and again."""


class Route(Struct, frozen=True):
    """An endpoint, as it was when its lane had this version."""

    endpoint: Endpoint
    version: int


class Tenant(Struct):
    """An application that messages are for; `waiting` is known if it is limited."""

    environment: str
    version: int
    most_waiting: int | None
    waiting: int
    routes: Sequence[Route] = ()

    def to(self, message: Message, only: str | None = None) -> list[Route]:
        """Where a message goes; see `NewMessage` for `only`."""
        if only is not None:
            return [route for route in self.routes if route.endpoint.id == only]
        return [
            route
            for route in self.routes
            if route.endpoint.wants(message.event_type, message.channels)
        ]


class Routes:
    """Remembers the endpoints of applications by the number of their changes.

    `most_waiting` is a limit for applications that have none of their own.
    """

    def __init__(self, most_waiting: int | None = None) -> None:
        self._most_waiting = most_waiting
        self._known: dict[str, tuple[int, list[Route]]] = {}
        self._restless: dict[str, float] = {}

    async def tenants(self, connection: Connection, wanted: set[str]) -> dict[str, Tenant]:
        """Those of these applications that are there."""
        if held := [name for name in wanted if self._restless.get(name, 0.0) > _now()]:
            await connection.fetch(SQL["add_held"], held)
        found = {
            row["id"]: Tenant(
                row["environment"], row["version"], row["most_waiting"], row["waiting"] or 0
            )
            for row in await connection.fetch(
                SQL["add_applications"], list(wanted), self._most_waiting
            )
        }
        unknown: dict[str, int] = {}
        for name, tenant in found.items():
            version, routes = self._known.get(name, (None, []))
            if version == tenant.version:
                tenant.routes = routes
            else:
                unknown[name] = tenant.version
        # Others forget and look up meanwhile: what this one goes by is its own.
        for name, routes in (await self._look_up(connection, unknown)).items():
            found[name].routes = routes
        return found

    def forget(self, applications: Iterable[str]) -> None:
        """Look these up again next time, and hold them: they were just changed."""
        now = _now()
        self._restless = {name: until for name, until in self._restless.items() if until > now}
        for application in applications:
            self._known.pop(application, None)
            self._restless[application] = now + RESTLESS

    async def _look_up(
        self, connection: Connection, versions: dict[str, int]
    ) -> dict[str, list[Route]]:
        routes: dict[str, list[Route]] = {application: [] for application in versions}
        if not versions:
            return routes
        for row in await connection.fetch(SQL["add_endpoints"], list(versions)):
            routes[row["application"]].append(Route(rows.endpoint(row), row["version"]))
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        for application, found in routes.items():
            self._known[application] = (versions[application], found)
        return routes


def _now() -> float:
    return asyncio.get_running_loop().time()
