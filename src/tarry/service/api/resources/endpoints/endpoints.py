"""Operations on endpoints, which receive an application's messages."""

from collections.abc import Iterable

from msgspec import UNSET

from tarry.errors import NotFound, SettingsError
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import CREATED, Group, Reply
from tarry.service.api.http.paging import EndpointMark, OrderedQuery, Page, cut, page
from tarry.service.api.http.problem import Invalid
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.bodies import (
    EndpointIn,
    EndpointOut,
    EndpointPatch,
    EndpointUpdate,
    endpoint_out,
    part,
    whole,
)
from tarry.service.api.resources.endpoints.change_notices import hooks_with_notices
from tarry.service.api.resources.endpoints.secrets import prefixed
from tarry.service.api.resources.event_types.event_types import may_see
from tarry.service.api.resources.upsert import change_or_create
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.store.kinds import Endpoints, EventTypes
from tarry.service.wire.secret import check_secret

PATH = "/app/{app_id}/endpoint"

group = Group("Endpoint", "v1.endpoint")


class EndpointQuery(OrderedQuery, kw_only=True):
    """The page of the list, and its order."""

    iterator: EndpointMark | None = None


@group.get(PATH, name="list")
async def list_endpoints(call: Call, query: EndpointQuery) -> Page[EndpointOut]:
    """List an application's endpoints, newest first."""
    return await listed(call, await call.application(), query)


@group.post(PATH, needs=Need.ENDPOINTS, status=CREATED, fails=(400,))
async def create(call: Call, body: EndpointIn) -> EndpointOut:
    """Create an endpoint: a URL that receives the application's messages."""
    application = await call.application()
    await check_types(call, body.types)
    return endpoint_out(await added(call, application, body))


@group.get(PATH + "/{endpoint_id}")
async def get(call: Call) -> EndpointOut:
    """Get an endpoint."""
    return endpoint_out(await call.endpoint(await call.application()))


@group.put(PATH + "/{endpoint_id}", needs=Need.ENDPOINTS, also=(CREATED,), fails=(400,))
async def update(call: Call, body: EndpointUpdate) -> Reply[EndpointOut]:
    """Replace an endpoint's settings, or create it if it does not exist."""
    application = await call.application()
    try:
        stored_types = (await call.endpoint(application)).event_types
    except NotFound:
        stored_types = None
    await check_types(call, body.types, stored_types)
    return await put(call, application, body)


@group.patch(PATH + "/{endpoint_id}", needs=Need.ENDPOINTS)
async def patch(call: Call, body: EndpointPatch) -> EndpointOut:
    """Change some fields of an endpoint; they apply to waiting deliveries too."""
    application = await call.application()
    stored = await call.endpoint(application)
    await check_types(call, None if body.types is UNSET else body.types, stored.event_types)
    url = None if body.url is UNSET else check_url(call, body.url)
    fields = part(body, stored.standing)
    hooks = await hooks_with_notices(call, application, "endpoint.updated")
    return endpoint_out(await hooks.change_endpoint(stored, url=url, **fields))


@group.delete(PATH + "/{endpoint_id}", needs=Need.ENDPOINTS)
async def delete(call: Call) -> None:
    """Delete an endpoint and discard its waiting deliveries."""
    await removed(call, await call.application())


async def listed(call: Call, application: Application, query: EndpointQuery) -> Page[EndpointOut]:
    """Return a page of an application's endpoints."""
    page_cut = cut(query, descending=True)
    endpoints = (await call.hooks.store.page(Endpoints(application.id), page_cut)).entries
    return page(endpoints, query, endpoint_out, lambda endpoint: endpoint.id)


async def added(call: Call, application: Application, body: EndpointUpdate) -> Endpoint:
    """Create an endpoint with the fields of a request."""
    check_url(call, body.url)
    secret = None if body.secret is None else prefixed(body.secret)
    headers = body.headers if isinstance(body, EndpointIn) else None
    hooks = await hooks_with_notices(call, application, "endpoint.created")
    return await hooks.add_endpoint(
        application, body.url, secret=secret, headers=headers, **whole(body)
    )


async def put(call: Call, application: Application, body: EndpointUpdate) -> Reply[EndpointOut]:
    """Replace the settings of the endpoint that the path names, or create it."""
    name = call.name("endpoint_id", "endpoint")
    check_url(call, body.url)

    async def change_stored() -> EndpointOut:
        """Replace the settings of the stored endpoint; NotFound if there is none."""
        stored = await call.hooks.store.get(Endpoints(application.id), name)
        if body.secret is not None:  # not used, but a wrong one must not be accepted
            check_secret(prefixed(body.secret))
        hooks = await hooks_with_notices(call, application, "endpoint.updated")
        fields = whole(body, stored.standing)
        return endpoint_out(await hooks.change_endpoint(stored, url=body.url, **fields))

    async def create_new() -> EndpointOut:
        """Create the endpoint."""
        return endpoint_out(await added(call, application, body))

    return await change_or_create(change_stored, create_new)


async def removed(call: Call, application: Application) -> None:
    """Delete the endpoint that the path names."""
    stored = await call.endpoint(application)
    hooks = await hooks_with_notices(call, application, "endpoint.deleted")
    await hooks.delete_endpoint(stored)


def check_url(call: Call, url: str) -> str:
    """Return the URL if it may be called; otherwise the error names the field `url`."""
    try:
        call.hooks.egress.target(url)
    except SettingsError as error:
        raise Invalid(["body", "url"], str(error)) from error
    return url


async def check_types(
    call: Call, names: Iterable[str] | None, stored_types: Iterable[str] | None = None
) -> None:
    """Refuse event types that do not exist: the endpoint would never get such a message.

    Event types in `stored_types` may stay, even if they were archived or deleted.
    """
    new = dict.fromkeys(names or ())
    for name in stored_types or ():
        new.pop(name, None)
    # One query at a time: a thousand at once would delay all other requests.
    missing = [name for name in new if not await _exists(call, name)]
    if missing:
        detail = f"these event types do not exist: {', '.join(missing)}"
        hint = "create them first: POST /api/v1/event-type, or `tarry event-type create`"
        raise Invalid(["body", "eventTypes"], f"{detail}; {hint}")


async def _exists(call: Call, event_type: str) -> bool:
    """Return whether an event type exists, is not archived, and is visible to the caller."""
    try:
        stored = await call.hooks.store.get(EventTypes(call.caller.environment), event_type)
    except NotFound:
        return False
    return may_see(call, stored) and not stored.archived
