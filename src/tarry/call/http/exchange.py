"""A request and its response, for any client: the common part of all adapters.

The adapters only define how their client sends, closes and fails. This module and `core` decide
whether and when a request is repeated, and which attempt number the server gets.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

from tarry.call.api import DEFAULT
from tarry.call.http.body import Body
from tarry.call.http.fault import Fault
from tarry.call.plan import Discard, Plan, plan_of
from tarry.call.scope import attempt_number, called_by, disabled, remaining
from tarry.call.world import world
from tarry.core.checks import flag
from tarry.core.classify import IDEMPOTENCY_HEADER, failure_for_status, repeatable
from tarry.core.outcome import FINAL, Failure, Kind
from tarry.core.policy import Policy
from tarry.core.retry_after import parse_rate_limit, parse_retry_after
from tarry.core.value import Value
from tarry.errors import AttemptTimedOut
from tarry.observe.stream import Listener

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit

ATTEMPT_HEADER = "tarry-attempt"
"""The header with the number of the attempt of a retried call."""

_ATTEMPT_NUMBER = re.compile(r"\s*([1-9][0-9]{0,8})\s*", re.ASCII)
_FIRST_SERVER_FAILURE = 500
_SHORTEST_LIMIT = 0.001
"""Clients read a limit of 0 as no limit, or as not waiting at all."""


class Headers(Protocol):
    """Headers of any framework, as pairs."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Names and values."""


class Client(Value):
    """How one HTTP client differs from another.

    `status_of` reads the status of a response, `fault_of` returns the fault of one of its
    exceptions, `discard` closes a response. `takes_limit`: it has a timeout of its own for an
    attempt, so attempts are not cut off from outside.
    """

    name: str
    status_of: Callable[[Any], int]
    fault_of: Callable[[Exception], Fault | None]
    discard: Discard
    takes_limit: bool


class AdapterOptions(TypedDict, total=False):
    """What every HTTP adapter takes and hands on, as `retry` takes it."""

    budget: "Budget | None"
    breaker: "Circuit | None"
    hooks: Listener | Iterable[Listener]
    name: str


class Terms:
    """The settings of an adapter."""

    __slots__ = ("_rate_limit_headers", "client", "plan", "policy")

    def __init__(
        self,
        client: Client,
        policy: Policy | None,
        *,
        rate_limit_headers: bool = False,
        **options: Unpack[AdapterOptions],
    ) -> None:
        self.client = client
        self.policy = DEFAULT if policy is None else policy
        self.plan = plan_of(
            self.policy,
            on_result=_unjudged,
            otherwise=client.name,
            discard=client.discard,
            returns_last=True,
            **options,
        )
        if client.takes_limit:
            self.plan = self.plan.replace(policy=self.policy.replace(attempt_timeout=None))
        self._rate_limit_headers = flag("rate_limit_headers", rate_limit_headers)

    def limit(self) -> float | None:
        """Return the timeout of the running attempt, for the client; None is no limit."""
        longest, left = self.policy.attempt_timeout, remaining()
        if longest is None:
            return None
        return max(_SHORTEST_LIMIT, longest if left is None else min(longest, left))

    def is_answer(self, status: int) -> bool:
        """Return whether the status is no failure: a final refusal is an answer too."""
        failure = failure_for_status(status, self.policy.statuses)
        return failure is None or (failure.kind in FINAL and status < _FIRST_SERVER_FAILURE)

    def wait_in(self, headers: Mapping[str, str]) -> float | None:
        """Return the wait that the server asks for."""
        now = world.wall()
        asked = parse_retry_after(headers.get("retry-after"), now=now)
        if asked is None and self._rate_limit_headers:
            return parse_rate_limit(headers, now=now)
        return asked


class Exchange:
    """One request with all its attempts, and the judgement on each."""

    __slots__ = ("_body", "_has_key", "_inside", "_method", "_terms")

    def __init__(self, terms: Terms, method: str, headers: Mapping[str, str], body: Body) -> None:
        self._terms = terms
        self._method = method
        self._has_key = bool(headers.get(IDEMPOTENCY_HEADER))
        self._body = body
        self._inside = attempt_number() > 0

    def plan(self) -> Plan:
        """Return the adapter's plan with this request's own rules about retries."""
        return self._terms.plan.replace(
            judge=self.failure_of_error, on_result=self.failure_of_response
        )

    def failure_of_response(self, response: Any) -> Failure | None:  # noqa: ANN401  the client's
        """Return the failure that a response means; None if it is an answer."""
        terms = self._terms
        status = terms.client.status_of(response)
        if terms.is_answer(status):
            return None
        return failure_for_status(
            status,
            terms.policy.statuses,
            retry_after=terms.wait_in(response.headers),
            repeatable=self._repeatable(sent=True),
        )

    def failure_of_error(self, error: Exception) -> Failure | None:
        """Return the failure of an exception of the network or the server; None for any other."""
        if isinstance(error, AttemptTimedOut):  # the request may have been sent
            return Failure(Kind.TIMEOUT, repeatable=self._repeatable(sent=True))
        fault = self._terms.client.fault_of(error)
        if fault is None:
            return None
        return Failure(fault.kind, repeatable=self._repeatable(sent=fault.sent))

    def begin(self) -> str | None:
        """Prepare an attempt; return the value of the attempt header, None for no header.

        A request that will not be repeated gets no header: the server would leave the retrying to
        us, and there would be no retry at all.
        """
        self._body.rewind()
        number = attempt_number()
        own = self._repeatable(sent=True) and not disabled.everywhere
        shown = number > 0 and (self._inside or own)
        return str(number) if shown else None

    def _repeatable(self, *, sent: bool) -> bool:
        replayable = self._body.replayable
        return repeatable(self._method, has_key=self._has_key, sent=sent, replayable=replayable)


def _unjudged(response: object) -> None:
    """Do nothing: every request has its own judgement, see `Exchange.plan`."""


@contextmanager
def incoming(headers: Headers, *, trusted: bool) -> Iterator[None]:
    """Answer a request as part of its caller's attempt: calls inside do not retry.

    For a service whose callers use tarry: they send the header `tarry-attempt`, and retry
    themselves. Without the header, or with nonsense in it, nothing changes.

    `trusted` says whether the request comes from such a caller, for example from an address of your
    own network. Anybody can send the header: from a caller who is not trusted it is ignored, since
    it would switch off your retries.

    >>> with incoming({"Tarry-Attempt": "2"}, trusted=True):
    ...     attempt_number()
    2
    """
    number = _attempt_in(headers) if flag("trusted", trusted) else None
    if number is None:
        yield
        return
    with called_by(number):
        yield


def _attempt_in(headers: Headers) -> int | None:
    """Return the number in a request's header of attempts; None if it has none."""
    for name, value in headers.items():
        if name.lower() == ATTEMPT_HEADER:
            match = _ATTEMPT_NUMBER.fullmatch(value)
            return int(match[1]) if match else None
    return None
