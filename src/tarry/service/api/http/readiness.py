"""Remember for a moment whether the database can be written to, however often strangers ask."""

import time
from collections.abc import Awaitable, Callable

from tarry.errors import TarryError
from tarry.service.api.http.cache import Cache

REMEMBERED = 1.0
"""Seconds for which an answer is given again. Each check writes to the database."""


class Readiness:
    """Checks the database at most once in `REMEMBERED` seconds, for all callers together."""

    def __init__(
        self, check: Callable[[], Awaitable[None]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._check = check
        self._cache = Cache[None, TarryError | None](
            self._find_trouble, seconds=REMEMBERED, most=1, clock=clock
        )

    async def check(self) -> None:
        """Return if messages can be accepted; otherwise raise the reason why they cannot."""
        trouble, _ = await self._cache.get(None)
        if trouble is not None:
            raise trouble.with_traceback(None)

    async def _find_trouble(self, _key: None) -> TarryError | None:
        """Check the database; return what is wrong, so that it is remembered too."""
        try:
            await self._check()
        except TarryError as error:
            return error
        return None
