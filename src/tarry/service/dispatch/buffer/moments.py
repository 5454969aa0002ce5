"""Deliveries that go again at a moment of their own, and wait for it in memory.

A value: of the many lanes in which none waits for that, all have the same one.
"""

import math
from bisect import insort
from collections.abc import Collection, Mapping

from msgspec import Struct

from tarry.service.model.lane import Due

MOST = 256
"""How many may wait in a lane; more are read again later."""
Waiting = tuple[tuple[float, int, Due], ...]


class Moments(Struct, frozen=True):
    """Rows with their instants, the first one first.

    `known` has the instants of rows that were forgotten, by sequence numbers: those that are still
    there when all is read again wait for them all the same.
    """

    waiting: Waiting
    known: Mapping[int, float]

    @property
    def next_at(self) -> float:
        """When the first one may go; infinity if there is none."""
        return self.waiting[0][0] if self.waiting else math.inf

    @property
    def full(self) -> bool:
        """Whether so many wait that others had better be read again."""
        return len(self.waiting) >= MOST

    def add(self, row: Due, at: float) -> "Moments":
        """With one more row."""
        waiting = list(self.waiting)
        insort(waiting, (at, row.seq, row))
        return Moments(tuple(waiting), self.known)

    def first(self) -> tuple[Due, "Moments"]:
        """The first row, and what is left without it."""
        return self.waiting[0][2], _shared(self.waiting[1:], self.known)

    def forget(self) -> "Moments":
        """Without rows: others may have changed them."""
        old = {} if len(self.known) > MOST else self.known  # of rows that are not there any more
        return _shared((), {**old, **{seq: at for at, seq, _ in self.waiting}})

    def recall(self, seqs: Collection[int]) -> "Moments":
        """Without the instants of those that were read again."""
        known = {seq: at for seq, at in self.known.items() if seq not in seqs}
        return _shared(self.waiting, known)


NO_MOMENTS = Moments((), {})


def _shared(waiting: Waiting, known: Mapping[int, float]) -> Moments:
    return Moments(waiting, known) if waiting or known else NO_MOMENTS
