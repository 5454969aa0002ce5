"""Recognize messages that came before: the interface of such a memory, and one for one process."""

import time
from collections.abc import Callable
from heapq import heappop, heappush
from threading import Lock
from typing import Protocol

from tarry.errors import SettingsError

MOST_IDS = 100_000
"""The default number of ids in a memory, which take about 20 MB."""


class Seen(Protocol):
    """The interface that a `Webhook` needs to recognize repeated messages.

    Several processes behind one endpoint need a shared memory: a table with the id as its key.
    """

    def known(self, message: str) -> bool:
        """Return whether an id was added and has not expired."""

    def add(self, message: str, until: float) -> bool:
        """Remember an id until a time (seconds since 1970), and return whether it is new.

        Of two concurrent calls with the same id, only one returns true. A known id is kept until
        the later of the two times.
        """


class Memory:
    """The ids that this process has seen. When it is full, it drops the id that expires first."""

    __slots__ = ("_clock", "_ends", "_lock", "_most", "_until")

    def __init__(self, most: int = MOST_IDS, *, clock: Callable[[], float] = time.time) -> None:
        if most < 1:
            raise SettingsError("most", most, "1 or more")
        self._most = most
        self._clock = clock
        self._lock = Lock()
        self._until: dict[str, float] = {}
        self._ends: list[tuple[float, str]] = []
        """A heap of expiry times. An entry is valid only if `_until` has the same time."""

    def __len__(self) -> int:
        return len(self._until)

    def known(self, message: str) -> bool:
        """Return whether an id was added and has not expired."""
        with self._lock:
            self._forget_until(self._clock())
            return message in self._until

    def add(self, message: str, until: float) -> bool:
        """Remember an id until a time (seconds since 1970), and return whether it is new."""
        with self._lock:
            self._forget_until(self._clock())
            known_until = self._until.get(message)
            if known_until is None or until > known_until:
                self._until[message] = until
                heappush(self._ends, (until, message))
            while len(self._until) > self._most:
                self._forget_first()
            self._forget_excess()
            return known_until is None

    def _forget_until(self, now: float) -> None:
        while self._ends and self._ends[0][0] < now:
            self._forget_first()

    def _forget_first(self) -> None:
        end, message = heappop(self._ends)
        if self._until.get(message) == end:
            del self._until[message]

    def _forget_excess(self) -> None:
        # Ids that came again leave old entries in the heap, which must not accumulate.
        if len(self._ends) > 2 * self._most:
            self._ends = sorted((end, message) for message, end in self._until.items())
