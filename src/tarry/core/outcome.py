"""Outcomes of attempts, and the decisions after them: two closed unions."""

from enum import StrEnum

from tarry.core.value import Value, setters, settle


class Kind(StrEnum):
    """What sort of failure it was."""

    TRANSIENT = "transient"
    THROTTLED = "throttled"
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    PROTOCOL = "protocol"
    PERMANENT = "permanent"
    BLOCKED = "blocked"
    REFUSED = "refused"


FINAL = frozenset({Kind.PERMANENT, Kind.BLOCKED, Kind.REFUSED})
"""The kinds that another attempt cannot fix."""


class Success(Value):
    """The attempt did what it should."""


class Pending(Value):
    """The attempt succeeded, but the polled condition does not hold yet: not a failure."""


class Failure(Value):
    """The attempt failed.

    `retry_after` is the wait the server asked for. `repeatable` is False when making the request
    again could do its work twice.
    """

    kind: Kind
    retry_after: float | None
    repeatable: bool

    def __init__(
        self,
        kind: Kind = Kind.TRANSIENT,
        retry_after: float | None = None,
        repeatable: bool = True,  # noqa: FBT001, FBT002  a field like the others
    ) -> None:
        settle(self, "kind", kind)
        settle(self, "retry_after", retry_after)
        settle(self, "repeatable", repeatable)


Outcome = Success | Pending | Failure


class Why(StrEnum):
    """Why retrying ended."""

    NOT_RETRIED = "not an error that is retried"
    NOT_REPEATABLE = "the request may have been sent and cannot safely be sent again"
    ATTEMPTS = "all attempts are used up"
    WITHIN = "no time is left for another attempt"
    RETRY_AFTER = "the server asked for a longer wait than the policy allows"
    BUDGET = "the retry budget is spent"
    CIRCUIT = "the circuit is open"
    NESTED = "an outer retry is at work"
    DISABLED = "retrying is turned off"


class Done(Value):
    """The call is over, with success."""


class Again(Value):
    """Try again after `delay` seconds. `memory` is what the jitter wants back next time."""

    delay: float
    memory: float | None

    def __init__(self, delay: float, memory: float | None = None) -> None:
        _set_delay(self, delay)
        _set_memory(self, memory)


_set_delay, _set_memory = setters(Again)


class GiveUp(Value):
    """The call is over, and failed. `retry_after` is the wait the server asked for, if it did."""

    why: Why
    retry_after: float | None

    def __init__(self, why: Why, retry_after: float | None = None) -> None:
        settle(self, "why", why)
        settle(self, "retry_after", retry_after)


Decision = Done | Again | GiveUp
