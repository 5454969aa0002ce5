"""Which messages came before: what has to be remembered of them, and a memory for one process."""

import time
from collections.abc import Callable
from heapq import heappop, heappush
from threading import Lock
from typing import Protocol

from tarry.errors import SettingsError

MOST = 100_000
"""Ids that a memory holds, unless told otherwise: some 20 MB."""


class Seen(Protocol):
    """What a `Webhook` needs to notice that a message comes again.

    Several processes that share an endpoint need one they share: a table with the id as its key.
    """

    def known(self, message: str) -> bool:
        """Whether an id was added, and its time is not over."""

    def add(self, message: str, until: float) -> bool:
        """Remember an id until then (seconds since 1970), and tell whether it is new.

        Of two that ask at once only one is told so. One that is known already is kept for as long
        as the later of the two times says.
        """


class Memory:
    """The ids that this process has seen. When it is full, the one that ends first goes."""

    __slots__ = ("_clock", "_ends", "_lock", "_most", "_until")

    def __init__(self, most: int = MOST, *, clock: Callable[[], float] = time.time) -> None:
        if most < 1:
            raise SettingsError("most", most, "1 or more")
        self._most = most
        self._clock = clock
        self._lock = Lock()
        self._until: dict[str, float] = {}
        self._ends: list[tuple[float, str]] = []
        """By time; what it says of an id counts only if `_until` says the same."""

    def __len__(self) -> int:
        return len(self._until)

    def known(self, message: str) -> bool:
        """Whether an id was added, and its time is not over."""
        with self._lock:
            self._forget_until(self._clock())
            return message in self._until

    def add(self, message: str, until: float) -> bool:
        """Remember an id until then, and tell whether it is new."""
        with self._lock:
            self._forget_until(self._clock())
            known = self._until.get(message)
            if known is None or until > known:
                self._until[message] = until
                heappush(self._ends, (until, message))
            while len(self._until) > self._most:
                self._forget_first()
            self._tidy()
            return known is None

    def _forget_until(self, now: float) -> None:
        while self._ends and self._ends[0][0] < now:
            self._forget_first()

    def _forget_first(self) -> None:
        end, message = heappop(self._ends)
        if self._until.get(message) == end:
            del self._until[message]

    def _tidy(self) -> None:
        # Ids that came again leave entries behind, which may not add up.
        if len(self._ends) > 2 * self._most:
            self._ends = sorted((end, message) for message, end in self._until.items())
