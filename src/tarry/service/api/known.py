"""What the busiest way in needs for every message: it does not ask for it each time."""

import time
from collections.abc import Callable

from tarry.errors import NotFound
from tarry.service.api.schemas import newest
from tarry.service.model.application import Application
from tarry.service.store.contract import Store

MOST = 1000
KNOWN_FOR = 1.0
"""Seconds that something is remembered: so long a uid that went to another application counts."""


class Known:
    """Remembers applications by what they are called, and what payloads have to fit."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._known: dict[tuple[str, str], tuple[float, Application]] = {}
        self._schemas: dict[tuple[str, str], tuple[float, str | None]] = {}

    async def application(self, environment: str, known_as: str) -> tuple[Application, bool]:
        """The application with this id or uid, and whether it was only remembered."""
        now, name = self._clock(), (environment, known_as)
        since, known = self._known.get(name, (0.0, None))
        if known is not None and now < since + KNOWN_FOR:
            return known, True
        known = await self._store.application(environment, known_as)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[name] = now, known
        return known, False

    def forget(self, environment: str, known_as: str) -> None:
        """Ask for it again next time."""
        self._known.pop((environment, known_as), None)

    async def schema(self, environment: str, event_type: str) -> str | None:
        """The schema that payloads of this type have to fit, if they have to."""
        now, name = self._clock(), (environment, event_type)
        since, known = self._schemas.get(name, (-KNOWN_FOR, None))
        if now < since + KNOWN_FOR:
            return known
        try:
            found = await self._store.event_type(environment, event_type)
        except NotFound:
            known = None
        else:
            told = newest(found.schemas) if found.validates and found.schemas else None
            known = None if told is None else bytes(told[1]).decode()
        if len(self._schemas) >= MOST:
            self._schemas.clear()
        self._schemas[name] = now, known
        return known
