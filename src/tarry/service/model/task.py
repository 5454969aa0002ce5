"""Long work on a lane's deliveries or an application's messages: durable, in small pieces."""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import TooManyReplays
from tarry.service.model import ids
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.listing import FIRST
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.text import mend


class Work(StrEnum):
    """What a task does."""

    RECOVER = "endpoint.recover"  # failed since: they are ready again
    REPLAY_MISSING = "endpoint.replay-missing"  # never sent here: they are delivered
    BULK_REPLAY = (
        "endpoint.bulk-replay"  # those that are wanted are delivered, once more or at last
    )
    DISCARD = "endpoint.discard"  # the endpoint was deleted: what waits is discarded
    PURGE_CONTENT = "application.purge_content"  # payloads of all messages are expunged
    APP_STATS = "application.stats"  # how much went where is counted
    EVENT_TYPE_STATS = "event-type.aggregate"  # so is who is sent which types of events


STATISTICS = frozenset({Work.APP_STATS, Work.EVENT_TYPE_STATS})
"""Counted beside all else, from the beginning if that was broken off: nothing is changed by it."""
IN_PIECES = frozenset(Work) - STATISTICS
"""Done by a store, each piece in one commit with how far it came."""

REPLAYS = frozenset({Work.RECOVER, Work.REPLAY_MISSING, Work.BULK_REPLAY})
"""What people ask to be delivered again to one endpoint."""
MOST_PENDING = 10
"""Replays of one endpoint that may be pending: those that run and those that wait."""

COUNTED: Mapping[Work, str] = {
    Work.RECOVER: "messagesSent",
    Work.REPLAY_MISSING: "messagesSent",
    Work.BULK_REPLAY: "messagesSent",
    Work.DISCARD: "deliveriesDiscarded",
    Work.PURGE_CONTENT: "messagesPurged",
}
"""What the `data` of a finished task calls that which was done."""


MISSING = ReplayFilter(fate=Fate.NEVER)

Tenant = tuple[str, str]
"""Who takes turns: an application, or an environment as a whole with an empty application."""
FIRST_TENANT: Tenant = ("", "")
"""Comes before every tenant."""


class Piece(Struct, frozen=True):
    """What was done of a task: how many, up to where, and whether that was all."""

    done: int
    cursor: str
    last: bool


class Task(Struct, frozen=True, kw_only=True):
    """So far `done` deliveries; `cursor` is where it goes on. It is over when `finished_at` is set.

    It concerns messages accepted from `since` until before `until`; of these a bulk replay those
    that are `wanted`. One about no endpoint has lane 0. `data` is what came out in the end, and
    before that whatever else is asked for; `failed` says why nothing could.
    """

    id: str
    work: Work
    environment: str
    application: str = ""
    endpoint: str = ""
    lane: int = 0
    since: float = 0.0
    until: float | None = None
    wanted: ReplayFilter | None = None
    cursor: str = ""
    done: int = 0
    data: dict[str, Any] = {}
    created_at: float
    finished_at: float | None = None
    failed: str | None = None

    @property
    def tenant(self) -> Tenant:
        """Whose turn it is when this task is done: its application and its environment."""
        return self.application, self.environment

    @property
    def end(self) -> float:
        """`until`, or for ever."""
        return math.inf if self.until is None else self.until

    @property
    def place(self) -> tuple[float, str]:
        """Which message it came to last, by when that was accepted and its id; first its `since`.

        This is for work that goes through an application's messages; see `behind`.
        """
        at, _, known = self.cursor.partition(" ")
        return (float(at), known) if at else (self.since, FIRST)

    @property
    def replays(self) -> ReplayFilter:
        """Which messages a replay delivers: all that are missing, or those that are wanted."""
        return MISSING if self.work is Work.REPLAY_MISSING else self.wanted or ReplayFilter()

    def covers(self, other: "Task") -> bool:
        """Whether this replay will do all that another asks for: it has not begun yet."""
        same = (self.work, self.lane, self.replays) == (other.work, other.lane, other.replays)
        within = self.since <= other.since and other.end <= self.end
        return same and within and not self.cursor and self.finished_at is None

    def after(self, piece: Piece, now: float) -> "Task":
        """The task when a piece of it was done."""
        done = self.done + piece.done
        if not piece.last:
            return replace(self, cursor=piece.cursor, done=done)
        data = {COUNTED[self.work]: done} if self.work in COUNTED else self.data
        return replace(self, cursor=piece.cursor, done=done, data=data, finished_at=now)

    def finished(self, data: dict[str, Any], now: float) -> "Task":
        """The task when it is known what comes out."""
        return replace(self, data=data, finished_at=now)

    def given_up(self, why: str, now: float) -> "Task":
        """The task when it turned out that it cannot be done."""
        return replace(self, failed=mend(why), finished_at=now)


def standing_for(new: Task, known: Iterable[Task], *, pending: int, most: int) -> Task:
    """Return the replay that does what a new one asks for: a known one that covers it, or itself.

    `pending` replays of its endpoint are not done yet: TooManyReplays if there are `most` already,
    and none of those that are known covers the new one.
    """
    covering = next((task for task in known if task.covers(new)), None)
    if covering is None and pending >= most:
        raise TooManyReplays(new.endpoint, most)
    return covering or new


def behind(accepted_at: float, message: str) -> str:
    """The cursor of a task that came to a message."""
    return f"{accepted_at!r} {message}"


def discarding(gone: Endpoint, environment: str) -> Task:
    """What an endpoint leaves to be done that was just deleted; it has one such task for ever."""
    return Task(
        id=ids.TASK + gone.id.removeprefix(ids.ENDPOINT),
        work=Work.DISCARD,
        environment=environment,
        application=gone.application,
        endpoint=gone.id,
        lane=gone.lane,
        created_at=gone.updated_at,
    )
