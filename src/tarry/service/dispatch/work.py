"""The work of a dispatcher's loops: signals that wake them, lists of work, and how a loop repeats.

Lanes put themselves on the lists. The loop of a list is woken when the list gets its first entry,
and takes out the entries that it works on. It puts back entries that could not be done.

- `Signals`: the event that each loop waits for when it has nothing to do.
- `Work`: the lists.
- `repeat`: repeats a step, and waits while the database is unavailable.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Generic, Protocol, TypeVar

from tarry.core.backoff import Exponential
from tarry.core.jitter import Full
from tarry.core.policy import Policy
from tarry.errors import StoreError
from tarry.service.dispatch.lane.endpoint_record import joined
from tarry.service.dispatch.notice_text import notice_text
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.lane import Change, Due

log = logging.getLogger("tarry.service")

# --- Signals ------------------------------------------------------------------------------------


class Signals:
    """One event for each loop. Code that leaves work for a loop sets the loop's event."""

    def __init__(self) -> None:
        self.renew = asyncio.Event()
        self.own = asyncio.Event()
        self.load = asyncio.Event()
        self.read_rows = asyncio.Event()
        self.settle = asyncio.Event()
        self.tick = asyncio.Event()
        self.share = asyncio.Event()
        self.upkeep = asyncio.Event()
        self.stop = asyncio.Event()
        """Set when the dispatcher is to stop, and never cleared: nothing more is sent."""

    def store_has_news(self) -> None:
        """Wake the loops that read new work from the store."""
        self.load.set()
        self.upkeep.set()


# --- Lists --------------------------------------------------------------------------------------


class Ticking(Protocol):
    """A lane or an origin that evaluates its answers every tick, as long as it needs to."""

    def tick(self, now: float) -> bool:
        """Evaluate the answers; return whether to call this again at the next tick."""


LaneT = TypeVar("LaneT", bound=Ticking)


class Work(Generic[LaneT]):
    """The lists of work that lanes have for the loops.

    `finished` and `changes` are written to the store. Rows are read for lanes that `need_rows`,
    `resting` lanes are put to sleep, `ticking` lanes and origins evaluate their answers, and the
    lanes `to_load` are read from the store.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self.finished: list[tuple[LaneT, Due, Settlement | Resent]] = []
        self.unsettled = 0
        """The number of attempts that have ended and whose outcomes are not written yet."""
        self.changes: dict[int, tuple[LaneT, Change]] = {}
        """By the number of the lane, with the lane whose lease it is written under."""
        self.need_rows: dict[LaneT, None] = {}
        self.resting: dict[LaneT, None] = {}
        self.ticking: dict[Ticking, None] = {}
        self.to_load: dict[int, None] = {}
        """The numbers of lanes to load: new ones, and those whose endpoints changed."""

    # --- Settlements and changes ----------------------------------------------------------------

    def finish(self, lane: LaneT, due: Due, settlement: Settlement | Resent) -> None:
        """Put the outcome of an attempt on the list to be written."""
        self.unsettled += 1
        if not self.finished:
            self._signals.settle.set()
        self.finished.append((lane, due, settlement))

    def take_finished(self, most: int) -> list[tuple[LaneT, Due, Settlement | Resent]]:
        """Take out up to `most` outcomes, the oldest first."""
        batch, self.finished = self.finished[:most], self.finished[most:]
        return batch

    def put_back_finished(self, finished: Iterable[tuple[LaneT, Due, Settlement | Resent]]) -> None:
        """Put unwritten outcomes back, in front of those that came later."""
        self.finished[:0] = finished
        self._signals.settle.set()

    def wrote(self, number: int) -> None:
        """Count outcomes that were written."""
        self.unsettled -= number

    def change(self, lane: LaneT, change: Change) -> None:
        """Put a change of a lane on the list: it is written with the next settlements."""
        for notice in change.notices:
            # An endpoint is worth a warning. A message is not: there may be many of them.
            level = logging.INFO if notice.kind.startswith("message.") else logging.WARNING
            log.log(level, "%s", notice_text(notice))
        if not self.changes:
            self._signals.settle.set()
        _, earlier = self.changes.get(change.lane, (lane, None))
        self.changes[change.lane] = (lane, joined(earlier, change))

    def take_changes(self) -> list[tuple[LaneT, Change]]:
        """Take out all changes, each with its lane."""
        changes, self.changes = self.changes, {}
        return list(changes.values())

    def put_back_change(self, lane: LaneT, change: Change) -> None:
        """Put back a change that was not written; later changes of the lane override it."""
        later = self.changes.get(change.lane)
        self.changes[change.lane] = (
            (lane, change) if later is None else (later[0], joined(change, later[1]))
        )
        self._signals.settle.set()

    def write_origins(self) -> None:
        """Wake the loop that writes the records of origins."""
        self._signals.share.set()

    # --- Lanes ----------------------------------------------------------------------------------

    def request_rows(self, lane: LaneT) -> None:
        """Put a lane on the list of those that need rows."""
        if not self.need_rows:
            self._signals.read_rows.set()
        self.need_rows[lane] = None

    def take_lanes_that_need_rows(self, most: int) -> list[LaneT]:
        """Take out up to `most` lanes, those first that have waited longest for rows."""
        lanes = list(islice(self.need_rows, most))
        for lane in lanes:
            del self.need_rows[lane]
        return lanes

    def let_rest(self, lane: LaneT) -> None:
        """Put a lane on the list of those for which the store is asked whether they may sleep."""
        if not self.resting:
            self._signals.settle.set()
        self.resting[lane] = None

    def take_resting(self) -> list[LaneT]:
        """Take out all lanes that have nothing more to read."""
        resting, self.resting = self.resting, {}
        return list(resting)

    def tick(self, ticking: Ticking) -> None:
        """Have a lane or an origin evaluate its answers every tick."""
        if not self.ticking:
            self._signals.tick.set()
        self.ticking[ticking] = None

    def stop_ticking(self, ticking: Ticking) -> None:
        """Take a lane or an origin off the list of those that tick."""
        self.ticking.pop(ticking, None)

    def load(self, lanes: Iterable[int]) -> None:
        """Have lanes loaded soon, including those that are in memory already."""
        self.add_to_load(lanes)
        if self.to_load:
            self._signals.load.set()

    def add_to_load(self, lanes: Iterable[int]) -> None:
        """Put lanes on the list of those to load, without waking the loop."""
        self.to_load.update(dict.fromkeys(lanes))

    def take_to_load(self, most: int) -> list[int]:
        """Take out up to `most` lanes to load."""
        numbers = list(islice(self.to_load, most))
        for number in numbers:
            del self.to_load[number]
        return numbers

    def check_leases(self) -> None:
        """Wake the loop that renews leases: one may have been lost."""
        self._signals.renew.set()

    def forget(self, lane: LaneT) -> None:
        """Take a lane off all lists. Its outcomes are written nevertheless."""
        self.need_rows.pop(lane, None)
        self.resting.pop(lane, None)
        self.ticking.pop(lane, None)


# --- Loops --------------------------------------------------------------------------------------

AGAIN = Policy(backoff=Exponential(base=0.1, cap=2.0), jitter=Full(), attempts=None, within=None)
"""When to retry a step after an error of the database."""


async def repeat(
    step: Callable[[], Awaitable[None]],
    every: float | None,
    *,
    signal: asyncio.Event | None = None,
    draw: Callable[[], float],
    recovered: Callable[[], None] = lambda: None,
) -> None:
    """Repeat a step without end: after `every` seconds, or when its signal is set.

    `recovered` is called after the first success that follows a failure of the database.
    """
    failures = 0
    while True:
        try:
            await step()
            if failures:
                log.warning("step %s works again", step.__name__.strip("_"))
                recovered()
            failures, pause = 0, every
        except StoreError as error:
            failures += 1
            pause, _ = AGAIN.wait(failures, None, draw())
            if failures == 1:
                log.warning("step %s failed and is retried: %s", step.__name__.strip("_"), error)
            await asyncio.sleep(pause)
            continue
        if signal is None:
            await asyncio.sleep(pause or 0.0)
        else:
            await wait_for(signal, pause)


async def wait_for(signal: asyncio.Event, longest: float | None) -> None:
    """Wait until the signal is set, at most `longest` seconds, and clear it."""
    if not signal.is_set():
        loop = asyncio.get_running_loop()
        timer = None if longest is None else loop.call_later(longest, signal.set)
        try:
            await signal.wait()
        finally:
            if timer is not None:
                timer.cancel()
    signal.clear()
