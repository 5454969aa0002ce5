"""Fields of applications and endpoints that callers may set, and their checks."""

import math
from collections.abc import Iterable
from typing import Any, TypedDict

from tarry.errors import SettingsError
from tarry.service.model import policy
from tarry.service.model.endpoint import Standing
from tarry.service.model.sizes import SIZES, Sizes, check_description
from tarry.service.model.text import check_text, words

OWNERS = (Standing.ENABLED, Standing.PAUSED, Standing.DISABLED)
"""The standings that an endpoint's owner may set."""


class ApplicationFields(TypedDict, total=False):
    """See `Application`; missing fields do not change."""

    rate: float | None
    policy: str | None
    most_waiting: int | None
    metadata: dict[str, str]


class EndpointFields(TypedDict, total=False):
    """See `Endpoint`; missing fields do not change."""

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


def checked_application(fields: ApplicationFields, sizes: Sizes = SIZES) -> dict[str, Any]:
    """Return the fields as they are stored; SettingsError or PolicyError says what is wrong."""
    _refuse_unknown(fields.keys(), ApplicationFields)
    _check_rate(fields.get("rate"))
    check_count("most_waiting", fields.get("most_waiting"), least=0)
    check_policy(fields.get("policy"))
    sizes.check_metadata(fields.get("metadata"))
    return dict(fields)


def checked_endpoint(fields: EndpointFields, sizes: Sizes = SIZES) -> dict[str, Any]:
    """Return the fields as they are stored; SettingsError or PolicyError says what is wrong."""
    _refuse_unknown(fields.keys(), EndpointFields)
    _check_rate(fields.get("rate"))
    check_count("concurrency", fields.get("concurrency"), least=1)
    check_policy(fields.get("policy"))
    sizes.check_metadata(fields.get("metadata"))
    check_description(fields.get("description"))
    standing = fields.get("standing", Standing.ENABLED)
    if standing not in OWNERS:
        wanted = f"one of {', '.join(OWNERS)}; to delete an endpoint call delete_endpoint"
        raise SettingsError("standing", str(standing), wanted)
    checked: dict[str, Any] = dict(fields)
    if checked.get("uid") is not None:
        check_text("uid", checked["uid"])
    for field in ("event_types", "channels"):
        if checked.get(field) is not None:
            checked[field] = words(field, checked[field])
            sizes.check_filter(field, checked[field])
    return checked


def check_policy(document: str | None) -> None:
    """Raise PolicyError, which says what is wrong, if a policy document cannot be used."""
    if document is not None:
        policy.check_policy(document)


def check_seconds(field: str, value: float | None, *, least: float = -math.inf) -> None:
    """Raise SettingsError if a value is not a finite number of seconds, or less than `least`."""
    if value is not None and not (_is_number(value) and value >= least):
        wanted = "a number of seconds" if least == -math.inf else f"{least:g} seconds or more"
        raise SettingsError(field, value, wanted)


def _check_rate(value: float | None) -> None:
    if value is not None and not (_is_number(value) and value > 0):
        raise SettingsError("rate", value, "more than 0 attempts a second, or None for no limit")


def check_count(field: str, value: int | None, *, least: int) -> None:
    """Raise SettingsError if a value is not a whole number, or less than `least`."""
    if value is not None and not (type(value) is int and value >= least):
        raise SettingsError(field, value, f"a whole number from {least} on, or None for no limit")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)


def _refuse_unknown(names: Iterable[str], kind: type) -> None:
    """Raise TypeError if a field does not exist."""
    for field in names:
        if field not in kind.__annotations__:
            fields = ", ".join(kind.__annotations__)
            raise TypeError(f"there is no field {field!r} to be set; there are {fields}")
