"""The lists of what is to be done for lanes, one for each loop of the dispatcher.

Lanes put themselves on these lists. The loop that works a list off is woken when the list gets its
first entry, and takes out what it works on. What could not be done is put back.
"""

import logging
from collections.abc import Iterable
from itertools import islice
from typing import Generic, Protocol, TypeVar

from tarry.service.dispatch.lane.endpoint_record import joined
from tarry.service.dispatch.loops import Signals
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.lane import Change, Due

log = logging.getLogger("tarry.service")


class Ticking(Protocol):
    """A lane or an origin that looks at its answers every tick, as long as it has to."""

    def tick(self, now: float) -> bool:
        """Look at the answers; return whether to be asked again."""


LaneT = TypeVar("LaneT", bound=Ticking)


class Work(Generic[LaneT]):
    """What lanes want done.

    `finished` and `changes` are written to the store, `hungry` lanes are fed, `resting` lanes are
    put to sleep, `ticking` ones look at their answers, and the lanes `to_load` are read again.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self.finished: list[tuple[LaneT, Due, Settlement | Resent]] = []
        self.unsettled = 0
        """How many attempts have ended whose outcome is not written yet."""
        self.changes: dict[int, Change] = {}
        self.hungry: dict[LaneT, None] = {}
        self.resting: dict[LaneT, None] = {}
        self.ticking: dict[Ticking, None] = {}
        self.to_load: dict[int, None] = {}
        """Lanes to be loaded, by number: new ones, and those whose endpoints changed."""
        self._stopped: dict[LaneT, None] = {}
        """Lanes that send nothing because too much is not written yet."""

    # --- Settlements and changes ----------------------------------------------------------------

    def finish(self, lane: LaneT, due: Due, settlement: Settlement | Resent) -> None:
        """Have the outcome of an attempt written."""
        self.unsettled += 1
        if not self.finished:
            self._signals.settle.set()
        self.finished.append((lane, due, settlement))

    def take_finished(self, most: int) -> list[tuple[LaneT, Due, Settlement | Resent]]:
        """Take out the oldest outcomes."""
        batch, self.finished = self.finished[:most], self.finished[most:]
        return batch

    def put_back_finished(self, finished: Iterable[tuple[LaneT, Due, Settlement | Resent]]) -> None:
        """Put outcomes that were not written before those that came later."""
        self.finished[:0] = finished
        self._signals.settle.set()

    def wrote(self, number: int) -> dict[LaneT, None]:
        """Take in that outcomes were written; return the lanes that may send again."""
        self.unsettled -= number
        stopped, self._stopped = self._stopped, {}
        return stopped

    def stop(self, lane: LaneT) -> None:
        """Have a lane wait until outcomes were written."""
        self._stopped[lane] = None

    def change(self, change: Change) -> None:
        """Have a change of a lane written with the next settlements."""
        for notice in change.notices:
            # One endpoint is worth a warning; its messages may be many.
            level = logging.INFO if notice.kind.startswith("message.") else logging.WARNING
            log.log(level, "%s: %s %s", notice.kind, notice.endpoint, notice.facts)
        if not self.changes:
            self._signals.settle.set()
        self.changes[change.lane] = joined(self.changes.get(change.lane), change)

    def take_changes(self) -> dict[int, Change]:
        """Take out all changes, by lane."""
        changes, self.changes = self.changes, {}
        return changes

    def put_back_change(self, change: Change) -> None:
        """Put back a change that was not written; what came later counts more."""
        later = self.changes.get(change.lane)
        self.changes[change.lane] = change if later is None else joined(change, later)
        self._signals.settle.set()

    def write_origins(self) -> None:
        """Have what was learned of origins written."""
        self._signals.share.set()

    # --- Lanes ----------------------------------------------------------------------------------

    def feed(self, lane: LaneT) -> None:
        """Have rows read for a lane."""
        if not self.hungry:
            self._signals.feed.set()
        self.hungry[lane] = None

    def take_hungry(self, most: int) -> list[LaneT]:
        """Take out the lanes that have waited longest for rows."""
        lanes = list(islice(self.hungry, most))
        for lane in lanes:
            del self.hungry[lane]
        return lanes

    def let_rest(self, lane: LaneT) -> None:
        """Have the store asked whether a lane may sleep."""
        if not self.resting:
            self._signals.settle.set()
        self.resting[lane] = None

    def take_resting(self) -> list[LaneT]:
        """Take out all lanes that want to sleep."""
        resting, self.resting = self.resting, {}
        return list(resting)

    def tick(self, ticking: Ticking) -> None:
        """Have a lane or an origin look at its answers every tick."""
        if not self.ticking:
            self._signals.tick.set()
        self.ticking[ticking] = None

    def stop_ticking(self, ticking: Ticking) -> None:
        """Take a lane or an origin off the list of those that tick."""
        self.ticking.pop(ticking, None)

    def load(self, lanes: Iterable[int]) -> None:
        """Have lanes loaded soon, also those that are in memory already."""
        self.add_to_load(lanes)
        if self.to_load:
            self._signals.load.set()

    def add_to_load(self, lanes: Iterable[int]) -> None:
        """Put lanes on the list of those to load, for whoever loads them now."""
        self.to_load.update(dict.fromkeys(lanes))

    def take_to_load(self, most: int) -> list[int]:
        """Take out lanes to be loaded."""
        numbers = list(islice(self.to_load, most))
        for number in numbers:
            del self.to_load[number]
        return numbers

    def check_leases(self) -> None:
        """Have the leases renewed now: one may have been lost."""
        self._signals.renew.set()

    def forget(self, lane: LaneT) -> None:
        """Take a lane off all lists; its outcomes are written all the same."""
        self.hungry.pop(lane, None)
        self.resting.pop(lane, None)
        self._stopped.pop(lane, None)
        self.ticking.pop(lane, None)
