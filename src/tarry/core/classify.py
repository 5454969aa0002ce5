"""What an HTTP answer means for a retry, and whether a request may be made again."""

from tarry.core.outcome import Failure, Kind
from tarry.core.policy import Statuses

IDEMPOTENT_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PUT", "QUERY", "TRACE"})
"""Doing these twice is as good as doing them once (RFC 9110, 9.2.2, and the QUERY method)."""

IDEMPOTENCY_HEADER = "idempotency-key"
"""With this header the server carries out a repeated request only once."""

_FIRST_FAILURE = 400
_FIRST_SERVER_FAILURE = 500
_TOO_MANY_REQUESTS = 429
_UNAVAILABLE = 503
_TIMEOUTS = frozenset({408, 504})


def failure_for_status(
    status: int, statuses: Statuses, *, retry_after: float | None = None, repeatable: bool = True
) -> Failure | None:
    """Return the failure that an HTTP status means, or None if it is no failure.

    Below 400 only the statuses that the policy lists are failures. A status above 599 is invalid
    and counts as the server's failure, as RFC 9110 says.

    >>> failure_for_status(503, Statuses()).kind
    <Kind.TRANSIENT: 'transient'>
    """
    listed = status in statuses.retry or status in statuses.never
    if status < _FIRST_FAILURE and not listed:
        return None
    retried = status in statuses.retry if listed else status >= _FIRST_SERVER_FAILURE
    kind = _kind(status, asked=retry_after is not None) if retried else Kind.PERMANENT
    return Failure(kind, retry_after, repeatable)


def repeatable(method: str, *, has_key: bool, sent: bool, replayable: bool) -> bool:
    """Return whether the request can be made again without doing its work twice.

    `has_key`: it carries an idempotency key. `sent`: bytes of it may have reached the server.
    `replayable`: its body can be sent once more. An unknown method counts as one that changes
    something.

    >>> repeatable("POST", has_key=False, sent=True, replayable=True)
    False
    """
    if not sent:
        return True
    return replayable and (has_key or method.upper() in IDEMPOTENT_METHODS)


def _kind(status: int, *, asked: bool) -> Kind:
    if status == _TOO_MANY_REQUESTS or (status == _UNAVAILABLE and asked):
        return Kind.THROTTLED
    return Kind.TIMEOUT if status in _TIMEOUTS else Kind.TRANSIENT
