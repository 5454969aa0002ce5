"""A cache of what every sent message needs: its application, and the schema of its event type."""

import time
from collections.abc import Callable

from tarry.errors import NotFound
from tarry.service.api.http.cache import Cache
from tarry.service.api.resources.event_types.schemas import newest
from tarry.service.model.application import Application
from tarry.service.store.contract import Store
from tarry.service.store.kinds import Applications, EventTypes

MOST_CACHED = 1000
CACHED_FOR = 1.0
"""Seconds that an entry is cached, unless this process changes it.

If a uid moves to another application, other processes use the old application for up to this time.
"""

Name = tuple[str, str]
"""An environment, and the name of something in it."""


class SendCache:
    """Caches applications by id or uid, and the schemas that payloads have to match."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._applications = Cache[Name, Application](
            self._application, seconds=CACHED_FOR, most=MOST_CACHED, clock=clock
        )
        self._schemas = Cache[Name, str | None](
            self._read_schema, seconds=CACHED_FOR, most=MOST_CACHED, clock=clock
        )

    async def application(self, environment: str, name: str) -> tuple[Application, bool]:
        """Return the application with this id or uid, and whether it came from the cache."""
        return await self._applications.get((environment, name))

    def forget(self, environment: str, name: str) -> None:
        """Drop an application from the cache."""
        self._applications.forget((environment, name))

    def forget_schema(self, environment: str, event_type: str) -> None:
        """Drop the schema of an event type from the cache."""
        self._schemas.forget((environment, event_type))

    async def schema(self, environment: str, event_type: str) -> str | None:
        """Return the schema that payloads of this event type have to match, if any."""
        schema, _ = await self._schemas.get((environment, event_type))
        return schema

    async def _application(self, environment_and_name: Name) -> Application:
        """Read an application from the store."""
        environment, name = environment_and_name
        return await self._store.get(Applications(environment), name)

    async def _read_schema(self, environment_and_name: Name) -> str | None:
        """Return the schema that payloads must match; None if the event type validates none."""
        environment, name = environment_and_name
        try:
            event_type = await self._store.get(EventTypes(environment), name)
        except NotFound:
            return None
        schemas = event_type.schemas
        version = newest(schemas) if event_type.validates and schemas else None
        return None if version is None else bytes(version[1]).decode()
