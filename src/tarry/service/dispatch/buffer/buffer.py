"""The deliveries of one lane that are in memory: a cache of the store with a read position.

Each stream is read in order. What failed with the lane stays ready in the store, behind the place
where reading goes on: a rewind brings it back.
"""

import math
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
from tarry.service.dispatch.sparse import NOTHING, put, without
from tarry.service.model.lane import Due, Fetched, Stream, Want

EARLY = 16
"""How many are asked for of what goes before its turn."""
SELDOM = 2
"""After how many others of the backlog one goes that goes again."""
_ON_ITS_WAY, _GOES_AGAIN = False, True
_NONE: frozenset[int] = frozenset()
_NO_RESENDS: frozenset[str] = frozenset()


class Buffer:
    """Rows of one lane: reads them in order, and hands out each once.

    There is one buffer for each of many lanes, and most of them are empty. So it has slots, and its
    parts are values and sparse dicts: empty, those take no room at all.
    """

    __slots__ = (
        *("_buffered", "_due", "_due_from", "_early", "_fresh", "_fresh_from", "_fresh_next"),
        *("_heard", "_left_behind", "_moments", "_ready", "_resending", "_resends", "_since_again"),
        *("_were_busy", "_were_resending", "busy", "fifo", "lane", "next_due_at", "read_to"),
        "turn",
    )

    def __init__(self, lane: int, buffered: PayloadBytes, *, fifo: bool) -> None:
        self.lane = lane
        self.fifo = fifo
        self._buffered = buffered
        self._resends = self._ready = self._fresh = self._due = self._early = UNREAD
        self._moments = NO_MOMENTS
        self.turn = 0
        """Grows with every rewind: rows that were asked for before it are not taken after it."""
        self.read_to = 0
        """Every delivery up to this sequence number that was ready in the store has been read. The
        lane may sleep only at this position: see `Queue.rest` and `Queue.doze`."""
        self._left_behind = False
        self._since_again = 0
        self.busy: dict[int, bool] = NOTHING
        """Those on their way, being settled or waiting a moment; true of those being settled that
        go again soon."""
        self._resending = _NO_RESENDS
        self._were_busy, self._were_resending = _NONE, _NO_RESENDS
        """What was on its way when the store was asked last."""
        self._fresh_from: int | None = None
        """The first that is fresh, as long as there is a backlog before it."""
        self._fresh_next = False
        self.next_due_at: float | None = None
        """When the next of those is due that wait in the store for a time of their own."""
        self._heard: float | None = None
        """The same of those that came to wait since the store was asked last."""
        self._due_from = LONG_AGO
        """Before then nothing goes that is due."""

    def set_order(self, *, fifo: bool) -> None:
        """Hand out rows strictly in order, or not."""
        self.fifo = fifo

    # --- Where reading goes on ------------------------------------------------------------------

    def rewind(self) -> None:
        """Read everything again from the start: something was left behind."""
        self.turn += 1
        self.read_to = 0
        self._left_behind = False
        for reading in (self._resends, self._ready, self._fresh, self._due, self._early):
            self._gone(reading.rows)
        self._resends = self._ready = self._due = self._early = UNREAD
        self._fresh = UNREAD if self._fresh_from is None else Reading(seq=self._fresh_from - 1)

    def changed(self) -> None:
        """Forget all that is not on its way, but for its moment: others may have changed it."""
        for _, seq, row in self._moments.waiting:
            self.busy = without(self.busy, seq)
            self._gone((row,))
        self._moments = self._moments.forget()
        self.next_due_at = None
        self.rewind()

    def came_back(self, added: int) -> None:
        """The endpoint is back, or is down: what is added from now on is fresh, all else is not."""
        if not self.fifo:  # in order is in order
            self._fresh_from = added + 1
        self.rewind()

    def read_on(self) -> None:
        """More may have been added than was read."""
        self._ready, self._fresh = self._ready.again(), self._fresh.again()

    def all_read(self) -> bool:
        """Whether all that may be sent now was read, as far as is known."""
        return self.ready_read() and self._due.all_read

    def ready_read(self) -> bool:
        """The same of all that waits for no time of its own."""
        read = self._resends.all_read and self._ready.all_read
        return read and (self._fresh_from is None or self._fresh.all_read)

    # --- Asking ---------------------------------------------------------------------------------

    def wants(self, room: int, now: float, phase: Phase) -> list[Want]:
        """What to ask the store for, to have `room` rows at hand."""
        wants = []
        if not self._resends.all_read:
            wants.append(self._resends.want(self.lane, Stream.RESEND, EARLY))
        ready = self._ready.wants(room)
        fresh = self._fresh_from is not None and self._fresh.wants(room)
        if phase is OPEN and ready and fresh:  # thousands of lanes have one at hand each
            ready, fresh = not self._fresh_next, self._fresh_next
        if ready:
            wants.append(self._ready.want(self.lane, Stream.READY, room, self._fresh_from))
        if fresh:
            wants.append(self._fresh.want(self.lane, Stream.READY, room))
        if room > len(self._due.rows) and self._is_due(now):
            wants.append(self._due.want(self.lane, Stream.WAITING, room))
        if not self._early.all_read and (self.fifo or self._probes(phase)):
            wants.append(self._early.want(self.lane, Stream.EARLY, EARLY if self.fifo else room))
        return wants

    def _is_due(self, now: float) -> bool:
        """Whether something may be due that is not at hand."""
        if now < self._due_from:
            return False
        if not self._due.all_read:
            return True
        return self.next_due_at is not None and self.next_due_at <= now

    def _probes(self, phase: Phase) -> bool:
        """Whether a probe may have to take one that is not due yet."""
        nothing = not (self._ready.rows or self._fresh.rows or self._due.rows or self._early.rows)
        return phase is OPEN and self._ready.all_read and nothing

    def ask(self) -> None:
        """The store is being asked: when it has answered, what is busy now may be settled."""
        self._were_busy = frozenset(self.busy) if self.busy else _NONE
        self._were_resending = self._resending
        self._heard = None

    # --- Taking ---------------------------------------------------------------------------------

    def take(self, want: Want, rows: Sequence[Due], *, cut: bool, fetched: Fetched) -> None:
        """Rows that a want brought; without `cut` fewer than it asked for are all there are.

        `fetched` is the whole answer of the store.
        """
        all_read = not rows or (len(rows) < want.limit and not cut)
        match want.stream:
            case Stream.RESEND:
                self._take_resends(rows, all_read=all_read)
            case Stream.READY:
                fresh = self._fresh_from is not None and want.before is None
                self._take_ready(rows, fresh=fresh, all_read=all_read)
                if all_read and want.before is None:  # this want goes up to the lane's end
                    self.read_to = max(self.read_to, fetched.added.get(self.lane, 0))
            case Stream.WAITING:
                self.next_due_at = fetched.next_due_at.get(self.lane) if all_read else 0.0
                self._take_due(rows, all_read=all_read)
            case Stream.EARLY:
                self._take_early(rows, all_read=all_read)

    def _take_resends(self, rows: Sequence[Due], *, all_read: bool) -> None:
        """What somebody asked for; it is there until it was settled."""
        at_hand = {row.resend for row in self._resends.rows}
        known = self._resending | self._were_resending | at_hand
        kept = self._kept([row for row in rows if row.resend not in known])
        # They are always asked for from the first. If all that came are known, there is no use in
        # asking for those behind them before one of these is settled, and all is read anew.
        self._resends = self._resends.on(rows, kept, all_read=all_read or not kept)

    def _take_ready(self, rows: Sequence[Due], *, fresh: bool, all_read: bool) -> None:
        """What may go at once: fresh, or of the backlog."""
        free = [row for row in rows if self._is_free(row.seq)]
        kept = self._kept(self._not_put_off(free) if self._moments.known else free)
        if fresh:
            self._fresh = self._fresh.on(rows, kept, all_read=all_read)
            return
        self._ready = self._ready.on(rows, kept, all_read=all_read)
        if all_read and self._fresh_from is not None and not self._moments.waiting:
            # The backlog is read: from here on all is one stream.
            self._ready = self._fresh.behind(self._ready)
            self._fresh, self._fresh_from = UNREAD, None

    def _not_put_off(self, rows: Sequence[Due]) -> list[Due]:
        """Have those wait for their moment that had one when they were forgotten; the others."""
        known = self._moments.known
        self._moments = self._moments.recall({row.seq for row in rows})
        for row in rows:
            if row.seq in known:
                self.later(row, known[row.seq])
        return [row for row in rows if row.seq not in self.busy]

    def _take_due(self, rows: Sequence[Due], *, all_read: bool) -> None:
        """What waited for a time of its own, which has come."""
        kept = self._kept([row for row in rows if self._is_free(row.seq)])
        self._due = self._due.on(rows, kept, all_read=all_read)
        if self._heard is not None:  # the store may have looked before, and what it found was busy
            self.due_at(self._heard)

    def _take_early(self, rows: Sequence[Due], *, all_read: bool) -> None:
        """What waits for a time of its own that has not come."""
        if self.fifo:  # what waits is the head, and holds up all others until it is due
            self._early = EMPTY
            for row in rows:
                if self._is_free(row.seq):
                    self._take_head(row)
            return
        at_hand = {row.seq for row in self._early.rows}
        free = [row for row in rows if self._is_free(row.seq) and row.seq not in at_hand]
        self._early = self._early.on(rows, self._kept(free), all_read=all_read)
        self._left_behind = self._left_behind or bool(rows)

    def _take_head(self, row: Due) -> None:
        """Have a row go before all others, also those that are due as well."""
        self._gone(twin for twin in self._due.rows if twin.seq == row.seq)
        self._due = self._due.without(row.seq)
        self.later(row, row.due_at or 0.0)

    def _is_free(self, seq: int) -> bool:
        return seq not in self.busy and seq not in self._were_busy

    # --- Keeping --------------------------------------------------------------------------------

    def is_busy(self, seq: int) -> None:
        """A row that is not to be handed out as long as something happens to it."""
        self.busy = put(self.busy, seq, _ON_ITS_WAY)

    def goes_again(self, seq: int) -> None:
        """A row that is being settled, and goes again in a moment: the lane is not idle yet."""
        self.busy = put(self.busy, seq, _GOES_AGAIN)

    def give_back(self, seq: int) -> None:
        """A row that is being settled as ready, as if it had not failed: it is read again.

        It may be at hand as it was.
        """
        self.is_busy(seq)
        self.rewind()

    def later(self, row: Due, at: float) -> None:
        """A row that is sent again at an instant, from memory if there is room for it."""
        if self._moments.full and not self.fifo:
            self.behind(row.seq)
            return
        self.is_busy(row.seq)
        self._kept((row,))
        self._moments = self._moments.add(row, at)

    def behind(self, seq: int) -> None:
        """A row that is ready still, and will be found by a rewind.

        In an ordered lane it goes before all that was read since: that is read again at once.
        """
        self.busy = without(self.busy, seq)
        if self.fifo:
            self.rewind()
        else:
            self._left_behind = True

    def due_at(self, at: float) -> None:
        """A row waits in the store for a time of its own.

        If all that is due by then was read already, it was passed over as busy.
        """
        self._heard = at if self._heard is None else min(at, self._heard)
        self._left_behind = self._left_behind or at <= self._due.due_at
        if self.next_due_at is None or at < self.next_due_at:
            self.next_due_at = at

    def _kept(self, rows: Sequence[Due]) -> Rows:
        """Rows that are in memory from now on, and accounted for."""
        self._buffered.add(_size(rows))
        return tuple(rows)

    def _gone(self, rows: Iterable[Due]) -> None:
        """Rows that are not in memory any more."""
        self._buffered.remove(_size(rows))

    # --- Handing out ----------------------------------------------------------------------------

    def next(self, now: float, phase: Phase) -> Due | None:
        """The delivery whose turn it is, now on its way; None if none is at hand."""
        if self._resends.rows:
            asked, self._resends = self._resends.first()
            self._resending |= {asked.resend}
            return self._out(asked)
        row = self._head(now, phase) if self.fifo else self._any(now, phase)
        if row is None:
            return None
        self.is_busy(row.seq)
        if self._early.rows:  # it may have been read before it was due as well
            self._gone(twin for twin in self._early.rows if twin.seq == row.seq)
            self._early = self._early.without(row.seq)
        return self._out(row)

    def _out(self, row: Due) -> Due:
        self._buffered.remove(len(row.payload or b""))
        return row

    def _head(self, now: float, phase: Phase) -> Due | None:
        """The first of an ordered lane: what waits for its moment holds up all others."""
        if self._moments.waiting:
            ripe = self._moments.next_at <= now or phase is OPEN
            return self._first_ripe() if ripe else None
        due, ready = self._due.rows, self._ready.rows
        if due and (not ready or due[0].seq < ready[0].seq):
            return self._first_due()
        return self._first_ready() if ready else None

    def _any(self, now: float, phase: Phase) -> Due | None:
        """Fresh ones and the backlog by turns; for a probe also one that is not due yet.

        In the backlog one that goes again follows upon two that do not: where every other message
        fails, those that do would go over and over before any that does not.
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
            if ready and (self._since_again < SELDOM or not again):
                self._since_again += 1
                return self._first_ready()
            self._since_again = 0
            return self._first_ripe() if ripe else self._first_due()
        if not self._early.rows or phase is not OPEN:
            return None
        early, self._early = self._early.first()
        return early

    def _first_ripe(self) -> Due:
        row, self._moments = self._moments.first()
        return row

    def _first_due(self) -> Due:
        row, self._due = self._due.first()
        return row

    def _first_ready(self) -> Due:
        row, self._ready = self._ready.first()
        return row

    # --- Taking back ----------------------------------------------------------------------------

    def put_off(self, row: Due, until: float) -> None:
        """A row that was due and has to wait a little still, and maybe all that are due with it."""
        if not self._moments.full:
            self.later(row, until)
            return
        self.busy = without(self.busy, row.seq)
        self._kept((row,))
        self._due = self._due.back(row)
        self._due_from = until

    def done(self, row: Due) -> None:
        """A row that was settled and needs no more thought."""
        if row.resend:
            self._resending -= {row.resend}
        else:
            self.busy = without(self.busy, row.seq)

    # --- Looking ahead --------------------------------------------------------------------------

    def at_hand(self, now: float) -> int:
        """How many rows can be sent without asking the store."""
        if self.fifo and self._moments.waiting:  # the head waits, and all others with it
            return len(self._resends.rows)
        due = len(self._due.rows) if now >= self._due_from else 0
        return len(self._resends.rows) + due + len(self._ready.rows) + len(self._fresh.rows)

    def new_run_low(self, few: int) -> bool:
        """Whether all that is at hand, or nearly, goes again, and something would go before it."""
        return not self._ready.all_read and len(self._ready.rows) <= few

    def next_in(self, now: float, phase: Phase) -> bool:
        """Whether one that waits for its moment, or an early one for a probe, can go now."""
        if self._moments.next_at <= now:
            return True
        head = self._moments.waiting if self.fifo else ()
        return phase is OPEN and bool(head or self._early.rows)

    def next_at(self) -> float | None:
        """When there will be something to send that is not at hand now; None: not known of any."""
        at = self._moments.next_at
        if not self.fifo and (self._due.rows or not self._due.all_read):
            at = min(at, self._due_from)
        elif self.next_due_at is not None:
            at = min(at, max(self.next_due_at, self._due_from))
        return None if at == math.inf else at

    def turn_back(self, phase: Phase) -> bool:
        """Begin again at the start if something was left behind, and all else is read.

        At a pace it does not wait for what is due: that may go on and on.
        """
        if not self._left_behind:
            return False
        if phase is PACED and not self.fifo:
            ready = self._resends.rows or self._ready.rows or self._fresh.rows
            if ready or not self.ready_read():
                return False
        elif self._waits() or not self.all_read():
            return False
        if phase is OPEN:  # all that was read has failed: what comes behind it is fresh
            self.came_back(max(self._ready.seq, self._fresh.seq))
        else:
            self.rewind()
        return True

    def drained(self) -> bool:
        """Whether all was read and handed out and settled, and nothing is to come."""
        waits = self.next_due_at is not None or self.busy or self._resending
        return self.idle() and not waits

    def idle(self) -> bool:
        """Whether nothing could be sent now, or in a moment, that is not on its way."""
        waits = self._waits() or self._moments.waiting or self._left_behind
        return self.all_read() and not waits and not any(self.busy.values())

    def _waits(self) -> bool:
        return bool(self._resends.rows or self._due.rows or self._ready.rows or self._fresh.rows)


def _size(rows: Iterable[Due]) -> int:
    return sum([len(row.payload or b"") for row in rows])
