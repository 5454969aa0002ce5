"""The deliveries of one lane that are in memory: a cache of the store with a read position.

Each stream is read in order. A delivery that failed because its lane was down stays ready in the
store, at a place that was read already: a rewind brings it back.
"""

from collections.abc import Iterable, Sequence

from tarry.core.pace import CLOSED, OPEN, PACED, Phase
from tarry.service.dispatch.buffer.rows import (
    EMPTY,
    NO_MOMENTS,
    UNREAD,
    PayloadBytes,
    Reading,
    Rows,
)
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.sparse import EMPTY_DICT, put, without
from tarry.service.model.lane import Due, Fetched, Stream, Want

EARLY = 16
"""How many rows to ask for of resends, and of an ordered lane's rows that are not due yet."""
OTHERS_BETWEEN = 2
"""How many other rows of the backlog are sent between two that are sent again."""
_NONE: frozenset[int] = frozenset()
_NO_RESENDS: frozenset[str] = frozenset()


class Buffer:
    """The rows of one lane: reads them in order, and hands out each row once.

    Each of many lanes has a buffer, and most buffers are empty. So it has slots, and its parts are
    values and sparse dicts, which take no memory while they are empty.
    """

    __slots__ = (
        *("_again", "_buffered", "_due", "_due_from", "_fresh", "_fresh_from", "_fresh_next"),
        *("_moments", "_needs_rewind", "_new_due_at", "_not_yet_due", "_ready", "_resending"),
        *("_resends", "_since_again", "_were_busy", "_were_resending", "busy", "fifo", "lane"),
        *("next_due_at", "read_to", "rewinds"),
    )

    def __init__(self, lane: int, buffered: PayloadBytes, *, fifo: bool) -> None:
        self.lane = lane
        self.fifo = fifo
        self._buffered = buffered
        self._resends = self._ready = self._fresh = self._due = self._not_yet_due = UNREAD
        self._moments = NO_MOMENTS
        self.rewinds = 0
        """How often it was rewound. Rows that were asked for before a rewind are dropped."""
        self.read_to = 0
        """Every delivery up to this sequence number that was ready in the store has been read. The
        lane may sleep only at this position: see `Queue.rest`."""
        self._needs_rewind = False
        self._since_again = 0
        self.busy: dict[int, str] = EMPTY_DICT
        """The deliveries that are in flight, being settled, or waiting for their moment: messages
        by sequence number. After a failover that lost the last commits, another message may get the
        number of a busy one."""
        self._again = _NONE
        """The sequence numbers of those being settled that are sent again in a moment."""
        self._resending = _NO_RESENDS
        self._were_busy: dict[int, str] = EMPTY_DICT
        self._were_resending = _NO_RESENDS
        """The deliveries and resends that were busy when the store was last asked."""
        self._fresh_from: int | None = None
        """The sequence number of the first fresh delivery, while there is a backlog before it."""
        self._fresh_next = False
        self.next_due_at: float | None = None
        """The earliest due time of the deliveries that wait in the store for a due time."""
        self._new_due_at: float | None = None
        """The earliest due time of deliveries that got it after the store was last asked."""
        self._due_from = LONG_AGO
        """No row that is due is sent before this time."""

    def set_order(self, *, fifo: bool) -> None:
        """Hand out rows strictly in order, or not. Rewind after a change."""
        self.fifo = fifo
        if fifo:  # an ordered lane has no fresh deliveries: nothing goes before its backlog
            self._fresh_from, self._fresh_next = None, False

    # --- Where reading goes on ------------------------------------------------------------------

    def rewind(self) -> None:
        """Drop the rows at hand and read all streams again: rows may have been left behind."""
        self.rewinds += 1
        self.read_to = 0
        self._needs_rewind = False
        for reading in (self._resends, self._ready, self._fresh, self._due, self._not_yet_due):
            self._count_out(reading.rows)
        self._resends = self._ready = self._due = self._not_yet_due = UNREAD
        self._fresh = UNREAD if self._fresh_from is None else Reading(seq=self._fresh_from - 1)

    def forget_rows(self) -> None:
        """Forget all rows that are not in flight: others may have changed them.

        The moments of rows that wait for one are remembered.
        """
        for _, _, row in self._moments.waiting:
            self._mark_free(row)
            self._count_out((row,))
        self._moments = self._moments.forget()
        self.next_due_at = None
        self.rewind()

    def set_fresh_after(self, added: int) -> None:
        """Count deliveries after the first `added` ones as fresh, and all others as the backlog."""
        if not self.fifo:  # an ordered lane sends nothing before its backlog
            self._fresh_from = added + 1
        self.rewind()

    def read_on(self) -> None:
        """Read on: deliveries may have been added since the last ones were read."""
        self._ready, self._fresh = self._ready.reopened(), self._fresh.reopened()

    def all_read(self) -> bool:
        """Return whether all rows that may be sent now were read, as far as is known."""
        return self.all_ready_read() and self._due.all_read

    def all_ready_read(self) -> bool:
        """Return whether all rows without a due time were read."""
        read = self._resends.all_read and self._ready.all_read
        return read and (self._fresh_from is None or self._fresh.all_read)

    # --- Asking ---------------------------------------------------------------------------------

    def wants(self, room: int, now: float, phase: Phase) -> list[Want]:
        """Return what to ask the store for, to have `room` rows at hand."""
        wants = []
        if not self._resends.all_read:
            wants.append(self._resends.want(self.lane, Stream.RESEND, EARLY))
        ready = self._ready.wants(room)
        fresh = self._fresh_from is not None and self._fresh.wants(room)
        if phase is OPEN and ready and fresh:  # one row is enough: thousands of lanes may be open
            ready, fresh = not self._fresh_next, self._fresh_next
        if ready:
            wants.append(self._ready.want(self.lane, Stream.READY, room, self._fresh_from))
        if fresh:
            wants.append(self._fresh.want(self.lane, Stream.READY, room))
        if room > len(self._due.rows) and self._is_due(now):
            wants.append(self._due.want(self.lane, Stream.WAITING, room))
        if not self._not_yet_due.all_read and (self.fifo or self._probes(phase)):
            wants.append(
                self._not_yet_due.want(self.lane, Stream.EARLY, EARLY if self.fifo else room)
            )
        return wants

    def _is_due(self, now: float) -> bool:
        """Return whether a row may be due that is not at hand."""
        if now < self._due_from:
            return False
        if not self._due.all_read:
            return True
        return self.next_due_at is not None and self.next_due_at <= now

    def _probes(self, phase: Phase) -> bool:
        """Return whether a probe may have to use a row that is not due yet."""
        nothing = not (
            self._ready.rows or self._fresh.rows or self._due.rows or self._not_yet_due.rows
        )
        return phase is OPEN and self._ready.all_read and nothing

    def remember_busy(self) -> None:
        """Remember which rows are busy while the store is asked.

        Its answer may have them as they were, although they are settled when it arrives.
        """
        self._were_busy = dict(self.busy) if self.busy else EMPTY_DICT
        self._were_resending = self._resending
        self._new_due_at = None

    # --- Taking ---------------------------------------------------------------------------------

    def take(self, want: Want, rows: Sequence[Due], *, cut: bool, fetched: Fetched) -> None:
        """Take over the rows that the store returned for a want.

        Fewer rows than it asked for are all there are, unless the answer was `cut` to a size.
        `fetched` is the whole answer of the store.
        """
        all_read = not rows or (len(rows) < want.limit and not cut)
        match want.stream:
            case Stream.RESEND:
                self._take_resends(rows, all_read=all_read)
            case Stream.READY:
                fresh = self._fresh_from is not None and want.before is None
                self._take_ready(rows, fresh=fresh, all_read=all_read)
                if all_read and want.before is None:  # this want reached the end of the lane
                    self.read_to = max(self.read_to, fetched.added.get(self.lane, 0))
            case Stream.WAITING:
                self.next_due_at = fetched.next_due_at.get(self.lane) if all_read else 0.0
                self._take_due(rows, all_read=all_read)
            case Stream.EARLY:
                self._take_not_yet_due(rows, all_read=all_read)

    def _take_resends(self, rows: Sequence[Due], *, all_read: bool) -> None:
        """Take over resends. The store returns each of them until it is settled."""
        at_hand = {row.resend for row in self._resends.rows}
        known = self._resending | self._were_resending | at_hand
        kept = self._count_in([row for row in rows if row.resend not in known])
        # Resends are always read from the first one. If all returned ones are known already, it is
        # no use to ask again before one of them is settled, which reads everything again.
        self._resends = self._resends.read_on(rows, kept, all_read=all_read or not kept)

    def _take_ready(self, rows: Sequence[Due], *, fresh: bool, all_read: bool) -> None:
        """Take over rows that may be sent at once: fresh ones, or the backlog."""
        free = [row for row in rows if self._is_not_held(row)]
        kept = self._count_in(self._not_put_off(free) if self._moments.known else free)
        if fresh:
            self._fresh = self._fresh.read_on(rows, kept, all_read=all_read)
            return
        self._ready = self._ready.read_on(rows, kept, all_read=all_read)
        if all_read and self._fresh_from is not None and not self._moments.waiting:
            # The backlog is read to its end: from here on, backlog and fresh rows are one stream.
            self._ready = self._fresh.with_older(self._ready)
            self._fresh, self._fresh_from = UNREAD, None

    def _not_put_off(self, rows: Sequence[Due]) -> list[Due]:
        """Return the rows that may be sent now; the others wait for their moment.

        Those are rows that had a moment when they were forgotten.
        """
        known = self._moments.known
        self._moments = self._moments.recall({(row.seq, row.message) for row in rows})
        for row in rows:
            if (row.seq, row.message) in known:
                self.send_at(row, known[row.seq, row.message])
        return [row for row in rows if self.busy.get(row.seq) != row.message]

    def _take_due(self, rows: Sequence[Due], *, all_read: bool) -> None:
        """Take over rows whose due time has come."""
        kept = self._count_in([row for row in rows if self._is_not_held(row)])
        self._due = self._due.read_on(rows, kept, all_read=all_read)
        if self._new_due_at is not None:  # the store may have looked before, or the row was busy
            self.note_due_at(self._new_due_at)

    def _take_not_yet_due(self, rows: Sequence[Due], *, all_read: bool) -> None:
        """Take over rows that are not due yet."""
        if self.fifo:  # such a row is the head, and holds up all others until it is due
            self._not_yet_due = EMPTY
            for row in rows:
                if self._is_not_held(row):
                    self._take_head(row)
            return
        at_hand = {row.seq for row in self._not_yet_due.rows}
        free = [row for row in rows if self._is_not_held(row) and row.seq not in at_hand]
        self._not_yet_due = self._not_yet_due.read_on(rows, self._count_in(free), all_read=all_read)
        self._needs_rewind = self._needs_rewind or bool(rows)

    def _take_head(self, row: Due) -> None:
        """Make a row the next one to be sent, also before other rows that are due."""
        self._count_out(twin for twin in self._due.rows if twin.seq == row.seq)
        self._due = self._due.without(row.seq)
        self.send_at(row, row.due_at or 0.0)

    def _is_not_held(self, row: Due) -> bool:
        """Return whether a row that the store returned is not busy, and was not when asked for."""
        return row.message not in (self.busy.get(row.seq), self._were_busy.get(row.seq))

    # --- Keeping --------------------------------------------------------------------------------

    def mark_busy(self, row: Due) -> None:
        """Mark a row as busy: it is not handed out meanwhile."""
        self.busy = put(self.busy, row.seq, row.message)
        if self._again:
            self._again -= {row.seq}

    def mark_again(self, row: Due) -> None:
        """Remember that a row is sent again once it is settled: until then the lane is not idle."""
        if self.busy.get(row.seq) == row.message:
            self._again |= {row.seq}

    def give_back(self, row: Due) -> None:
        """Mark a row that is being settled as ready, as if it had not failed, and rewind.

        The rewind drops the row as it was before, if it is at hand.
        """
        self.mark_busy(row)
        self.rewind()

    def _mark_free(self, row: Due) -> None:
        """Mark a row as not busy, unless another message has its number by now."""
        if self.busy.get(row.seq) == row.message:
            self.busy = without(self.busy, row.seq)
            if self._again:
                self._again -= {row.seq}

    def send_at(self, row: Due, at: float) -> None:
        """Have a row sent again at this time, from memory if there is room for it."""
        if self._moments.full and not self.fifo:
            self.leave_behind(row)
            return
        self.mark_busy(row)
        self._count_in((row,))
        self._moments = self._moments.add(row, at)

    def leave_behind(self, row: Due) -> None:
        """Leave a row that is ready in the store to the next rewind, which reads it again.

        In an ordered lane that rewind is now: the row goes before all that were read since.
        """
        self._mark_free(row)
        if self.fifo:
            self.rewind()
        else:
            self._needs_rewind = True

    def note_due_at(self, at: float) -> None:
        """Remember that a row waits in the store for this due time.

        If rows with later due times were read already, this one was skipped as busy. Only a rewind
        finds it then.
        """
        self._new_due_at = at if self._new_due_at is None else min(at, self._new_due_at)
        self._needs_rewind = self._needs_rewind or at <= self._due.due_at
        if self.next_due_at is None or at < self.next_due_at:
            self.next_due_at = at

    def _count_in(self, rows: Sequence[Due]) -> Rows:
        """Count the bytes of rows that are in memory from now on; return the rows."""
        self._buffered.add(_size(rows))
        return tuple(rows)

    def _count_out(self, rows: Iterable[Due]) -> None:
        """Subtract the bytes of rows that leave memory."""
        self._buffered.remove(_size(rows))

    # --- Handing out ----------------------------------------------------------------------------

    def next(self, now: float, phase: Phase) -> Due | None:
        """Return the delivery whose turn it is, and mark it busy; None if none is at hand."""
        if self._resends.rows:
            asked, self._resends = self._resends.first()
            self._resending |= {asked.resend}
            return self._hand_out(asked)
        row = self._head(now, phase) if self.fifo else self._any(now, phase)
        if row is None:
            return None
        self.mark_busy(row)
        if self._not_yet_due.rows:  # the row may have been read before it was due as well
            self._count_out(twin for twin in self._not_yet_due.rows if twin.seq == row.seq)
            self._not_yet_due = self._not_yet_due.without(row.seq)
        return self._hand_out(row)

    def _hand_out(self, row: Due) -> Due:
        """Stop counting a row's bytes as buffered, because it is sent now; return the row."""
        self._buffered.remove(len(row.payload or b""))
        return row

    def _head(self, now: float, phase: Phase) -> Due | None:
        """Take the head of an ordered lane: one that waits for its moment holds up all others."""
        if self._moments.waiting:
            ripe = self._moments.next_at <= now or phase is OPEN
            return self._first_ripe() if ripe else None
        due, ready = self._due.rows, self._ready.rows
        if due and (not ready or due[0].seq < ready[0].seq):
            return self._first_due()
        return self._first_ready() if ready else None

    def _any(self, now: float, phase: Phase) -> Due | None:
        """Take fresh rows and the backlog's by turns; for a probe also a row that is not due yet.

        In the backlog, one retry follows two other rows. Otherwise, where every other message
        fails, the failing messages would be retried over and over before the others are sent.
        """
        ripe = self._moments.next_at <= now
        due = now >= self._due_from and bool(self._due.rows)
        ready = bool(self._ready.rows)
        old = ripe or due or ready
        if self._fresh.rows and (phase is CLOSED or self._fresh_next or not old):
            self._fresh_next = False
            fresh, self._fresh = self._fresh.first()
            return fresh
        self._fresh_next = True
        if old:
            again = ripe or due
            if ready and (self._since_again < OTHERS_BETWEEN or not again):
                self._since_again += 1
                return self._first_ready()
            self._since_again = 0
            return self._first_ripe() if ripe else self._first_due()
        if not self._not_yet_due.rows or phase is not OPEN:
            return None
        row, self._not_yet_due = self._not_yet_due.first()
        return row

    def _first_ripe(self) -> Due:
        """Take out the waiting row whose time comes first."""
        row, self._moments = self._moments.first()
        return row

    def _first_due(self) -> Due:
        """Take out the row that became due first."""
        row, self._due = self._due.first()
        return row

    def _first_ready(self) -> Due:
        """Take out the first ready row."""
        row, self._ready = self._ready.first()
        return row

    # --- Taking back ----------------------------------------------------------------------------

    def put_off(self, row: Due, until: float) -> None:
        """Have a due row wait until this time; without room for it, all due rows wait."""
        if not self._moments.full:
            self.send_at(row, until)
            return
        self._mark_free(row)
        self._count_in((row,))
        self._due = self._due.put_back(row)
        self._due_from = until

    def done(self, row: Due) -> None:
        """Forget a row that was settled and is not sent again from memory."""
        if row.resend:
            self._resending -= {row.resend}
        else:
            self._mark_free(row)

    # --- Looking ahead --------------------------------------------------------------------------

    def at_hand(self, now: float) -> int:
        """Return how many rows can be sent without asking the store."""
        if self.fifo and self._moments.waiting:  # the head waits, and all others with it
            return len(self._resends.rows)
        due = len(self._due.rows) if now >= self._due_from else 0
        return len(self._resends.rows) + due + len(self._ready.rows) + len(self._fresh.rows)

    def ready_runs_low(self, few: int) -> bool:
        """Return whether few ready rows are at hand although the store may have more.

        The other rows at hand are retries, and ready rows should go before most of them.
        """
        return not self._ready.all_read and len(self._ready.rows) <= few

    def has_ripe_or_probe(self, now: float, phase: Phase) -> bool:
        """Return whether a row's moment has come, or a row that is not due yet can be a probe."""
        if self._moments.next_at <= now:
            return True
        head = self._moments.waiting if self.fifo else ()
        return phase is OPEN and bool(head or self._not_yet_due.rows)

    def next_at(self) -> float:
        """Return when a row can be sent that cannot be sent now; infinity if none is known."""
        at = self._moments.next_at
        if not self.fifo and (self._due.rows or not self._due.all_read):
            at = min(at, self._due_from)
        elif self.next_due_at is not None:
            at = min(at, max(self.next_due_at, self._due_from))
        return at

    def rewind_if_needed(self, phase: Phase) -> bool:
        """Rewind if rows were skipped and all others are read; return whether it did.

        At a pace it does not wait for rows that are due: there may be more of them without end.
        """
        if not self._needs_rewind:
            return False
        if phase is PACED and not self.fifo:
            ready = self._resends.rows or self._ready.rows or self._fresh.rows
            if ready or not self.all_ready_read():
                return False
        elif self._has_rows() or not self.all_read():
            return False
        if phase is OPEN:  # all rows that were read have failed: those after them are fresh
            self.set_fresh_after(max(self._ready.seq, self._fresh.seq))
        else:
            self.rewind()
        return True

    def drained(self) -> bool:
        """Return whether all rows were read, handed out and settled, and none has a due time."""
        waits = self.next_due_at is not None or self.busy or self._resending
        return self.idle() and not waits

    def idle(self) -> bool:
        """Return whether there is no row to send now or in a moment, besides those in flight."""
        waits = self._has_rows() or self._moments.waiting or self._needs_rewind
        return self.all_read() and not waits and not self._again

    def _has_rows(self) -> bool:
        """Return whether there is any row to send."""
        return bool(self._resends.rows or self._due.rows or self._ready.rows or self._fresh.rows)


def _size(rows: Iterable[Due]) -> int:
    """Return the bytes of the rows' payloads."""
    return sum([len(row.payload or b"") for row in rows])
