"""The rows of a lane in memory.

- `Reading`: the rows at hand of one stream, and the position up to which it was read.
- `Moments`: deliveries that are sent again at a set moment, and wait for it in memory.
- `PayloadBytes`: how many bytes the payloads of all lanes take.

The first two are values: all lanes with an empty one share the same object.
"""

import math
from bisect import insort
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from tarry.service.model.lane import Due, Stream, Want

# --- One stream, as far as it was read ----------------------------------------------------------

Rows = tuple[Due, ...]


class Reading(Struct, frozen=True, gc=False):  # it holds only rows, so there can be no cycle
    """Rows in the order of their stream, and the position of the last one that was read.

    A stream is ordered by sequence number, or by due time and then sequence number.
    """

    rows: Rows = ()
    due_at: float = 0.0
    seq: int = 0
    all_read: bool = False

    def wants(self, room: int) -> bool:
        """Return whether there is room for more rows and the store may have more."""
        return not self.all_read and room > len(self.rows)

    def want(self, lane: int, stream: Stream, limit: int, before: int | None = None) -> Want:
        """Return what to ask the store for, to read on from this position."""
        return Want(
            lane=lane,
            stream=stream,
            limit=limit,
            after=self.seq,
            before=before,
            due_after=self.due_at,
        )

    def read_on(self, read: Sequence[Due], kept: Rows, *, all_read: bool) -> "Reading":
        """Return the reading after the rows in `read`, with those in `kept` added to be sent."""
        if read:
            last = read[-1]
            return Reading(self.rows + kept, last.due_at or 0.0, last.seq, all_read)
        if all_read and self is UNREAD:
            return EMPTY
        return Reading(self.rows, self.due_at, self.seq, all_read)

    def reopened(self) -> "Reading":
        """Return the reading as not read to its end: the store may have more rows by now."""
        return Reading(self.rows, self.due_at, self.seq) if self.all_read else self

    def first(self) -> tuple[Due, "Reading"]:
        """Return the first row, and the reading without it."""
        rows = self.rows
        return rows[0], Reading(rows[1:], self.due_at, self.seq, self.all_read)

    def with_older(self, older: "Reading") -> "Reading":
        """Return the reading with the rows of an older one before its own."""
        return Reading(older.rows + self.rows, self.due_at, self.seq, self.all_read)

    def put_back(self, row: Due) -> "Reading":
        """Return the reading with a row put back in front."""
        return Reading((row, *self.rows), self.due_at, self.seq, self.all_read)

    def without(self, seq: int) -> "Reading":
        """Return the reading without the row of this sequence number."""
        rows = tuple(row for row in self.rows if row.seq != seq)
        return Reading(rows, self.due_at, self.seq, self.all_read)


UNREAD = Reading()
"""A stream that was not read yet."""
EMPTY = Reading(all_read=True)
"""A stream that was read to its end and has no rows."""


# --- Rows that wait for their moment ------------------------------------------------------------

MOST_MOMENTS = 256
"""How many rows of a lane may wait in memory for their moment; more are read again later."""
TimedRows = tuple[tuple[float, int, Due], ...]
"""Moments, sequence numbers and rows."""


class Moments(Struct, frozen=True):
    """Rows with the moments at which they are sent again, the earliest first.

    `known` has the moments of forgotten rows, by sequence number and message: rows that are still
    ready when they are read again wait for those moments nevertheless. If the store has a due time
    for a row, the store's time counts when it is read again: a user may have asked to send it at
    once.
    """

    waiting: TimedRows
    known: Mapping[tuple[int, str], float]

    @property
    def next_at(self) -> float:
        """When the first row may be sent; infinity if there is none."""
        return self.waiting[0][0] if self.waiting else math.inf

    @property
    def full(self) -> bool:
        """Whether the limit is reached, so that other rows have to be read again later."""
        return len(self.waiting) >= MOST_MOMENTS

    def add(self, row: Due, at: float) -> "Moments":
        """Return the moments with one more row."""
        waiting = list(self.waiting)
        insort(waiting, (at, row.seq, row))
        return Moments(tuple(waiting), self.known)

    def first(self) -> tuple[Due, "Moments"]:
        """Return the first row, and the moments without it."""
        return self.waiting[0][2], _moments_of(self.waiting[1:], self.known)

    def forget(self) -> "Moments":
        """Return the moments without rows, since others may have changed them."""
        # With this many, most moments belong to rows that do not exist any more.
        old = {} if len(self.known) > MOST_MOMENTS else self.known
        only_here = {(seq, row.message): at for at, seq, row in self.waiting if row.due_at is None}
        return _moments_of((), {**old, **only_here})

    def recall(self, rows: Collection[tuple[int, str]]) -> "Moments":
        """Return the moments without the known ones of rows that were read again."""
        known = {row: at for row, at in self.known.items() if row not in rows}
        return _moments_of(self.waiting, known)


NO_MOMENTS = Moments((), {})


def _moments_of(waiting: TimedRows, known: Mapping[tuple[int, str], float]) -> Moments:
    """Return the waiting rows and known times as a value; the shared one if both are empty."""
    return Moments(waiting, known) if waiting or known else NO_MOMENTS


# --- The bytes of all rows ----------------------------------------------------------------------


class PayloadBytes:
    """The number of payload bytes in memory. All lanes count in it."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, number: int) -> None:
        """Count payloads that came into memory."""
        self.bytes += number

    def remove(self, number: int) -> None:
        """Count payloads that left memory."""
        self.bytes -= number
