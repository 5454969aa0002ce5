"""What an error looks like over HTTP: a status, a code, words, and when to come back."""

from collections.abc import Mapping

import msgspec

from tarry.errors import (
    BacklogFull,
    Conflict,
    EgressRefused,
    NotFound,
    ServiceError,
    SettingsError,
    StoreUnavailable,
)

Answer = tuple[int, dict[str, str], bytes]
"""A status, headers and a body."""

_JSON = {"content-type": "application/json"}
INSIDE = 500
_STATUSES: tuple[tuple[type[ServiceError], int, str], ...] = (
    (NotFound, 404, "not_found"),
    (Conflict, 409, "conflict"),
    (SettingsError, 422, "validation"),
    (EgressRefused, 422, "validation"),
    (BacklogFull, 429, "backlog_full"),
    (StoreUnavailable, 503, "unavailable"),
    (ServiceError, INSIDE, "server_error"),
)
BACKLOG_RETRY_AFTER = 5


def json_answer(status: int, body: object, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    return status, {**_JSON, **(headers or {})}, msgspec.json.encode(body)


def problem(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
) -> Answer:
    """An answer that says what is wrong."""
    return json_answer(status, {"code": code, "detail": detail}, headers)


def invalid(where: list[str], message: str) -> Answer:
    """An answer about a body that cannot be used; it says which part."""
    return json_answer(422, {"detail": [{"loc": where, "msg": message, "type": "value_error"}]})


def told(error: ServiceError) -> Answer:
    """What an error of the service is over HTTP. What went wrong inside stays inside."""
    status, code = next(
        (status, code) for kind, status, code in _STATUSES if isinstance(error, kind)
    )
    if isinstance(error, StoreUnavailable):
        seconds = str(max(1, round(error.retry_after)))
        return problem(
            status,
            code,
            "it is not sure that it was kept: send it again, with the same idempotency-key",
            {"retry-after": seconds},
        )
    if isinstance(error, BacklogFull):
        return problem(status, code, str(error), {"retry-after": str(BACKLOG_RETRY_AFTER)})
    return problem(status, code, "something went wrong" if status == INSIDE else str(error))
