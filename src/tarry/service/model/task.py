"""Long work on a lane's deliveries, done in small pieces by the lane's owner, and durable."""

from enum import StrEnum

from msgspec import Struct

from tarry.service.model import ids
from tarry.service.model.endpoint import Endpoint


class Work(StrEnum):
    """What a task does."""

    RECOVER = "endpoint.recover"  # failed since: they are ready again
    REPLAY_MISSING = "endpoint.replay-missing"  # never sent here: they are delivered
    DISCARD = "endpoint.discard"  # the endpoint was deleted: what waits is discarded


class Task(Struct, frozen=True, kw_only=True):
    """So far `done` deliveries; `cursor` is where it goes on. It is over when `finished_at` is set.

    It concerns messages accepted from `since` until before `until`.
    """

    id: str
    work: Work
    application: str
    endpoint: str
    lane: int
    since: float = 0.0
    until: float | None = None
    cursor: str = ""
    done: int = 0
    created_at: float
    finished_at: float | None = None


def discarding(gone: Endpoint) -> Task:
    """What an endpoint leaves to be done that was just deleted; it has one such task for ever."""
    return Task(
        id=ids.TASK + gone.id.removeprefix(ids.ENDPOINT),
        work=Work.DISCARD,
        application=gone.application,
        endpoint=gone.id,
        lane=gone.lane,
        created_at=gone.updated_at,
    )
