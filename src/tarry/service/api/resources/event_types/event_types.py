"""Operations on event types, which say what an environment's messages can be about."""

from collections.abc import Callable
from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.api.http.access import Need
from tarry.service.api.http.off_loop import off_loop
from tarry.service.api.http.operation import CREATED, Group, Reply
from tarry.service.api.http.paging import MOST_PAGE_BYTES, OrderedQuery, Page, cut, page
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, instant
from tarry.service.api.resources.applications.applications import Text
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.event_types.schemas import check_weight, read_schemas
from tarry.service.api.resources.messages.bodies import Name
from tarry.service.api.resources.upsert import change_or_create
from tarry.service.model.event_type import EventType
from tarry.service.model.listing import Found
from tarry.service.store.kinds import EventTypes

KIND = "event type"
LIST_PATH = "/event-type"
PATH = "/event-type/{event_type_name}"
_CHECKED = ("schemas", "validates")

Version = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[^\x00]+\Z")]
Schema = Annotated[Raw, Meta(extra_json_schema={"type": ["object", "boolean"]})]
Schemas = Annotated[dict[Version, Schema], Meta(max_length=100)]
Flags = Annotated[list[Name], Meta(max_length=50)]

MOST_BYTES = 1024 * 1024
"""The most bytes of an event type with its schemas."""

group = Group("Event Type", "v1.event-type")


class EventTypeUpdate(Struct, rename="camel", kw_only=True):
    """All fields of an event type, to replace an existing one."""

    description: Text
    archived: bool | None = None
    deprecated: bool | None = None
    schemas: Schemas | None = None
    """JSON Schemas by version."""
    validate_payload: bool | UnsetType | None = UNSET
    """Whether messages must match the newest schema; if it is missing, this does not change."""
    feature_flags: Flags | None = None
    feature_flag: Name | None = None
    """The older form of `featureFlags`, for a single flag."""
    group_name: Name | None = None

    def fields(self) -> dict[str, object]:
        """Return all fields as they are stored, but the schemas as they came."""
        flags = [] if self.feature_flag is None else [self.feature_flag]
        values: dict[str, object] = {
            "description": self.description,
            "archived": self.archived or False,
            "deprecated": self.deprecated or False,
            "schemas": self.schemas,
            "feature_flags": tuple(self.feature_flags or flags),
            "group": self.group_name,
        }
        if self.validate_payload is not UNSET:
            values["validates"] = self.validate_payload or False
        return values


class EventTypeIn(EventTypeUpdate, rename="camel", kw_only=True):
    """An event type to create."""

    name: Name


class EventTypePatch(Struct, rename="camel", kw_only=True):
    """Fields to change: a missing field does not change, and null removes its value."""

    description: Text | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    deprecated: bool | UnsetType = UNSET
    schemas: Schemas | UnsetType | None = UNSET
    validate_payload: bool | UnsetType | None = UNSET
    feature_flags: Flags | UnsetType | None = UNSET
    feature_flag: Name | UnsetType | None = UNSET
    group_name: Name | UnsetType | None = UNSET

    def fields(self) -> dict[str, object]:
        """Return the changed fields as they are stored, but the schemas as they came."""
        flags: object = UNSET if self.feature_flags is UNSET else tuple(self.feature_flags or ())
        if flags is UNSET and self.feature_flag is not UNSET:
            flags = () if self.feature_flag is None else (self.feature_flag,)
        values = {
            "description": self.description,
            "archived": self.archived,
            "deprecated": self.deprecated,
            "schemas": self.schemas,
            "validates": False if self.validate_payload is None else self.validate_payload,
            "feature_flags": flags,
            "group": self.group_name,
        }
        return {name: value for name, value in values.items() if value is not UNSET}


class EventTypeOut(Struct, rename="camel", kw_only=True):
    """An event type."""

    name: str
    description: str
    archived: bool
    deprecated: bool
    schemas: Annotated[Raw, Meta(extra_json_schema={"type": "object"})] | None
    validate_payload: bool
    feature_flags: tuple[str, ...] | None
    feature_flag: str | None
    group_name: str | None
    created_at: Instant
    updated_at: Instant


class EventTypeQuery(OrderedQuery, kw_only=True):
    """The page of the list, and whether to include archived event types and the schemas."""

    include_archived: bool = False
    with_content: bool = False


class DeleteQuery(Struct):
    """Whether to delete the event type instead of archiving it."""

    expunge: bool = False


@group.get(LIST_PATH, name="list", tenants=True)
async def list_event_types(call: Call, query: EventTypeQuery) -> Page[EventTypeOut]:
    """List event types by name; `with_content` includes their schemas."""
    listed = await _visible_page(call, query)
    return page(
        listed.entries,
        query,
        event_type_out,
        lambda event_type: event_type.name,
        left_at=listed.left_at,
    )


@group.post(LIST_PATH, needs=Need.CHANGE, status=CREATED, most_bytes=MOST_BYTES)
async def create(call: Call, body: EventTypeIn) -> EventTypeOut:
    """Create an event type, or replace an archived one."""
    new = await _new(call, body.name, await _checked(body))
    try:
        await _added(call, new)
    except Conflict:
        new = await _changed(call, body.name, lambda stored: _unarchived(stored, new))
    return event_type_out(new)


@group.get(PATH, tenants=True)
async def get(call: Call) -> EventTypeOut:
    """Get an event type."""
    name = call.name("event_type_name", KIND)
    event_type = await call.hooks.store.get(EventTypes(call.caller.environment), name)
    if not may_see(call, event_type):
        raise NotFound(KIND, name)
    return event_type_out(event_type)


@group.put(PATH, needs=Need.CHANGE, also=(CREATED,), most_bytes=MOST_BYTES)
async def update(call: Call, body: EventTypeUpdate) -> Reply[EventTypeOut]:
    """Replace an event type, or create it if it does not exist."""
    name, fields = _name(call), await _checked(body)

    async def change_stored() -> EventTypeOut:
        return event_type_out(await _with_changes(call, name, fields))

    async def create_new() -> EventTypeOut:
        new = await _new(call, name, fields)
        await _added(call, new)
        return event_type_out(new)

    return await change_or_create(change_stored, create_new)


@group.patch(PATH, needs=Need.CHANGE, most_bytes=MOST_BYTES)
async def patch(call: Call, body: EventTypePatch) -> EventTypeOut:
    """Change some fields of an event type."""
    name, fields = call.name("event_type_name", KIND), await _checked(body)
    return event_type_out(await _with_changes(call, name, fields))


@group.delete(PATH, needs=Need.CHANGE)
async def delete(call: Call, query: DeleteQuery) -> None:
    """Archive an event type, or delete it with `expunge`; endpoints keep it in their lists."""
    name = call.name("event_type_name", KIND)
    if query.expunge:
        await call.hooks.store.delete(
            EventTypes(call.caller.environment), name, now=call.now, by=call.hooks.action
        )
        call.send_cache.forget_schema(call.caller.environment, name)
        return
    await _with_changes(call, name, {"archived": True})


def event_type_out(event_type: EventType) -> EventTypeOut:
    """Return an event type as a response shows it."""
    flags = event_type.feature_flags
    return EventTypeOut(
        name=event_type.name,
        description=event_type.description,
        archived=event_type.archived,
        deprecated=event_type.deprecated,
        schemas=None if event_type.schemas is None else Raw(event_type.schemas.encode()),
        validate_payload=event_type.validates,
        feature_flags=flags or None,
        feature_flag=flags[0] if flags else None,
        group_name=event_type.group,
        created_at=instant(event_type.created_at),
        updated_at=instant(event_type.updated_at),
    )


async def _added(call: Call, new: EventType) -> None:
    """Store a new event type; its schema applies in this process at once."""
    await call.hooks.store.create(new, by=call.hooks.action)
    call.send_cache.forget_schema(new.environment, new.name)


async def _changed(call: Call, name: str, change: Callable[[EventType], EventType]) -> EventType:
    """Change an event type; its schema applies in this process at once."""
    changed = await call.hooks.store.change(
        EventTypes(call.caller.environment), name, change, by=call.hooks.action
    )
    call.send_cache.forget_schema(changed.environment, changed.name)
    return changed


async def _visible_page(call: Call, query: EventTypeQuery) -> Found[EventType]:
    """Return a page of the event types that the caller may see.

    It is read in pieces that all have few bytes. With schemas it ends with a piece that has many;
    without them, the schemas of a piece are dropped before the next one is read.
    """
    kind = EventTypes(call.caller.environment, archived=query.include_archived)
    listed, rest = list[EventType](), cut(query)
    while True:
        piece = await call.hooks.store.page(kind, rest)
        visible = [
            event_type if query.with_content else replace(event_type, schemas=None)
            for event_type in piece.entries
            if may_see(call, event_type)
        ]
        listed = [*visible, *listed] if rest.back else [*listed, *visible]
        if len(listed) >= rest.limit or (piece.left_at is None and len(piece.entries) < rest.limit):
            return Found(listed[-rest.limit :] if rest.back else listed[: rest.limit])
        mark = piece.left_at or piece.entries[0 if rest.back else -1].name
        left = MOST_PAGE_BYTES - sum(event_type.bytes for event_type in listed)
        if listed and query.with_content and (piece.left_at is not None or left <= 0):
            return Found(listed, mark)
        rest = replace(rest, mark=mark, most_bytes=left)


def may_see(call: Call, event_type: EventType) -> bool:
    """Return whether the caller may see an event type.

    Programs see all of them. A tenant's token sees an event type with feature flags only if it has
    one of the flags.
    """
    if call.caller.application is None or not event_type.feature_flags:
        return True
    return not call.caller.flags.isdisjoint(event_type.feature_flags)


def _name(call: Call) -> str:
    """Return the name in the path, for an event type that may have to be created.

    A misspelled name is Invalid here, not NotFound.
    """
    try:
        return call.name("event_type_name", KIND)
    except NotFound as error:
        detail = "it must be up to 256 letters, digits, -, _ and ."
        raise Invalid(["path", "event_type_name"], detail) from error


async def _checked(body: EventTypeUpdate | EventTypePatch) -> dict[str, object]:
    """Return the fields of a body as they are stored; Invalid if one is no schema."""
    fields = body.fields()
    if isinstance(body.schemas, dict):
        fields["schemas"] = await off_loop(read_schemas, body.schemas)
    return fields


async def _new(call: Call, name: str, fields: dict[str, object]) -> EventType:
    """Return a new event type with these fields."""
    new = EventType(
        environment=call.caller.environment,
        name=name,
        description="",
        created_at=call.now,
        updated_at=call.now,
    )
    return await off_loop(_with_fields, new, fields, call.now)


async def _with_changes(call: Call, name: str, fields: dict[str, object]) -> EventType:
    """Change these fields of an event type.

    Its schemas are checked before the change too: that takes long, and during the change the
    database could not write anything else. The second time their validators are cached.
    """
    if not fields.keys().isdisjoint(_CHECKED):
        stored = await call.hooks.store.get(EventTypes(call.caller.environment), name)
        await off_loop(_with_fields, stored, fields, call.now)
    return await _changed(call, name, lambda stored: _with_fields(stored, fields, call.now))


def _with_fields(stored: EventType, fields: dict[str, object], now: float) -> EventType:
    """Return an event type with these fields; its schemas are checked if they are used."""
    changed = replace(stored, updated_at=now, **fields)
    if changed.validates and changed.schemas is not None and not fields.keys().isdisjoint(_CHECKED):
        check_weight(changed.schemas)
    return changed


def _unarchived(stored: EventType, new: EventType) -> EventType:
    """Return the new event type in place of an archived one; Conflict if that is in use."""
    if not stored.archived and stored != new:  # equal: this same request created it
        raise Conflict(KIND, stored.name)
    return replace(new, created_at=stored.created_at)
