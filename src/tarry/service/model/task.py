"""Long work on a lane's deliveries or an application's messages: durable, done in small pieces."""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import blake2b
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
    """The kinds of tasks."""

    RECOVER = "endpoint.recover"  # make deliveries that failed since a time ready again
    REPLAY_MISSING = "endpoint.replay-missing"  # deliver messages that were never sent here
    BULK_REPLAY = (
        "endpoint.bulk-replay"  # deliver the selected messages, again or for the first time
    )
    DISCARD = "endpoint.discard"  # discard the live deliveries of a deleted endpoint
    ERASE = "endpoint.erase"  # discard the live deliveries whose payloads were erased
    PURGE_CONTENT = "application.purge_content"  # expunge the payloads of all messages
    APP_STATS = "application.stats"  # count the deliveries of each application
    EVENT_TYPE_STATS = "event-type.aggregate"  # list the event types each application subscribes to


STATISTICS = frozenset({Work.APP_STATS, Work.EVENT_TYPE_STATS})
"""They change nothing. They run beside all other work, and start again if interrupted."""
IN_PIECES = frozenset(Work) - STATISTICS
"""Done by a store, each piece in one commit together with its progress."""

REPLAYS = frozenset({Work.RECOVER, Work.REPLAY_MISSING, Work.BULK_REPLAY})
"""Tasks that deliver messages to one endpoint again, on request."""
MOST_PENDING = 10
"""Replays of one endpoint that may be pending, running ones included."""

COUNTED: Mapping[Work, str] = {
    Work.RECOVER: "messagesSent",
    Work.REPLAY_MISSING: "messagesSent",
    Work.BULK_REPLAY: "messagesSent",
    Work.DISCARD: "deliveriesDiscarded",
    Work.ERASE: "deliveriesDiscarded",
    Work.PURGE_CONTENT: "messagesPurged",
}
"""The name of the count in the `data` of a finished task."""


MISSING = ReplayFilter(fate=Fate.NEVER)

Tenant = tuple[str, str]
"""Takes turns at tasks: an application, or a whole environment with an empty application."""
FIRST_TENANT: Tenant = ("", "")
"""Sorts before every tenant."""


class Piece(Struct, frozen=True):
    """A finished piece of a task: its count, the new cursor, and whether it was the last."""

    done: int
    cursor: str
    last: bool


class Task(Struct, frozen=True, kw_only=True):
    """A task. It has `done` deliveries so far; `cursor` is where it continues.

    It is over when `finished_at` is set. It covers messages accepted in [`since`, `until`); a
    bulk replay covers those of them that fit `wanted`. Without an endpoint, the lane is 0.
    `data` holds the result in the end, and before that further parameters. `failed` says why
    there is no result.
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
        """The tenant whose turn this task uses: its application and its environment."""
        return self.application, self.environment

    @property
    def end(self) -> float:
        """`until`, or infinity."""
        return math.inf if self.until is None else self.until

    @property
    def place(self) -> tuple[float, str]:
        """The message that it processed last, as (accepted at, id); at first its `since`.

        This is for work on an application's messages; see `behind`.
        """
        at, _, message_id = self.cursor.partition(" ")
        return (float(at), message_id) if at else (self.since, FIRST)

    @property
    def replays(self) -> ReplayFilter:
        """The messages that a replay delivers: all missing ones, or those that fit `wanted`."""
        return MISSING if self.work is Work.REPLAY_MISSING else self.wanted or ReplayFilter()

    def covers(self, other: "Task") -> bool:
        """Return whether this replay will do all that another one would: it has not started yet."""
        is_same = (self.work, self.lane, self.replays) == (other.work, other.lane, other.replays)
        is_within = self.since <= other.since and other.end <= self.end
        return is_same and is_within and not self.cursor and self.finished_at is None

    def after(self, piece: Piece, now: float) -> "Task":
        """Return the task after a piece of it."""
        done = self.done + piece.done
        if not piece.last:
            return replace(self, cursor=piece.cursor, done=done)
        data = {COUNTED[self.work]: done} if self.work in COUNTED else self.data
        return replace(self, cursor=piece.cursor, done=done, data=data, finished_at=now)

    def finished(self, result: "dict[str, Any] | Failure", now: float) -> "Task":
        """Return the task with its result, or as failed with the reason."""
        if isinstance(result, Failure):
            return replace(self, failed=mend(result.why), finished_at=now)
        return replace(self, data=result, finished_at=now)


class Failure(Struct, frozen=True):
    """Why a task could not be done."""

    why: str


def standing_for(new: Task, pending_tasks: Iterable[Task], *, pending: int, most: int) -> Task:
    """Return the replay that does the work of a new one: a known one that covers it, or itself.

    `pending` replays of the endpoint are unfinished. Raises TooManyReplays if that is `most` or
    more, and no known replay covers the new one.
    """
    covering = next((task for task in pending_tasks if task.covers(new)), None)
    if covering is None and pending >= most:
        raise TooManyReplays(new.endpoint, most)
    return covering or new


def behind(accepted_at: float, message: str) -> str:
    """Return the cursor of a task after a message."""
    return f"{accepted_at!r} {message}"


def erasing(endpoint: Endpoint, environment: str, key: str, now: float) -> Task:
    """Return the task that discards an endpoint's deliveries after its data key was erased."""
    chance = blake2b(f"{key} {endpoint.id}".encode(), digest_size=ids.CHANCE).digest()
    return Task(
        id=ids.make(ids.TASK, now=now, entropy=chance),
        work=Work.ERASE,
        environment=environment,
        application=endpoint.application,
        endpoint=endpoint.id,
        lane=endpoint.lane,
        created_at=now,
    )


def discarding(deleted: Endpoint, environment: str) -> Task:
    """Return the task that discards a deleted endpoint's deliveries; its id is always the same."""
    return Task(
        id=ids.TASK + deleted.id.removeprefix(ids.ENDPOINT),
        work=Work.DISCARD,
        environment=environment,
        application=deleted.application,
        endpoint=deleted.id,
        lane=deleted.lane,
        created_at=deleted.updated_at,
    )
