"""What the busiest way in needs for every message: it does not ask for it each time."""

import time
from collections.abc import Callable

from tarry.errors import NotFound
from tarry.service.api.memory import Memory
from tarry.service.api.schemas import newest
from tarry.service.model.application import Application
from tarry.service.store.contract import Store

MOST = 1000
KNOWN_FOR = 1.0
"""Seconds that something is remembered, unless it is changed here.

So long a uid that went to another application counts for the old one in other processes.
"""

Name = tuple[str, str]
"""An environment, and what something is called there."""


class Known:
    """Remembers applications by what they are called, and what payloads have to fit."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._applications = Memory[Name, Application](
            self._application, seconds=KNOWN_FOR, most=MOST, clock=clock
        )
        self._schemas = Memory[Name, str | None](
            self._schema, seconds=KNOWN_FOR, most=MOST, clock=clock
        )

    async def application(self, environment: str, known_as: str) -> tuple[Application, bool]:
        """The application with this id or uid, and whether it was only remembered."""
        return await self._applications.get((environment, known_as))

    def forget(self, environment: str, known_as: str) -> None:
        """Ask for it again next time."""
        self._applications.forget((environment, known_as))

    def forget_schema(self, environment: str, event_type: str) -> None:
        """Likewise."""
        self._schemas.forget((environment, event_type))

    async def schema(self, environment: str, event_type: str) -> str | None:
        """The schema that payloads of this type have to fit, if they have to."""
        schema, _ = await self._schemas.get((environment, event_type))
        return schema

    async def _application(self, name: Name) -> Application:
        return await self._store.application(*name)

    async def _schema(self, name: Name) -> str | None:
        try:
            found = await self._store.event_type(*name)
        except NotFound:
            return None
        told = newest(found.schemas) if found.validates and found.schemas else None
        return None if told is None else bytes(told[1]).decode()
