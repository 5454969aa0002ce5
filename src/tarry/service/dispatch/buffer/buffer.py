"""What waits in a lane, as far as it is in memory: which row goes next, and when the next will."""

import math

from tarry.core.pace import Phase
from tarry.service.dispatch.buffer.intake import Intake
from tarry.service.dispatch.sparse import without
from tarry.service.model.lane import Due

SELDOM = 2
"""After how many others of the backlog one goes that goes again."""


class Buffer(Intake):
    """Hands out the rows of one lane: each once, and each stream in its order."""

    __slots__ = ()

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
        self._buffered.bytes -= len(row.payload or b"")
        return row

    def _head(self, now: float, phase: Phase) -> Due | None:
        """The first of an ordered lane: what waits for its moment holds up all others."""
        if self._moments.waiting:
            ripe = self._moments.next_at <= now or phase is Phase.OPEN
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
        if self._fresh.rows and (phase is Phase.CLOSED or self._fresh_next or not old):
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
        if not self._early.rows or phase is not Phase.OPEN:
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
        return phase is Phase.OPEN and bool(head or self._early.rows)

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
        if phase is Phase.PACED and not self.fifo:
            ready = self._resends.rows or self._ready.rows or self._fresh.rows
            if ready or not self.ready_read():
                return False
        elif self._waits() or not self.all_read():
            return False
        if phase is Phase.OPEN:  # all that was read has failed: what comes behind it is fresh
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
        return self.all_read() and not waits

    def _waits(self) -> bool:
        return bool(self._resends.rows or self._due.rows or self._ready.rows or self._fresh.rows)
