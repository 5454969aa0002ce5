"""What applications and endpoints may be told about themselves, and what of it is refused."""

import math
from collections.abc import Iterable
from typing import Any, TypedDict

from tarry.errors import SettingsError
from tarry.service.model.endpoint import Standing
from tarry.service.model.policy import read_policy
from tarry.service.model.text import check_text, words

OWNERS = (Standing.ENABLED, Standing.PAUSED, Standing.DISABLED)
"""How an endpoint may stand because its owner says so."""


class ApplicationFields(TypedDict, total=False):
    """See `Application`; what is left out stays as it is."""

    rate: float | None
    policy: str | None
    most_waiting: int | None
    metadata: dict[str, str]


class EndpointFields(TypedDict, total=False):
    """See `Endpoint`; what is left out stays as it is."""

    uid: str | None
    description: str
    event_types: Iterable[str] | None
    channels: Iterable[str] | None
    rate: float | None
    concurrency: int | None
    fifo: bool
    blocking: bool
    policy: str | None
    metadata: dict[str, str]
    standing: Standing


def checked_application(fields: ApplicationFields) -> dict[str, Any]:
    """The fields as they are kept; SettingsError or PolicyError says what cannot work."""
    _refuse_unknown(fields.keys(), ApplicationFields)
    _check_rate(fields.get("rate"))
    check_count("most_waiting", fields.get("most_waiting"), least=0)
    check_policy(fields.get("policy"))
    return dict(fields)


def checked_endpoint(fields: EndpointFields) -> dict[str, Any]:
    """The fields as they are kept; SettingsError or PolicyError says what cannot work."""
    _refuse_unknown(fields.keys(), EndpointFields)
    _check_rate(fields.get("rate"))
    check_count("concurrency", fields.get("concurrency"), least=1)
    check_policy(fields.get("policy"))
    standing = fields.get("standing", Standing.ENABLED)
    if standing not in OWNERS:
        wanted = f"one of {', '.join(OWNERS)}; to delete an endpoint call delete_endpoint"
        raise SettingsError("standing", str(standing), wanted)
    told: dict[str, Any] = dict(fields)
    if told.get("uid") is not None:
        check_text("uid", told["uid"])
    for field in ("event_types", "channels"):
        if told.get(field) is not None:
            told[field] = words(field, told[field])
    return told


def check_policy(document: str | None) -> None:
    """Refuse a policy document that cannot be read: PolicyError says where it is wrong."""
    if document is not None:
        read_policy(document)


def check_seconds(field: str, value: float | None, *, least: float = -math.inf) -> None:
    """Refuse what is no instant and no time."""
    if value is not None and not (_is_number(value) and value >= least):
        wanted = "a number of seconds" if least == -math.inf else f"{least:g} seconds or more"
        raise SettingsError(field, value, wanted)


def _check_rate(value: float | None) -> None:
    if value is not None and not (_is_number(value) and value > 0):
        raise SettingsError("rate", value, "more than 0 attempts a second, or None for no limit")


def check_count(field: str, value: int | None, *, least: int) -> None:
    """Refuse what is no number of things."""
    if value is not None and not (type(value) is int and value >= least):
        raise SettingsError(field, value, f"a whole number from {least} on, or None for no limit")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)


def _refuse_unknown(told: Iterable[str], known: type) -> None:
    for field in told:
        if field not in known.__annotations__:
            there = ", ".join(known.__annotations__)
            raise TypeError(f"there is no field {field!r} to be set; there are {there}")
