"""The bodies of requests and responses about endpoints."""

from enum import StrEnum
from typing import Annotated, cast

from msgspec import UNSET, Meta, Struct, UnsetType

from tarry.service.api.http.times import Instant, instant
from tarry.service.api.resources.applications.applications import Metadata, Text, Throttle
from tarry.service.api.resources.messages.bodies import Channel, Name
from tarry.service.fields import EndpointFields
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.wire.sign import MOST_HEADERS

Uid = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^(?!ep_)[a-zA-Z0-9\-_.]+\Z")]
"""A name chosen by the owner. It does not start like an id, so it cannot equal one."""
Url = Annotated[str, Meta(min_length=1, max_length=65_536, extra_json_schema={"format": "uri"})]
Types = Annotated[list[Name], Meta(min_length=1, max_length=1000)]
Channels = Annotated[list[Channel], Meta(min_length=1, max_length=10)]
Version = Annotated[int, Meta(ge=1, le=65_535)]
Concurrency = Annotated[int, Meta(ge=1, le=100_000)]
_BASE64 = (
    r"^((whsec_)?([A-Za-z0-9+/]{4}){8,24}([A-Za-z0-9+/]{2,4})?"
    r"|whsk_([A-Za-z0-9+/]{43}|[A-Za-z0-9+/]{86}))={0,2}$"
)
SecretText = Annotated[str, Meta(max_length=256, extra_json_schema={"pattern": _BASE64})]
"""The pattern is only for the OpenAPI document; `check_secret` checks it, with a clearer error."""
HEADER = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
_VALUE = r"^([!-~\u00a0-\u00ff]([\t -~\u00a0-\u00ff]*[!-~\u00a1-\u00ff])?)?$"
Value = Annotated[str, Meta(extra_json_schema={"pattern": _VALUE})]
_NAMES = {"propertyNames": {"pattern": HEADER}}
Headers = Annotated[dict[str, Value], Meta(max_length=MOST_HEADERS, extra_json_schema=_NAMES)]
"""Likewise: `check_headers` checks them."""
DISABLED = frozenset({Standing.DISABLED, Standing.PARKED})
"""The standings that the field `disabled` shows as true."""
VERSION = 1
"""The `version` of every endpoint: only older clients use this field."""


class OwnerStanding(StrEnum):
    """The standings that an owner may set."""

    ENABLED = Standing.ENABLED.value
    PAUSED = Standing.PAUSED.value
    DISABLED = Standing.DISABLED.value


class Own(Struct, rename="camel", kw_only=True):
    """Fields that only tarry has; a missing field does not change."""

    standing: OwnerStanding | UnsetType = UNSET
    """Use it instead of `disabled`, which cannot express a pause."""
    concurrency: Concurrency | UnsetType | None = UNSET
    fifo: bool | UnsetType = UNSET
    blocking: bool | UnsetType = UNSET


class EndpointUpdate(Own, rename="camel", kw_only=True):
    """All fields of an endpoint except its headers, to replace an existing endpoint."""

    url: Url
    uid: Uid | None = None
    description: Text | None = None
    event_types: Types | None = None
    filter_types: Types | None = None
    """The older name of `eventTypes`."""
    channels: Channels | None = None
    throttle_rate: Throttle | None = None
    rate_limit: Throttle | None = None
    """The older name of `throttleRate`."""
    disabled: bool | None = None
    metadata: Metadata | None = None
    version: Version | None = None
    secret: SecretText | None = None
    """Only for a new endpoint. An existing endpoint keeps its secrets; `rotate` changes them."""

    @property
    def types(self) -> list[str] | None:
        """The event types in the request, under either name."""
        return self.event_types or self.filter_types


class EndpointIn(EndpointUpdate, rename="camel", kw_only=True):
    """An endpoint to create."""

    headers: Headers | None = None


class EndpointPatch(Own, rename="camel", kw_only=True):
    """Fields to change: a missing field does not change, and null removes its value."""

    url: Url | UnsetType = UNSET
    uid: Uid | UnsetType | None = UNSET
    description: Text | UnsetType = UNSET
    event_types: Types | UnsetType | None = UNSET
    filter_types: Types | UnsetType | None = UNSET
    channels: Channels | UnsetType | None = UNSET
    throttle_rate: Throttle | UnsetType | None = UNSET
    rate_limit: Throttle | UnsetType | None = UNSET
    disabled: bool | UnsetType = UNSET
    metadata: Metadata | UnsetType | None = UNSET
    version: Version | UnsetType = UNSET

    @property
    def types(self) -> list[str] | UnsetType | None:
        """The event types in the request, under either name."""
        return self.filter_types if self.event_types is UNSET else self.event_types


class EndpointOut(Struct, rename="camel", kw_only=True):
    """An endpoint."""

    id: str
    uid: str | None
    url: str
    description: str
    disabled: bool
    event_types: tuple[str, ...] | None
    filter_types: tuple[str, ...] | None
    channels: tuple[str, ...] | None
    throttle_rate: int | None
    rate_limit: int | None
    metadata: dict[str, str]
    version: int
    standing: Standing
    concurrency: int | None
    fifo: bool
    blocking: bool
    created_at: Instant
    updated_at: Instant


def whole(body: EndpointUpdate, stored: Standing = Standing.ENABLED) -> EndpointFields:
    """Return all fields that a POST or PUT sets, except the URL, the headers and the secret."""
    rate = body.throttle_rate or body.rate_limit
    fields: dict[str, object] = {
        "uid": body.uid,
        "description": body.description or "",
        "event_types": _without_duplicates(body.types),
        "channels": _without_duplicates(body.channels),
        "rate": None if rate is None else float(rate),
        "metadata": body.metadata or {},
        **_fields_of_tarry(body),
        **_standing(body.standing, stored, disabled=_disabled(body, stored)),
    }
    return cast("EndpointFields", fields)  # the keys are its fields


def part(body: EndpointPatch, stored: Standing) -> EndpointFields:
    """Return the fields that a PATCH changes, except the URL."""
    rate = body.rate_limit if body.throttle_rate is UNSET else body.throttle_rate
    fields: dict[str, object] = {
        "uid": body.uid,
        "description": body.description,
        "event_types": _without_duplicates(body.types),
        "channels": _without_duplicates(body.channels),
        "rate": float(rate) if isinstance(rate, int) else rate,
        "metadata": {} if body.metadata is None else body.metadata,
    }
    changes = {name: value for name, value in fields.items() if value is not UNSET}
    changes |= _fields_of_tarry(body) | _standing(body.standing, stored, disabled=body.disabled)
    return cast("EndpointFields", changes)  # the keys are its fields


def endpoint_out(endpoint: Endpoint) -> EndpointOut:
    """Return an endpoint as a response shows it."""
    rate = None if endpoint.rate is None else max(1, round(endpoint.rate))
    return EndpointOut(
        id=endpoint.id,
        uid=None if endpoint.standing is Standing.DELETED else endpoint.uid,  # now free for others
        url=endpoint.url,
        description=endpoint.description,
        disabled=endpoint.standing in DISABLED,
        event_types=endpoint.event_types,
        filter_types=endpoint.event_types,
        channels=endpoint.channels,
        throttle_rate=rate,
        rate_limit=rate,
        metadata=endpoint.metadata,
        version=VERSION,
        standing=endpoint.standing,
        concurrency=endpoint.concurrency,
        fifo=endpoint.fifo,
        blocking=endpoint.blocking,
        created_at=instant(endpoint.created_at),
        updated_at=instant(endpoint.updated_at),
    )


def _without_duplicates(names: list[str] | UnsetType | None) -> tuple[str, ...] | UnsetType | None:
    """Remove duplicate names."""
    return tuple(dict.fromkeys(names)) if isinstance(names, list) else names


def _fields_of_tarry(body: Own) -> dict[str, object]:
    """Return the fields in a body that only tarry has, as far as they are given."""
    fields = {"concurrency": body.concurrency, "fifo": body.fifo, "blocking": body.blocking}
    return {name: value for name, value in fields.items() if value is not UNSET}


def _disabled(body: EndpointUpdate, stored: Standing) -> bool | UnsetType:
    """Return the value of `disabled` in a PUT.

    False does not resume a paused endpoint: responses show a paused endpoint as not disabled, and a
    client may write back what it read.
    """
    if body.disabled:
        return True
    return UNSET if stored is Standing.PAUSED else False


def _standing(
    wish: OwnerStanding | UnsetType, stored: Standing, *, disabled: bool | UnsetType
) -> dict[str, object]:
    """Return the new standing, if the request sets one.

    A parked endpoint already counts as disabled, so `disabled: true` does not change it.
    """
    if wish is not UNSET:
        return {"standing": Standing(wish.value)}
    if disabled is UNSET or (disabled and stored in DISABLED):
        return {}
    return {"standing": Standing.DISABLED if disabled else Standing.ENABLED}
