"""Bugs in when lanes sleep, and in what wakes them."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from tarry.service.dispatch.buffer.buffer import Buffer
from tarry.service.model.lane import Fetched, Lease
from tarry.service.store.contract import Server
from tests.simulation.planted.bug import Bug, Commit

Positions = Mapping[int, int]


class DozeRule(Bug):
    """Restores the rule by which healthy lanes stalled on a busy machine."""

    story = "a read that looks for no ready rows counts as having read all rows that there are"

    def planted(self) -> AbstractContextManager[object]:
        """Advance the read position after every read, whatever it was for."""
        take = Buffer.take

        def take_and_advance(buffer: Buffer, *args: Any, fetched: Fetched, **kwargs: Any) -> None:  # noqa: ANN401  passed on
            take(buffer, *args, fetched=fetched, **kwargs)
            buffer.read_to = max(buffer.read_to, fetched.added.get(buffer.lane, 0))

        return patch.object(Buffer, "take", take_and_advance)


class BlindDoze(Bug):
    """The store lets a lane sleep only if the lane has read as far as the store has rows."""

    story = (
        "a lane that waits for retries sleeps on how many rows there are, not on how many it read"
    )

    def rest(
        self, commit: Commit, lanes: Positions, leases: object, *, doze: bool = False
    ) -> object:
        """Doze on the number that the store has."""
        if doze:
            lanes = {lane: self.data.lanes[lane].added for lane in lanes}
        return commit(lanes, leases, doze=doze)


class DroppedRest(Bug):
    """Restores the other rule by which lanes stalled."""

    story = "a lane that the store keeps awake is put to sleep all the same"

    def rest(
        self, commit: Commit, lanes: Positions, leases: object, *, doze: bool = False
    ) -> object:
        """Doze, whatever the store says."""
        resting = commit(lanes, leases, doze=doze)
        return set(lanes) if doze else resting


class UnnoticedFailover(Bug):
    """A worker notices a failover even if it made no call meanwhile."""

    story = "nobody notices that another database server answers"

    def server(self, commit: Commit) -> Server:
        """Always name the same server."""
        server: Server = commit()
        return replace(server, started_at=0.0)


class LostWakeUp(Bug):
    """A worker gets each wake-up once, and must not lose it."""

    story = "every third wake-up of a lane is forgotten on the way"

    def __init__(self) -> None:
        super().__init__()
        self._told = 0

    def woken(self, commit: Commit, leases: Sequence[Lease]) -> list[int]:
        """Forget one in three."""
        woken = []
        for lane in commit(leases):
            self._told += 1
            if self._told % 3:
                woken.append(lane)
        return woken


class ForgottenDueTime(Bug):
    """A worker learns the next due time of a lane."""

    story = "the time of the next retry is not told to the worker"

    def fetch(self, commit: Commit, *args: Any, **kwargs: Any) -> Fetched:  # noqa: ANN401  passed on
        """Return no due time."""
        fetched: Fetched = commit(*args, **kwargs)
        return replace(fetched, next_due_at={})


class SilentAdd(Bug):
    """A new delivery wakes a lane at rest."""

    story = "a message that comes to a lane at rest wakes nobody"

    def add(self, commit: Commit, *args: Any) -> object:  # noqa: ANN401  passed on
        """Take back the wake-ups."""
        before = set(self.data.woken)
        answer = commit(*args)
        self.data.woken.intersection_update(before)
        return answer
