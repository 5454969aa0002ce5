"""A lane: one endpoint's queue, with what is known of the endpoint; and who may work on it."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Standing


class Lease(Struct, frozen=True):
    """A shard, owned for a while: `worker` is a random id of one process, `epoch` grows by one.

    `clean` tells that the owner before gave it back itself, with nothing on its way.
    """

    shard: int
    epoch: int
    worker: str
    clean: bool = True


class Known(Struct, frozen=True, kw_only=True, gc=False):  # it holds values alone: no cycle
    """What a lane has learned and must not forget.

    `pace` is the pacer's state as JSON, learned from `origin`: another origin starts anew.
    `accepted_at` is the last success. `failing_since` the first failure after it, `failures` how
    many there were; `warned` is the last warning about it, as a share of the time until the
    endpoint is parked.
    """

    pace: bytes = b""
    origin: str = ""
    accepted_at: float | None = None
    failing_since: float | None = None
    failures: int = 0
    warned: float = 0.0


class LaneRow(Struct, frozen=True, kw_only=True):
    """A lane as it is stored. So many deliveries wait as were `added` and have not `ended`.

    `version` grows with every change of the endpoint or the application, whoever makes it.
    """

    endpoint: Endpoint
    application: Application
    known: Known = Known()
    added: int = 0
    ended: int = 0
    version: int = 1

    @property
    def lane(self) -> int:
        """Its number."""
        return self.endpoint.lane

    @property
    def waiting(self) -> int:
        """How many deliveries have not ended, those on their way included."""
        return self.added - self.ended


class Notice(Struct, frozen=True, kw_only=True):
    """Something an endpoint's owner should hear of."""

    id: str
    application: str
    endpoint: str
    kind: str
    """For example ``endpoint.disabled``, ``endpoint.failing``, ``message.exhausted``."""
    facts: dict[str, str | float | int | None]
    at: float


Noting = Callable[[Endpoint | None, Endpoint], Sequence[Notice]]
"""Makes the notices of an endpoint that is made or changed: as it was, if it was, and as it is."""


class Change(Struct, frozen=True, kw_only=True):
    """What an owner writes down about a lane: what it knows, how the endpoint stands since `at`.

    `epoch` is that of the owner's lease. What a new standing does to the endpoint is for
    `Endpoint.stand` to say.
    """

    lane: int
    epoch: int
    at: float
    known: Known | None = None
    standing: Standing | None = None
    notices: tuple[Notice, ...] = ()


class Stream(StrEnum):
    """What is asked of a lane's queue."""

    READY = "ready"  # by sequence, behind `after` and before `before`
    WAITING = "waiting"  # by due time, due by now, behind (`due_after`, `after`)
    EARLY = "early"  # likewise, whether due or not, but not SCHEDULED: for probes
    RESEND = "resend"  # somebody asked for it


class Want(Struct, frozen=True, kw_only=True):
    """What a lane would like to send next, at most `limit` of it."""

    lane: int
    stream: Stream
    limit: int
    after: int = 0
    before: int | None = None
    due_after: float = 0.0


class Due(Struct, frozen=True, kw_only=True, gc=False):  # it holds values alone: no cycle
    """A delivery that may be sent, with its message's bytes.

    Of a resend the `resend` is set, and nothing is told of its delivery: `seq` and counts are 0,
    `accepted_at` is the message's.
    """

    lane: int
    seq: int
    stream: Stream
    message: str
    event_type: str
    payload: bytes | None
    accepted_at: float
    due_at: float | None = None
    tries: int = 0
    attempts: int = 0
    memory: float | None = None
    resend: str = ""
    content_type: str | None = None


class Fetched(Struct, frozen=True):
    """What the wants brought, in the order of the wants.

    `next_due_at` is when the next delivery is due, for each lane that asked for what is due and has
    one that is not due yet. For each lane that asked at all, `added` is how many were added so far
    and `versions` which version it had: what was accepted after a change comes with that or later.
    """

    due: list[Due]
    next_due_at: dict[int, float]
    added: dict[int, int]
    versions: dict[int, int]
