"""What an error looks like over HTTP: a status, a code, words, and when to come back."""

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
    TooManyReplays,
)

Answer = tuple[int, dict[str, str], bytes]
"""A status, headers and a body."""

_JSON = {"content-type": "application/json"}
INSIDE = 500
_STATUSES: tuple[tuple[type[TarryError], int, str], ...] = (
    (Conflict, 409, "conflict"),
    (DiskNearlyFull, 429, "disk_nearly_full"),
    (BacklogFull, 429, "backlog_full"),
    (TooManyReplays, 429, "too_many_replays"),
    (StoreUnavailable, 503, "unavailable"),
    (TarryError, INSIDE, "server_error"),
)
RETRY_AFTER = 5
"""Seconds after which to ask again if there is too much of something."""


class Invalid(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """A request cannot be read; `place` says where: `["body", "url"]`."""

    def __init__(self, place: list[str], message: str, kind: str = "value_error") -> None:
        super().__init__(place, message, kind)
        self.place = place
        self.message = message
        self.kind = kind

    def __str__(self) -> str:
        return f"{'.'.join(self.place)}: {self.message}"


class BadRequest(ServiceError):  # noqa: N818  named for what it is over HTTP
    """What is asked for cannot be done just now; `code` is a word for it."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class TooLarge(ServiceError):  # noqa: N818  likewise
    """A part of a request is too long; `place` says which."""

    def __init__(self, place: list[str], size: int, most: int) -> None:
        super().__init__(place, size, most)
        self.place = place
        self.size = size
        self.most = most

    def __str__(self) -> str:
        return f"{'.'.join(self.place)}: at most {self.most} bytes will do, there are {self.size}"


def json_answer(status: int, body: object, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    return status, {**_JSON, **(headers or {})}, msgspec.json.encode(body)


def problem(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
) -> Answer:
    """An answer that says what is wrong."""
    return json_answer(status, {"code": code, "detail": detail}, headers)


def coded(error: TarryError) -> tuple[str, str]:
    """A code and words for an error that concerns one of several things."""
    body = msgspec.json.decode(told(error)[2], type=dict[str, str])
    return body["code"], body["detail"]


def invalid(error: Invalid) -> Answer:
    """An answer about a request that cannot be used; it says which part."""
    said = {"loc": error.place, "msg": error.message, "type": error.kind}
    return json_answer(422, {"detail": [said]})


def told(error: TarryError) -> Answer:  # noqa: PLR0911  one for each kind of error
    """What an error is over HTTP. What went wrong inside stays inside.

    What is not there and what is somebody else's read the same, whatever it was called.
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
            allowing = f"; whoever runs tarry may allow it by {option}" if option else ""
            return invalid(Invalid(["body", "url"], f"{error}{allowing}"))
    status, code = next(
        (status, code) for kind, status, code in _STATUSES if isinstance(error, kind)
    )
    if isinstance(error, StoreUnavailable):
        seconds = str(max(1, round(error.retry_after)))
        return problem(
            status,
            code,
            "the database cannot be used just now, and what was asked for was done or was not:"
            " ask again, and with the same idempotency-key",
            {"retry-after": seconds},
        )
    if isinstance(error, BacklogFull | TooManyReplays):
        return problem(status, code, str(error), {"retry-after": str(RETRY_AFTER)})
    return problem(status, code, "something went wrong" if status == INSIDE else str(error))


def _camel(field: str) -> str:
    """A field's name as it is written over HTTP."""
    first, *rest = field.split("_")
    return first + "".join(word.title() for word in rest)
