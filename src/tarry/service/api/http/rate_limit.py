"""The rate limit of API keys, counted in each process separately."""

import math
import time
from collections.abc import Callable

MOST_BUCKETS = 10_000


class RateLimit:
    """A token bucket for each key, which holds the tokens of one second.

    `rate` is in requests a second; None means no limit.
    """

    def __init__(self, rate: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> int:
        """Take a token and return 0; if there is none, return the whole seconds to wait."""
        if self._rate is None:
            return 0
        now, capacity = self._clock(), max(1.0, self._rate)
        tokens, since = self._buckets.get(key, (capacity, now))
        tokens = min(capacity, tokens + (now - since) * self._rate)
        if len(self._buckets) >= MOST_BUCKETS:
            self._buckets.clear()
        if tokens < 1:
            self._buckets[key] = tokens, now
            return math.ceil((1 - tokens) / self._rate)
        self._buckets[key] = tokens - 1, now
        return 0
