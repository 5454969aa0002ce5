"""Turn errors into HTTP responses: a status, a code, a detail, and when to retry."""

from collections.abc import Mapping

import msgspec

from tarry.errors import (
    BacklogFull,
    Conflict,
    DiskNearlyFull,
    EgressRefused,
    NotFound,
    PolicyError,
    ServiceError,
    SettingsError,
    StoreUnavailable,
    TarryError,
    TooManyEndpoints,
    TooManyReplays,
)

Answer = tuple[int, dict[str, str], bytes]
"""A status, headers and a body."""

_JSON = {"content-type": "application/json"}
INTERNAL_ERROR = 500
LIMIT_REACHED = "limit_reached"
"""The code of a 400 that refuses to create one more than are allowed."""
_STATUS_OF_ERROR: tuple[tuple[type[TarryError], int, str], ...] = (
    (Conflict, 409, "conflict"),
    (TooManyEndpoints, 400, LIMIT_REACHED),
    (DiskNearlyFull, 429, "disk_nearly_full"),
    (BacklogFull, 429, "backlog_full"),
    (TooManyReplays, 429, "too_many_replays"),
    (StoreUnavailable, 503, "unavailable"),
    (TarryError, INTERNAL_ERROR, "server_error"),
)
RETRY_AFTER_SECONDS = 5
"""The `Retry-After` in seconds of a 429 about too many deliveries, bytes or replays."""


class Invalid(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """A part of a request cannot be used; `place` says which part, like `["body", "url"]`."""

    def __init__(self, place: list[str], message: str, kind: str = "value_error") -> None:
        super().__init__(place, message, kind)
        self.place = place
        self.message = message
        self.kind = kind

    def __str__(self) -> str:
        return f"{'.'.join(self.place)}: {self.message}"


class BadRequest(ServiceError):  # noqa: N818  named for what it is over HTTP
    """A request is well-formed, but cannot be executed now; `code` names the reason."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class TooLarge(ServiceError):  # noqa: N818  likewise
    """A part of a request is too long; `place` says which part."""

    def __init__(self, place: list[str], size: int, most: int) -> None:
        super().__init__(place, size, most)
        self.place = place
        self.size = size
        self.most = most

    def __str__(self) -> str:
        return f"{'.'.join(self.place)}: at most {self.most} bytes are allowed, it has {self.size}"


def json_answer(status: int, body: object, headers: Mapping[str, str] | None = None) -> Answer:
    """Return a response in JSON."""
    return status, {**_JSON, **(headers or {})}, msgspec.json.encode(body)


def problem(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return an error response."""
    return json_answer(status, {"code": code, "detail": detail}, headers)


def code_and_detail(error: TarryError) -> tuple[str, str]:
    """Return the code and detail of an error, for one entry of a batch."""
    body = msgspec.json.decode(error_answer(error)[2], type=dict[str, str])
    return body["code"], body["detail"]


def invalid(error: Invalid) -> Answer:
    """Return a 422 response that says which part of the request cannot be used."""
    entry = {"loc": error.place, "msg": error.message, "type": error.kind}
    return json_answer(422, {"detail": [entry]})


def error_answer(error: TarryError) -> Answer:  # noqa: PLR0911  one for each kind of error
    """Return the HTTP response for an error; internal errors reveal no details.

    The response for a missing object does not repeat its name, so that it equals the response for
    an object of another tenant.
    """
    match error:
        case NotFound():
            why = f": {error.why}" if error.why else ""
            return problem(404, "not_found", f"there is no such {error.kind}{why}")
        case Invalid():
            return invalid(error)
        case BadRequest():
            return problem(400, error.code, error.detail)
        case TooLarge():
            return problem(413, "payload_too_large", str(error))
        case SettingsError() | PolicyError():
            field, *inside = error.field.split(".")
            return invalid(Invalid(["body", _camel(field), *inside], str(error)))
        case Conflict(kind="event type"):
            return problem(409, "event_type_exists", str(error))
        case EgressRefused(option=option):
            allowing = f"; the operator of this server may allow it by {option}" if option else ""
            return invalid(Invalid(["body", "url"], f"{error}{allowing}"))
    status, code = next(
        (status, code) for kind, status, code in _STATUS_OF_ERROR if isinstance(error, kind)
    )
    if isinstance(error, StoreUnavailable):
        seconds = str(max(1, round(error.retry_after)))
        return problem(
            status,
            code,
            "the database cannot be used just now, and the request may have been carried out or"
            " not: repeat it with the same idempotency-key",
            {"retry-after": seconds},
        )
    if isinstance(error, BacklogFull | TooManyReplays):
        return problem(status, code, str(error), {"retry-after": str(RETRY_AFTER_SECONDS)})
    return problem(status, code, "something went wrong" if status == INTERNAL_ERROR else str(error))


def _camel(field: str) -> str:
    """Return a field's name in camelCase, as requests write it."""
    first, *rest = field.split("_")
    return first + "".join(word.title() for word in rest)
