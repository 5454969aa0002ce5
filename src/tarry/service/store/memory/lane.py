"""A lane in memory: its deliveries by number, and sorted indexes of the live ones."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import TypeVar

from tarry.service.model.delivery import ENDED, Delivery, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Known, first_version

Key = TypeVar("Key", int, tuple[float, int])


class Lane:
    """One endpoint's queue.

    Three sorted lists index the live deliveries: `ready` by sequence number, `waiting` by (due
    time, sequence), `aging` by (accepted, sequence). So reading the next ones costs the same,
    however many come after them.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.known = Known()
        self.added = 0
        self.ended = 0
        self.version = first_version(endpoint)
        self.resting = False
        self.dozing = False
        self.deliveries: dict[int, Delivery] = {}
        self.resends: dict[str, str] = {}
        self.ready: list[int] = []
        self.waiting: list[tuple[float, int]] = []
        self.aging: list[tuple[float, int]] = []

    @property
    def number(self) -> int:
        """Its number."""
        return self.endpoint.lane

    @property
    def deleted(self) -> bool:
        """Whether its endpoint is deleted."""
        return self.endpoint.standing is Standing.DELETED

    @property
    def idle(self) -> bool:
        """Whether there is nothing to send."""
        return not self.aging and not self.resends

    def put(self, delivery: Delivery) -> None:
        """Save a new or changed delivery, and update the indexes and counts."""
        before = self.deliveries.get(delivery.seq)
        if before is None:
            self.added += 1
        else:
            self._unindex(before)
        self.deliveries[delivery.seq] = delivery
        self._index(delivery)

    def forget(self, seq: int) -> None:
        """Remove an ended delivery; it still counts in `added` and `ended`."""
        del self.deliveries[seq]

    def ready_between(self, after: int, before: int | None) -> Iterator[Delivery]:
        """Return the ready deliveries between two sequence numbers (both exclusive), in order."""
        first = bisect_right(self.ready, after)
        last = len(self.ready) if before is None else bisect_left(self.ready, before)
        return (self.deliveries[self.ready[index]] for index in range(first, last))

    def waiting_behind(self, due_after: float, after: int) -> Iterator[Delivery]:
        """Return the waiting deliveries after (`due_after`, `after`), by due time."""
        first = bisect_right(self.waiting, (due_after, after))
        return (
            self.deliveries[self.waiting[index][1]] for index in range(first, len(self.waiting))
        )

    def next_due_at(self, now: float) -> float | None:
        """Return the due time of the first delivery that is not due yet."""
        index = bisect_right(self.waiting, now, key=lambda entry: entry[0])
        return self.waiting[index][0] if index < len(self.waiting) else None

    def _index(self, delivery: Delivery) -> None:
        """Add a delivery to the lane's sorted lists, or count it as ended."""
        if delivery.state in ENDED:
            self.ended += 1
            return
        insort(self.aging, (delivery.accepted_at, delivery.seq))
        if delivery.state is State.READY:
            insort(self.ready, delivery.seq)
        else:
            insort(self.waiting, _due(delivery))

    def _unindex(self, delivery: Delivery) -> None:
        """Remove a delivery from the lane's sorted lists, or count one ended less."""
        if delivery.state in ENDED:
            self.ended -= 1
            return
        _remove(self.aging, (delivery.accepted_at, delivery.seq))
        if delivery.state is State.READY:
            _remove(self.ready, delivery.seq)
        else:
            _remove(self.waiting, _due(delivery))


def _due(delivery: Delivery) -> tuple[float, int]:
    """Return the key by which waiting deliveries are sorted: due time, then sequence number."""
    return (delivery.due_at or 0.0, delivery.seq)


def _remove(entries: list[Key], entry: Key) -> None:
    """Delete an entry from a sorted list."""
    del entries[bisect_left(entries, entry)]
