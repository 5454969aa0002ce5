"""A lane: one endpoint's queue, its learned state, and the lease that allows work on it."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from tarry.service.model.application import Application
from tarry.service.model.audit import Action
from tarry.service.model.endpoint import Endpoint, Standing


class Lease(Struct, frozen=True):
    """Ownership of a shard for a while: `worker` is a process's random id, `epoch` counts owners.

    `clean` says that the previous owner gave the shard back itself, with no request in flight.
    """

    shard: int
    epoch: int
    worker: str
    clean: bool = True


class Known(Struct, frozen=True, kw_only=True, gc=False):  # it holds only values: no cycles
    """What a lane has learned and must not lose.

    `pace` is the pacer's state as JSON, learned from `origin`; it does not apply to another origin.
    `accepted_at` is the time of the last success, `failing_since` that of the first failure after
    it, and `failures` the number of failures since. `warned` is the last warning about them, as a
    share of the time until the endpoint is parked.
    """

    pace: bytes = b""
    origin: str = ""
    accepted_at: float | None = None
    failing_since: float | None = None
    failures: int = 0
    warned: float = 0.0


class LaneRow(Struct, frozen=True, kw_only=True):
    """A lane as it is stored. The deliveries that were `added` and have not `ended` are waiting.

    `version` begins with `first_version`, and grows with every change of the endpoint or the
    application, by any caller. `policy` is the policy document of the environment, if it has one.
    """

    endpoint: Endpoint
    application: Application
    policy: str | None = None
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
        """The number of deliveries that have not ended, including those in flight."""
        return self.added - self.ended


def first_version(endpoint: Endpoint) -> int:
    """Return the first version of an endpoint's lane: another one for each lane of a number.

    After a failover that lost a lane, another endpoint's lane may get its number.
    """
    return int(endpoint.created_at * 1000)


class Notice(Struct, frozen=True, kw_only=True):
    """An event that an endpoint's owner should know about."""

    id: str
    application: str
    endpoint: str
    kind: str
    """For example ``endpoint.disabled``, ``endpoint.failing``, ``message.exhausted``."""
    facts: dict[str, str | float | int | None]
    at: float


Noting = Callable[[Endpoint | None, Endpoint], Sequence[Notice]]
"""Returns the notices about a change of an endpoint, given as before (None if new) and after."""


class Change(Struct, frozen=True, kw_only=True):
    """Changes of a lane by its owner: its learned state, and the endpoint's standing since `at`.

    `epoch` is that of the owner's lease. See `Endpoint.stand` for the effects of a standing. With
    `by`, the audit trail says that the standing changed.
    """

    lane: int
    epoch: int
    at: float
    known: Known | None = None
    standing: Standing | None = None
    by: Action | None = None
    notices: tuple[Notice, ...] = ()


class Stream(StrEnum):
    """A part of a lane's queue that can be read."""

    READY = "ready"  # by sequence, between `after` and `before`
    WAITING = "waiting"  # by due time, due by now, after (`due_after`, `after`)
    EARLY = "early"  # the same, also if not due yet, but not SCHEDULED: for probes
    RESEND = "resend"  # resends that were requested


class Want(Struct, frozen=True, kw_only=True):
    """A request for at most `limit` deliveries of a lane's stream."""

    lane: int
    stream: Stream
    limit: int
    after: int = 0
    before: int | None = None
    due_after: float = 0.0


class Due(Struct, frozen=True, kw_only=True, gc=False):  # it holds only values: no cycles
    """A delivery that may be sent, with its message's payload.

    For a resend, `resend` is set and there is nothing about a delivery: `seq` and counts are 0, and
    `accepted_at` is the message's. A payload that is still sealed names its data key in
    `sealed_with`; without a payload, that key was erased. `unopened` says that it could
    not be opened although the key exists.
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
    chain: int = 0
    sealed_with: str | None = None
    unopened: bool = False


class Fetched(Struct, frozen=True):
    """The deliveries for the wants, in the order of the wants.

    `next_due_at` has, for each lane of a WAITING want, the due time of its first delivery that
    is not due yet, if there is one. `added` and `versions` have the number of added deliveries
    and the version of every lane of a want: a delivery that was accepted after a change is
    returned with the version of that change, or a later one. `stored_bytes` is the size of the
    payloads as they are stored, if that differs from the size of those in `due`.
    """

    due: list[Due]
    next_due_at: dict[int, float]
    added: dict[int, int]
    versions: dict[int, int]
    stored_bytes: int = 0
