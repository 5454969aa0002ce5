"""Applications that got messages lately: the busiest way in does not ask for them again."""

import time
from collections.abc import Callable

from tarry.service.model.application import Application
from tarry.service.store.contract import Catalogue

MOST = 1000
KNOWN_FOR = 1.0
"""Seconds that an application is remembered: so long a uid that went to another one counts."""


class Known:
    """Remembers applications by what they are called."""

    def __init__(
        self, catalogue: Catalogue, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._catalogue, self._clock = catalogue, clock
        self._known: dict[tuple[str, str], tuple[float, Application]] = {}

    async def application(self, environment: str, known_as: str) -> tuple[Application, bool]:
        """The application with this id or uid, and whether it was only remembered."""
        now, name = self._clock(), (environment, known_as)
        since, known = self._known.get(name, (0.0, None))
        if known is not None and now < since + KNOWN_FOR:
            return known, True
        known = await self._catalogue.application(environment, known_as)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[name] = now, known
        return known, False

    def forget(self, environment: str, known_as: str) -> None:
        """Ask for it again next time."""
        self._known.pop((environment, known_as), None)
