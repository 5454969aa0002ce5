"""The policy: backoff, jitter, stop rules and classification put together as one frozen value."""

from collections.abc import Iterable, Iterator
from typing import Self

from tarry.core import checks
from tarry.core.backoff import Backoff, Exponential
from tarry.core.jitter import Jitter, Memory, Smooth
from tarry.core.probe_rule import PROBES, ProbeRule
from tarry.core.value import Value, settle
from tarry.errors import PolicyError

RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
FINAL_STATUSES = frozenset({400, 401, 403, 404, 410, 422})


class RetryAfter(Value):
    """What to do when the server says when to come back.

    If the wait is longer than `at_most`, the call gives up and passes the delay to the caller.
    """

    honour: bool
    at_most: float

    def __init__(self, *, honour: bool = True, at_most: checks.Seconds = 60.0) -> None:
        settle(self, "honour", checks.flag("retry_after.honour", honour))
        settle(self, "at_most", checks.seconds("retry_after.at_most", at_most))


class Statuses(Value):
    """Which HTTP statuses are retried and which never; any other 5xx is, any other 4xx is not."""

    retry: frozenset[int]
    never: frozenset[int]

    def __init__(
        self, *, retry: Iterable[int] = RETRIED_STATUSES, never: Iterable[int] = FINAL_STATUSES
    ) -> None:
        retried = checks.statuses("statuses.retry", retry)
        final = checks.statuses("statuses.never", never)
        if both := sorted(retried & final):
            raise PolicyError("statuses.never", both, "other statuses than those in statuses.retry")
        settle(self, "retry", retried)
        settle(self, "never", final)


class Policy(Value):
    """When to try again, how long to wait, and when to stop. All durations are seconds.

    `attempts` counts every try, the first included; None is no limit. No wait is begun that would
    end later than `within` seconds after the start; None is no limit. `attempt_timeout` cuts off an
    attempt of an async function. `nested` lets it retry inside another retry. `probe` is for the
    webhook service: how often it tries an endpoint that is down.
    """

    backoff: Backoff
    jitter: Jitter
    attempts: int | None
    within: float | None
    attempt_timeout: float | None
    retry_after: RetryAfter
    statuses: Statuses
    probe: ProbeRule
    nested: bool
    name: str

    def __init__(  # noqa: PLR0913  one argument a field: this is where a policy is spelled out
        self,
        *,
        backoff: Backoff = Exponential(base=0.1, cap=10.0),
        jitter: Jitter = Smooth(),
        attempts: int | None = 5,
        within: checks.Seconds | None = 45.0,
        attempt_timeout: checks.Seconds | None = None,
        retry_after: RetryAfter = RetryAfter(),  # noqa: B008  a frozen value
        statuses: Statuses = Statuses(),  # noqa: B008  a frozen value
        probe: ProbeRule = PROBES,
        nested: bool = False,
        name: str = "",
    ) -> None:
        settle(self, "backoff", checks.one_of("backoff", backoff, Backoff))
        settle(self, "jitter", checks.one_of("jitter", jitter, Jitter))
        settle(self, "attempts", None if attempts is None else checks.count("attempts", attempts))
        settle(self, "within", None if within is None else checks.seconds("within", within))
        limit = attempt_timeout
        limit = None if limit is None else checks.positive_seconds("attempt_timeout", limit)
        settle(self, "attempt_timeout", limit)
        settle(self, "retry_after", checks.one_of("retry_after", retry_after, RetryAfter))
        settle(self, "statuses", checks.one_of("statuses", statuses, Statuses))
        settle(self, "probe", checks.one_of("probe", probe, ProbeRule))
        settle(self, "nested", checks.flag("nested", nested))
        settle(self, "name", checks.word("name", name))

    def replace(self, **changes: object) -> Self:
        """Return the same policy with some fields changed."""
        fields = type(self).__fields__
        if unknown := sorted(changes.keys() - set(fields)):
            raise PolicyError(unknown[0], changes[unknown[0]], f"one of {', '.join(fields)}")
        return super().replace(**changes)

    def wait(self, attempts: int, memory: Memory, draw: float) -> tuple[float, Memory]:
        """Return the wait after this many failed attempts, and the memory for the next call."""
        return self.jitter.wait(self.backoff, attempts, memory, draw)


def waits(policy: Policy, draws: Iterable[float]) -> Iterator[float]:
    """Yield the waits of a policy, one for each draw; stop rules are left to the caller."""
    memory: Memory = None
    for attempts, draw in enumerate(draws, start=1):
        wait, memory = policy.wait(attempts, memory, draw)
        yield wait
