"""A cache of the endpoints that applications' messages go to, valid until they change."""

import asyncio
from collections.abc import Iterable, Sequence

from msgspec import Struct

from tarry.service.model.endpoint import Subscriber
from tarry.service.model.message import Message
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL

MOST_CACHED = 20_000
"""Applications in the cache; with more, the cache is cleared."""
RESTLESS_SECONDS = 5.0
"""Seconds in which `add` locks an application, after its endpoints changed during an `add`. So that
call does not find them changed again and again."""


class Route(Struct, frozen=True):
    """An endpoint as it was at this version of its lane."""

    endpoint: Subscriber
    version: int


class Tenant(Struct):
    """An application that messages are for; `waiting` is set only if it has a limit."""

    environment: str
    version: int
    most_waiting: int | None
    waiting: int
    routes: Sequence[Route] = ()
    routes_by_kind: dict[tuple[str, tuple[str, ...]], list[Route]] = {}
    """The routes of messages with a type and channels, as far as they were found."""

    def to(self, message: Message, only: str | None = None) -> list[Route]:
        """Return the endpoints that a message goes to; see `NewMessage` for `only`."""
        if only is not None:
            return [route for route in self.routes if route.endpoint.id == only]
        kind = (message.event_type, message.channels)
        found = self.routes_by_kind.get(kind)
        if found is None:
            found = [route for route in self.routes if route.endpoint.wants(*kind)]
            self.routes_by_kind[kind] = found
        return found


class Routes:
    """Caches the endpoints of applications, by the application's version.

    `most_waiting` is the limit of applications that have none of their own.
    """

    def __init__(self, most_waiting: int | None = None) -> None:
        self._most_waiting = most_waiting
        self._cache: dict[str, tuple[int, list[Route]]] = {}
        self._restless: dict[str, float] = {}

    async def tenants(self, connection: Connection, applications: set[str]) -> dict[str, Tenant]:
        """Return those of these applications that exist."""
        if restless := [
            name for name in applications if self._restless.get(name, 0.0) > _loop_time()
        ]:
            await connection.fetch(SQL["add_held"], restless)
        tenants = {
            row["id"]: Tenant(
                row["environment"], row["version"], row["most_waiting"], row["waiting"] or 0
            )
            for row in await connection.fetch(
                SQL["add_applications"], list(applications), self._most_waiting
            )
        }
        unknown: dict[str, int] = {}
        for name, tenant in tenants.items():
            version, routes = self._cache.get(name, (None, []))
            if version == tenant.version:
                tenant.routes = routes
            else:
                unknown[name] = tenant.version
        # Other calls may change the cache meanwhile, so this call uses its own result.
        for name, routes in (await self._read_routes(connection, unknown)).items():
            tenants[name].routes = routes
        return tenants

    def forget(self, applications: Iterable[str]) -> None:
        """Remove applications that just changed from the cache, and lock them in the next calls."""
        now = _loop_time()
        self._restless = {name: until for name, until in self._restless.items() if until > now}
        for application in applications:
            self._cache.pop(application, None)
            self._restless[application] = now + RESTLESS_SECONDS

    async def _read_routes(
        self, connection: Connection, versions: dict[str, int]
    ) -> dict[str, list[Route]]:
        """Read the routes of applications, and put them into the cache under their version."""
        routes: dict[str, list[Route]] = {application: [] for application in versions}
        if not versions:
            return routes
        for row in await connection.fetch(SQL["add_endpoints"], list(versions)):
            routes[row["application"]].append(Route(rows.subscriber(row), row["version"]))
        if len(self._cache) > MOST_CACHED:
            self._cache.clear()
        for application, routes_of_application in routes.items():
            self._cache[application] = (versions[application], routes_of_application)
        return routes


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
