"""What waits in a lane, as far as it is in memory: a few rows of each stream, and where to go on.

Rows are read in order and handed out in order. Those that failed with the lane stay ready in the
store, behind the place where reading goes on: a rewind brings them back.
"""

import heapq
from collections.abc import Iterable, Sequence

from tarry.core.pace import Phase
from tarry.service.dispatch.spacing import LONG_AGO
from tarry.service.dispatch.sparse import NOTHING, put, without
from tarry.service.model.lane import Due, Stream, Want

LATER = 256
"""How many deliveries may wait for their moment in memory; more are read again later."""
EARLY = 16
Rows = tuple[Due, ...]
_NONE: frozenset[int] = frozenset()
_NO_RESENDS: frozenset[str] = frozenset()


class Buffered:
    """Bytes of payload that wait in memory, in all lanes together."""

    def __init__(self) -> None:
        self.bytes = 0


class Streams:
    """The rows of one lane; `busy` are on their way, or being settled, or waiting a moment.

    There is one for each of many lanes, and most of them are empty. So it has slots, and keeps rows
    in tuples and sparse dicts: empty, those take no room at all.
    """

    __slots__ = (
        *("_after", "_buffered", "_due", "_due_after", "_due_after_seq", "_due_from", "_due_read"),
        *("_early", "_early_after", "_early_after_seq", "_early_read", "_fresh", "_fresh_after"),
        *("_fresh_from", "_fresh_next", "_fresh_read", "_heard", "_later", "_left_behind"),
        *("_moments", "_ready", "_ready_read", "_resending", "_resends", "_resends_read"),
        *("_were_busy", "_were_resending", "busy", "fifo", "lane", "next_due_at", "turn"),
    )

    def __init__(self, lane: int, buffered: Buffered, *, fifo: bool) -> None:
        self.lane = lane
        self.fifo = fifo
        self._buffered = buffered
        self.busy: dict[int, None] = NOTHING
        self._were_busy = _NONE
        self.next_due_at: float | None = None
        self.turn = 0
        """Grows with every rewind: rows that were asked for before it are not taken after it."""
        self._resends: Rows = ()
        self._due: Rows = ()
        self._ready: Rows = ()
        self._fresh: Rows = ()
        self._early: dict[int, Due] = NOTHING
        self._later: list[tuple[float, int, Due]] = []
        self._moments: dict[int, float] = NOTHING
        self._resending = self._were_resending = _NO_RESENDS
        self._fresh_from: int | None = None
        self._fresh_next = False
        self._heard: float | None = None
        self._due_from = LONG_AGO
        self.rewind()

    # --- Reading --------------------------------------------------------------------------------

    def rewind(self) -> None:
        """Read everything again from the start: something was left behind."""
        self.turn += 1
        self._after = self._fresh_after = 0
        self._due_after, self._due_after_seq = 0.0, 0
        self._early_after, self._early_after_seq = 0.0, 0
        self._resends_read = self._due_read = self._early_read = False
        self._ready_read = self._fresh_read = False
        self._left_behind = False
        for rows in (self._early.values(), self._resends, self._due, self._ready, self._fresh):
            self._count(-1, rows)
        self._early = NOTHING
        self._resends = self._due = self._ready = self._fresh = ()

    def changed(self) -> None:
        """Forget all that is not on its way, but for its moment: others may have changed it."""
        if len(self._moments) > LATER:  # of rows that are not there any more
            self._moments = NOTHING
        for at, seq, row in self._later:
            self.busy = without(self.busy, seq)
            self._moments = put(self._moments, seq, at)
            self._count(-1, (row,))
        self._later.clear()
        self.next_due_at = None
        self.rewind()

    def came_back(self, added: int) -> None:
        """The endpoint is back: what is added from now on is fresh, all else the backlog."""
        if not self.fifo:  # in order is in order
            self._fresh_from = added + 1
        self.rewind()

    def read_on(self) -> None:
        """More may have been added than was read."""
        self._ready_read = self._fresh_read = False

    def wants(self, room: int, now: float, phase: Phase) -> list[Want]:
        """What to ask the store for, to have `room` rows at hand."""
        wants = []
        if not self._resends_read:
            wants.append(Want(lane=self.lane, stream=Stream.RESEND, limit=EARLY))
        if room > len(self._ready) and not self._ready_read:
            wants.append(self._ready_want(room, self._after, self._fresh_from))
        if self._fresh_from is not None and not self._fresh_read and room > len(self._fresh):
            wants.append(self._ready_want(room, max(self._fresh_after, self._fresh_from - 1), None))
        if room > len(self._due) and self._is_due(now):
            wants.append(self._waiting_want(Stream.WAITING, room))
        if not self._early_read and (self.fifo or self._probes(phase)):
            wants.append(self._waiting_want(Stream.EARLY, EARLY if self.fifo else room))
        return wants

    def _probes(self, phase: Phase) -> bool:
        """Whether a probe may have to take one that is not due yet."""
        nothing = not (self._ready or self._fresh or self._due or self._early)
        return phase is Phase.OPEN and self._ready_read and nothing

    def _is_due(self, now: float) -> bool:
        if now < self._due_from:
            return False
        if not self._due_read:
            return True
        return self.next_due_at is not None and self.next_due_at <= now

    def _ready_want(self, room: int, after: int, before: int | None) -> Want:
        return Want(lane=self.lane, stream=Stream.READY, limit=room, after=after, before=before)

    def _waiting_want(self, stream: Stream, limit: int) -> Want:
        early = stream is Stream.EARLY
        return Want(
            lane=self.lane,
            stream=stream,
            limit=limit,
            due_after=self._early_after if early else self._due_after,
            after=self._early_after_seq if early else self._due_after_seq,
        )

    def ask(self) -> None:
        """The store is being asked: when it has answered, what is busy now may be settled."""
        self._were_busy = frozenset(self.busy) if self.busy else _NONE
        self._were_resending = self._resending

    def _is_free(self, seq: int) -> bool:
        return seq not in self.busy and seq not in self._were_busy

    def take(
        self, want: Want, rows: Sequence[Due], *, now: float, cut: bool, next_due_at: float | None
    ) -> None:
        """Rows that a want brought; without `cut` fewer than it asked for are all there are.

        `now` is when the store was asked.
        """
        all_read = not rows or (len(rows) < want.limit and not cut)
        match want.stream:
            case Stream.RESEND:
                self._resends_read = all_read
                at_hand = {row.resend for row in self._resends}
                known = self._resending | self._were_resending | at_hand
                self._resends += self._kept([row for row in rows if row.resend not in known])
            case Stream.READY:
                self._take_ready(want, rows, all_read=all_read)
            case Stream.WAITING:
                self._due_read = all_read
                self.next_due_at = next_due_at if all_read else 0.0
                self._take_due(rows, now)
            case Stream.EARLY:
                self._take_early(rows, all_read=all_read)

    def _take_ready(self, want: Want, rows: Sequence[Due], *, all_read: bool) -> None:
        fresh = self._fresh_from is not None and want.before is None
        if fresh:
            self._fresh_read = all_read
            self._fresh_after = rows[-1].seq if rows else self._fresh_after
        else:
            self._ready_read = all_read
            self._after = rows[-1].seq if rows else self._after
        free = [row for row in rows if self._is_free(row.seq)]
        for row in free:
            at = self._moments.get(row.seq)
            if at is not None:
                self._moments = without(self._moments, row.seq)
                self.later(row, at)
        kept = self._kept([row for row in free if row.seq not in self.busy])
        if fresh:
            self._fresh += kept
        else:
            self._ready += kept
        if all_read and not fresh and self._fresh_from is not None and not self._later:
            self._backlog_is_read()

    def _backlog_is_read(self) -> None:
        """Nothing old is left in the store: from here on all is read as one stream."""
        self._ready, self._fresh = self._ready + self._fresh, ()
        self._after = (
            max(self._fresh_after, self._fresh_from or 0)
            if self._fresh_after
            else ((self._fresh_from or 1) - 1)
        )
        self._ready_read = self._fresh_read
        self._fresh_from = None

    def _take_due(self, rows: Sequence[Due], now: float) -> None:
        if rows:
            self._due_after, self._due_after_seq = rows[-1].due_at or 0.0, rows[-1].seq
        self._due += self._kept([row for row in rows if self._is_free(row.seq)])
        if self._heard is not None and self._heard <= now:
            self._heard = None
        if self._heard is not None:  # maybe after the store had looked
            self.due_at(self._heard)

    def _take_early(self, rows: Sequence[Due], *, all_read: bool) -> None:
        if self.fifo:  # what waits is the head, and holds up all others until it is due
            self._early_read = True
            due = {row.seq for row in self._due}  # it may be due by now, and read as such
            for row in rows:
                if self._is_free(row.seq) and row.seq not in due:
                    self.later(row, row.due_at or 0.0)
            return
        self._early_read = all_read
        self._left_behind = self._left_behind or bool(rows)
        early = [row for row in rows if self._is_free(row.seq) and row.seq not in self._early]
        self._count(1, early)
        for row in early:
            self._early = put(self._early, row.seq, row)
        if rows:
            self._early_after, self._early_after_seq = rows[-1].due_at or 0.0, rows[-1].seq

    # --- Handing out ----------------------------------------------------------------------------

    def next(self, now: float, phase: Phase) -> Due | None:
        """The delivery whose turn it is, now on its way; None if none is at hand."""
        if self._resends:
            asked, self._resends = self._resends[0], self._resends[1:]
            self._resending |= {asked.resend}
            return self._out(asked)
        row = self._head(now, phase) if self.fifo else self._any(now, phase)
        if row is None:
            return None
        self.is_busy(row.seq)
        twin = self._early.get(row.seq)
        if twin is not None:
            self._early = without(self._early, row.seq)
            self._count(-1, (twin,))
        return self._out(row)

    def is_busy(self, seq: int) -> None:
        """A row that is not to be handed out as long as something happens to it."""
        self.busy = put(self.busy, seq, None)

    def _out(self, row: Due) -> Due:
        self._count(-1, (row,))
        return row

    def _kept(self, rows: Sequence[Due]) -> Rows:
        self._count(1, rows)
        return tuple(rows)

    def _count(self, sign: int, rows: Iterable[Due]) -> None:
        """Account for the payloads of rows that come into memory, or go."""
        self._buffered.bytes += sign * sum(len(row.payload or b"") for row in rows)

    def _head(self, now: float, phase: Phase) -> Due | None:
        if self._later:
            if self._later[0][0] > now and phase is not Phase.OPEN:
                return None
            return heapq.heappop(self._later)[2]
        if self._due and (not self._ready or self._due[0].seq < self._ready[0].seq):
            return self._first_due()
        return self._first_ready() if self._ready else None

    def _any(self, now: float, phase: Phase) -> Due | None:
        ripe = bool(self._later) and self._later[0][0] <= now
        due = now >= self._due_from and bool(self._due)
        old = ripe or due or bool(self._ready)
        if self._fresh and (phase is Phase.CLOSED or self._fresh_next or not old):
            self._fresh_next = False
            first, self._fresh = self._fresh[0], self._fresh[1:]
            return first
        self._fresh_next = True
        if ripe:
            return heapq.heappop(self._later)[2]
        if old:
            return self._first_due() if due else self._first_ready()
        if not self._early or phase is not Phase.OPEN:
            return None
        early = next(iter(self._early.values()))
        self._early = without(self._early, early.seq)
        return early

    def _first_due(self) -> Due:
        first, self._due = self._due[0], self._due[1:]
        return first

    def _first_ready(self) -> Due:
        first, self._ready = self._ready[0], self._ready[1:]
        return first

    # --- Taking back ----------------------------------------------------------------------------

    def put_off(self, row: Due, until: float) -> None:
        """A row that was due and has to wait a little still, and maybe all that are due with it."""
        if len(self._later) < LATER:
            self.later(row, until)
            return
        self.busy = without(self.busy, row.seq)
        self._due = (row, *self._due)
        self._count(1, (row,))
        self._due_from = until

    def later(self, row: Due, at: float) -> None:
        """A row that is sent again at an instant, from memory if there is room for it."""
        if len(self._later) < LATER or self.fifo:
            self.is_busy(row.seq)
            self._count(1, (row,))
            heapq.heappush(self._later, (at, row.seq, row))
        else:
            self.behind(row.seq)

    def behind(self, seq: int) -> None:
        """A row that is ready still, and will be found by a rewind."""
        self.busy = without(self.busy, seq)
        self._left_behind = True

    def done(self, row: Due) -> None:
        """A row that was settled and needs no more thought."""
        if row.resend:
            self._resending -= {row.resend}
        else:
            self.busy = without(self.busy, row.seq)

    def due_at(self, at: float) -> None:
        """A row waits in the store for a time of its own."""
        self._heard = at if self._heard is None else min(at, self._heard)
        if self.next_due_at is None or at < self.next_due_at:
            self.next_due_at = at

    # --- Looking ahead --------------------------------------------------------------------------

    def at_hand(self, now: float) -> int:
        """How many rows can be sent without asking the store."""
        if self.fifo and self._later:  # the head waits, and all others with it
            return len(self._resends)
        due = len(self._due) if now >= self._due_from else 0
        return len(self._resends) + due + len(self._ready) + len(self._fresh)

    def next_in(self, now: float, phase: Phase) -> bool:
        """Whether one that waits for its moment, or an early one for a probe, can go now."""
        if self._later and (self._later[0][0] <= now or (self.fifo and phase is Phase.OPEN)):
            return True
        return phase is Phase.OPEN and bool(self._early)

    def next_at(self) -> float | None:
        """When there will be something to send that is not at hand now; None: not known of any."""
        ahead = [self._later[0][0]] if self._later else []
        if self._due and not self.fifo:
            ahead.append(self._due_from)
        elif self.next_due_at is not None:
            ahead.append(max(self.next_due_at, self._due_from))
        return min(ahead, default=None)

    def turn_back(self) -> bool:
        """Begin again at the start if something was left behind, and all else is read."""
        if not self._left_behind or self._waits() or not self.all_read():
            return False
        self.rewind()
        return True

    def drained(self) -> bool:
        """Whether all was read and handed out and settled, and nothing is to come."""
        live = self._waits() or self._later or self.busy or self._resending or self._left_behind
        return self.all_read() and not live and self.next_due_at is None

    def _waits(self) -> bool:
        return bool(self._resends or self._due or self._ready or self._fresh)

    def all_read(self) -> bool:
        """Whether all that may be sent now was read, as far as is known."""
        read = self._resends_read and self._ready_read and self._due_read
        return read and (self._fresh_from is None or self._fresh_read)
