"""The operation that lists the audit trail: who changed what, when and from where."""

from typing import Annotated

from msgspec import Meta, Struct

from tarry.service.api.http.operation import Group
from tarry.service.api.http.paging import AuditMark, OrderedQuery, Page, cut, page
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, instant, seconds
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.messages.bodies import Name
from tarry.service.api.resources.messages.newest_first import LATEST_IN_IDS
from tarry.service.model import ids, operational
from tarry.service.model.audit import ActorKind, AuditEntry, AuditFilter, FieldChange
from tarry.service.store.kinds import Applications, AuditTrail

Word = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[^\x00]+\Z")]

group = Group("Audit Trail", "v1.audit")


class AuditQuery(OrderedQuery, kw_only=True):
    """Which entries to list: those that match all given fields.

    `app_id` is an application's id or uid; the id still works when it was deleted. `actor` is a
    key's id, or a kind of actor such as `command-line`. `operation` is the `operationId` of the
    API, or a command. `target` is the id of what was changed; of an event type, the name. The
    changes were made at `after` or later, and earlier than `before`.
    """

    iterator: AuditMark | None = None
    app_id: Name | None = None
    actor: Word | None = None
    operation: Word | None = None
    target: Word | None = None
    before: Instant | None = None
    after: Instant | None = None


class ActorOut(Struct, rename="camel", kw_only=True):
    """Who made a change, and the id of the key that was used, if it has one."""

    kind: ActorKind
    key_id: str | None


class TargetOut(Struct, kw_only=True):
    """What was changed."""

    kind: str
    id: str


class AuditEntryOut(Struct, rename="camel", kw_only=True):
    """A change. `address` is where the request came from.

    `changes` names the fields that changed. Their values `before` and `after` are there only if
    they cannot be secret.
    """

    id: str
    timestamp: Instant
    actor: ActorOut
    operation: str
    app_id: str | None
    target: TargetOut
    address: str | None
    changes: tuple[FieldChange, ...]


@group.get("/audit", name="list", fails=(404,))
async def list_audit(call: Call, query: AuditQuery) -> Page[AuditEntryOut]:
    """List the audit trail of the environment, newest first."""
    environment = call.caller.environment
    listed = await call.hooks.store.page(
        AuditTrail(environment, await _filter(call, query)), cut(query, descending=True)
    )
    hidden = operational.application(environment, now=call.now).id
    return page(
        listed.entries,
        query,
        lambda entry: _entry_out(entry, hidden),
        lambda entry: entry.id,
        left_at=listed.left_at,
    )


async def _filter(call: Call, query: AuditQuery) -> AuditFilter:
    """Return the filter of a query; NotFound or Invalid if nothing can fit it."""
    application = query.app_id
    if application is not None and not application.startswith(ids.APPLICATION):
        kind = Applications(call.caller.environment)
        application = (await call.hooks.store.get(kind, application)).id
    if query.actor is not None and not query.actor.startswith(ids.KEY):
        kinds = [str(kind) for kind in ActorKind]
        if query.actor not in kinds:
            raise Invalid(["query", "actor"], f"it must be a key's id or one of {', '.join(kinds)}")
    after, before = (
        None if at is None else min(at, LATEST_IN_IDS)
        for at in map(seconds, (query.after, query.before))
    )
    return AuditFilter(
        application=application,
        actor=query.actor,
        operation=query.operation,
        target=query.target,
        after=after,
        before=before,
    )


def _entry_out(entry: AuditEntry, hidden: str) -> AuditEntryOut:
    """Return an entry as a response shows it: without the hidden application."""
    return AuditEntryOut(
        id=entry.id,
        timestamp=instant(entry.at),
        actor=ActorOut(kind=entry.actor, key_id=entry.key),
        operation=entry.operation,
        app_id=None if entry.application == hidden else entry.application,
        target=TargetOut(kind=entry.target_kind, id=entry.target),
        address=entry.address,
        changes=entry.changes,
    )
