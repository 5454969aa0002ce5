"""Operations on applications, which are the tenants of an environment."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import CREATED, UPDATED, Group, Reply
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, instant
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.upsert import change_or_create, create_or_find
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.store.kinds import Applications

Uid = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^(?!app_)[a-zA-Z0-9\-_.]+\Z")]
"""A name chosen by the owner. It does not start like an id, so it cannot equal one."""
Title = Annotated[str, Meta(min_length=1, max_length=512, pattern=r"^[^\x00]*[^\x00\s][^\x00]*\Z")]
Throttle = Annotated[int, Meta(ge=1, le=65_535)]
Text = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00]*\Z")]
Metadata = Annotated[dict[Text, Text], Meta(max_length=1000)]

group = Group("Application", "v1.application")


class ApplicationIn(Struct, rename="camel", kw_only=True):
    """An application to create, or to replace an existing one."""

    name: Title
    uid: Uid | None = None
    throttle_rate: Throttle | None = None
    rate_limit: Throttle | None = None
    """The older name of `throttleRate`."""
    metadata: Metadata | None = None


class ApplicationPatch(Struct, rename="camel", kw_only=True):
    """Fields to change: a missing field does not change, and null removes its value."""

    name: Title | UnsetType = UNSET
    uid: Uid | UnsetType | None = UNSET
    throttle_rate: Throttle | UnsetType | None = UNSET
    rate_limit: Throttle | UnsetType | None = UNSET
    metadata: Metadata | UnsetType | None = UNSET


class ApplicationOut(Struct, rename="camel", kw_only=True):
    """An application."""

    id: str
    uid: str | None
    name: str
    throttle_rate: int | None
    rate_limit: int | None
    metadata: dict[str, str]
    created_at: Instant
    updated_at: Instant


class CreateQuery(Struct):
    """Whether to return an existing application with the same uid instead of a conflict."""

    get_if_exists: bool = False


@group.post("/app", needs=Need.CHANGE, status=CREATED, also=(UPDATED,))
async def create(call: Call, body: ApplicationIn, query: CreateQuery) -> Reply[ApplicationOut]:
    """Create an application.

    With `get_if_exists`, an existing application with the same uid is returned unchanged.
    """
    new = new_application(call, body)
    uid = body.uid
    if not query.get_if_exists or uid is None:
        return Reply(application_out(await _store(call, new)), CREATED)
    reply = await create_or_find(
        lambda: _store(call, new),
        lambda: call.hooks.store.get(Applications(call.caller.environment), uid),
    )
    return Reply(application_out(reply.body), reply.status)


@group.get("/app/{app_id}")
async def get(call: Call) -> ApplicationOut:
    """Get an application."""
    return application_out(await call.application())


@group.put("/app/{app_id}", needs=Need.CHANGE, also=(CREATED,))
async def update(call: Call, body: ApplicationIn) -> Reply[ApplicationOut]:
    """Replace an application, or create it if it does not exist."""
    known_as = call.name("app_id", "application")
    described = new_application(call, body)
    fields = {
        "name": described.name,
        "uid": described.uid,
        "rate": described.rate,
        "metadata": described.metadata,
    }

    async def change_stored() -> ApplicationOut:
        """Change the stored application; NotFound if there is none."""
        return application_out(await changed(call, await call.application(), fields))

    async def create_new() -> ApplicationOut:
        """Create the application."""
        if call.caller.application is not None:  # a key to one application cannot create others
            raise NotFound("application", known_as)
        return application_out(await _store(call, described))

    return await change_or_create(change_stored, create_new)


@group.patch("/app/{app_id}", needs=Need.CHANGE)
async def patch(call: Call, body: ApplicationPatch) -> ApplicationOut:
    """Change some fields of an application."""
    stored = await call.application()
    rate = body.throttle_rate if body.throttle_rate is not UNSET else body.rate_limit
    metadata = {} if body.metadata is None else body.metadata
    if metadata is not UNSET:
        call.hooks.settings.sizes.check_metadata(metadata)
    fields = {"name": body.name, "uid": body.uid, "rate": rate, "metadata": metadata}
    changes = {field: value for field, value in fields.items() if value is not UNSET}
    return application_out(await changed(call, stored, changes))


@group.delete("/app/{app_id}", needs=Need.CHANGE)
async def delete(call: Call) -> None:
    """Delete an application and discard its waiting deliveries."""
    stored = await call.application()
    await call.hooks.delete_application(stored)
    _forget(call, stored)


class EraseOut(Struct):
    """Whether the application had sealed payloads or responses."""

    erased: bool


@group.post("/app/{app_id}/erase", needs=Need.CHANGE)
async def erase(call: Call) -> EraseOut:
    """Erase all sealed payloads and responses of an application, for ever.

    Its data key is deleted. Waiting deliveries of erased messages are discarded. New messages get a
    new data key. Payloads that were stored unsealed stay: delete them with
    `expunge-all-contents`.
    """
    return EraseOut(await call.hooks.erase_payloads(await call.application()))


async def changed(
    call: Call, application: Application, fields: Mapping[str, object]
) -> Application:
    """Change the given fields of an application; concurrent changes of other fields are kept."""
    new = await call.hooks.store.change(
        Applications(application.environment),
        application.id,
        lambda stored: replace(stored, updated_at=call.now, **fields),
        by=call.hooks.action,
    )
    _forget(call, application, new)
    return new


def _forget(call: Call, *applications: Application) -> None:
    """Drop applications from the cache, because a uid may belong to another application now."""
    for application in applications:
        for name in (application.id, application.uid):
            if name is not None:
                call.send_cache.forget(application.environment, name)


async def on_the_fly(call: Call, body: ApplicationIn) -> Application:
    """Create the application whose uid is in the path, or return it if another caller just did."""
    if body.uid != call.names["app_id"]:
        detail = f"it must be {call.names['app_id']!r}, as in the path"
        raise Invalid(["body", "application", "uid"], detail)
    new = new_application(call, body)
    return (await create_or_find(lambda: _store(call, new), call.application)).body


async def _store(call: Call, new: Application) -> Application:
    """Save a new application and return it."""
    await call.hooks.store.put(new, by=call.action)
    return new


def new_application(call: Call, body: ApplicationIn) -> Application:
    """Return a new application with the fields of a request."""
    rate = body.throttle_rate or body.rate_limit
    call.hooks.settings.sizes.check_metadata(body.metadata)
    return Application(
        id=call.new_id(ids.APPLICATION),
        environment=call.caller.environment,
        name=body.name,
        uid=body.uid,
        rate=None if rate is None else float(rate),
        metadata=body.metadata or {},
        created_at=call.now,
        updated_at=call.now,
    )


def application_out(application: Application) -> ApplicationOut:
    """Return an application as a response shows it."""
    rate = None if application.rate is None else max(1, round(application.rate))
    return ApplicationOut(
        id=application.id,
        uid=application.uid,
        name=application.name,
        throttle_rate=rate,
        rate_limit=rate,
        metadata=application.metadata,
        created_at=instant(application.created_at),
        updated_at=instant(application.updated_at),
    )
