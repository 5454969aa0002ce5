"""Keeps connections that rest between two requests: not too many, and none for long."""

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from tarry.service.wire.deadlines import Later, Timer

MOST_IDLE = 2_000
"""How many connections may rest at the same time, to all origins together."""
IDLE_TIME = 30.0
"""Seconds that a connection rests before it is closed. Most servers close theirs after a minute or
more, and a request on a connection that is being closed has to be sent again."""


class Resting(Protocol):
    """A connection, as a pool needs it."""

    key: Hashable
    rested_at: float

    def usable(self) -> bool:
        """Return whether it can still carry a request, as far as is known."""

    def close(self) -> None:
        """Close it properly, after pending writes."""


Kept = TypeVar("Kept", bound=Resting)


class Pool(Generic[Kept]):
    """Resting connections by their key. The one that rested last is taken first."""

    def __init__(
        self,
        later: Later,
        clock: Callable[[], float],
        *,
        most: int = MOST_IDLE,
        idle_time: float = IDLE_TIME,
    ) -> None:
        self._later = later
        self._clock = clock
        self._most = most
        self._idle_time = idle_time
        self._stacks: dict[Hashable, list[Kept]] = {}
        self._order: dict[Kept, None] = {}  # the one that rests longest is first
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._order)

    def take(self, key: Hashable) -> Kept | None:
        """Take out and return a connection that rests under this key; None if there is none."""
        stack = self._stacks.get(key)
        while stack:
            connection = stack.pop()
            del self._order[connection]
            if connection.usable():
                return connection
        return None

    def keep(self, connection: Kept) -> None:
        """Let a connection rest; if there are too many, close the one that has rested longest."""
        stack = self._stacks.get(connection.key)
        if stack is None:
            stack = self._stacks[connection.key] = []
        stack.append(connection)
        self._order[connection] = None
        if len(self._order) > self._most:
            self._close_first()
        if self._timer is None:
            self._timer = self._later(self._idle_time / 4, self._sweep)

    def forget(self, connection: Kept) -> None:
        """Remove a connection that has closed, if it rests here."""
        if connection in self._order:
            del self._order[connection]
            self._stacks[connection.key].remove(connection)

    def shrink(self, most: int) -> None:
        """Close those that have rested longest until no more than `most` are left."""
        while len(self._order) > most:
            self._close_first()

    def close(self) -> None:
        """Close all connections, and stop the timer."""
        self.shrink(0)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_first(self) -> None:
        connection = next(iter(self._order))
        self.forget(connection)
        connection.close()

    def _sweep(self) -> None:
        """Close connections that have rested too long, and forget keys without connections."""
        before = self._clock() - self._idle_time
        while self._order and next(iter(self._order)).rested_at <= before:
            self._close_first()
        self._stacks = {key: stack for key, stack in self._stacks.items() if stack}
        self._timer = self._later(self._idle_time / 4, self._sweep) if self._order else None
