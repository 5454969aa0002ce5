"""The rows of a lane in memory.

- `Reading`: how far one stream was read, with the rows at hand and where reading goes on.
- `Moments`: deliveries that go again at a moment of their own, and wait for it in memory.
- `PayloadBytes`: how many bytes the payloads of all lanes take.

The first two are values: all lanes that have nothing to read or nothing that waits share one.
"""

import math
from bisect import insort
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from tarry.service.model.lane import Due, Stream, Want

# --- One stream, as far as it was read ----------------------------------------------------------

Rows = tuple[Due, ...]


class Reading(Struct, frozen=True, gc=False):  # it holds rows alone, so there can be no cycle
    """Rows in the order of their stream, and the place of the last one that was read.

    A stream goes by sequence numbers, or by due times first.
    """

    rows: Rows = ()
    due_at: float = 0.0
    seq: int = 0
    all_read: bool = False

    def wants(self, room: int) -> bool:
        """Whether there is room for more rows, and may be more."""
        return not self.all_read and room > len(self.rows)

    def want(self, lane: int, stream: Stream, limit: int, before: int | None = None) -> Want:
        """What to ask the store for, to go on."""
        return Want(
            lane=lane,
            stream=stream,
            limit=limit,
            after=self.seq,
            before=before,
            due_after=self.due_at,
        )

    def on(self, found: Sequence[Due], kept: Rows, *, all_read: bool) -> "Reading":
        """Read on: what was found next, and what of it is kept to be sent."""
        if found:
            last = found[-1]
            return Reading(self.rows + kept, last.due_at or 0.0, last.seq, all_read)
        if all_read and self is UNREAD:
            return EMPTY
        return Reading(self.rows, self.due_at, self.seq, all_read)

    def again(self) -> "Reading":
        """There may be more by now."""
        return Reading(self.rows, self.due_at, self.seq) if self.all_read else self

    def first(self) -> tuple[Due, "Reading"]:
        """The first row, and what is left without it."""
        rows = self.rows
        return rows[0], Reading(rows[1:], self.due_at, self.seq, self.all_read)

    def behind(self, older: "Reading") -> "Reading":
        """With the rows of another one before its own."""
        return Reading(older.rows + self.rows, self.due_at, self.seq, self.all_read)

    def back(self, row: Due) -> "Reading":
        """With a row that is the first again."""
        return Reading((row, *self.rows), self.due_at, self.seq, self.all_read)

    def without(self, seq: int) -> "Reading":
        """Without the row of a sequence number."""
        rows = tuple(row for row in self.rows if row.seq != seq)
        return Reading(rows, self.due_at, self.seq, self.all_read)


UNREAD = Reading()
"""A stream that was not read yet."""
EMPTY = Reading(all_read=True)
"""A stream that was read to its end and has no rows."""


# --- Rows that wait for their moment ------------------------------------------------------------

MOST_MOMENTS = 256
"""How many rows may wait in a lane; more are read again later."""
TimedRows = tuple[tuple[float, int, Due], ...]
"""Instants, sequence numbers and rows."""


class Moments(Struct, frozen=True):
    """Rows with their instants, the first one first.

    `known` has the instants of rows that were forgotten, by sequence numbers: those that are still
    ready when all is read again wait for them all the same. Where the store has the time, it counts
    as it is read again: somebody may have asked for the delivery at once.
    """

    waiting: TimedRows
    known: Mapping[int, float]

    @property
    def next_at(self) -> float:
        """When the first one may go; infinity if there is none."""
        return self.waiting[0][0] if self.waiting else math.inf

    @property
    def full(self) -> bool:
        """Whether so many wait that others had better be read again."""
        return len(self.waiting) >= MOST_MOMENTS

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
        # Most instants are then of rows that are not there any more.
        old = {} if len(self.known) > MOST_MOMENTS else self.known
        only_here = {seq: at for at, seq, row in self.waiting if row.due_at is None}
        return _shared((), {**old, **only_here})

    def recall(self, seqs: Collection[int]) -> "Moments":
        """Without the instants of those that were read again."""
        known = {seq: at for seq, at in self.known.items() if seq not in seqs}
        return _shared(self.waiting, known)


NO_MOMENTS = Moments((), {})


def _shared(waiting: TimedRows, known: Mapping[int, float]) -> Moments:
    return Moments(waiting, known) if waiting or known else NO_MOMENTS


# --- The bytes of all rows ----------------------------------------------------------------------


class PayloadBytes:
    """A count that every lane adds to and takes from."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, number: int) -> None:
        """Count payloads that came into memory."""
        self.bytes += number

    def remove(self, number: int) -> None:
        """Count payloads that left memory."""
        self.bytes -= number
