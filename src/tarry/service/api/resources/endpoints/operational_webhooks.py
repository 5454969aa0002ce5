"""Operations on operational webhooks: endpoints that are notified of events in an environment.

They are endpoints of a hidden application and work like all others.
"""

from tarry.errors import NotFound
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import CREATED, Group, Reply
from tarry.service.api.http.paging import Page
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints import endpoints, headers, secrets
from tarry.service.api.resources.endpoints.bodies import (
    EndpointIn,
    EndpointOut,
    EndpointUpdate,
    endpoint_out,
)
from tarry.service.api.resources.endpoints.headers import HeadersIn, HeadersOut
from tarry.service.api.resources.endpoints.secrets import RotateIn, SecretOut
from tarry.service.model import operational
from tarry.service.model.application import Application
from tarry.service.store.kinds import Applications, Environment

LIST_PATH = "/operational-webhook/endpoint"
PATH = LIST_PATH + "/{endpoint_id}"

group = Group("Operational Webhook", "v1.operational-webhook.endpoint")


@group.get(LIST_PATH, name="list")
async def list_endpoints(call: Call, query: endpoints.EndpointQuery) -> Page[EndpointOut]:
    """List the endpoints of operational webhooks, newest first."""
    return await endpoints.listed(call, _hidden(call), query)


@group.post(LIST_PATH, needs=Need.ENDPOINTS, status=CREATED, fails=(400,))
async def create(call: Call, body: EndpointIn) -> EndpointOut:
    """Create an endpoint: a URL that receives operational webhooks."""
    body.channels = None  # notices have no channels
    return endpoint_out(await endpoints.added(call, await _stored_hidden(call), body))


@group.get(PATH)
async def get(call: Call) -> EndpointOut:
    """Get an endpoint."""
    return endpoint_out(await call.endpoint(_hidden(call)))


@group.put(PATH, needs=Need.ENDPOINTS, also=(CREATED,), fails=(400,))
async def update(call: Call, body: EndpointUpdate) -> Reply[EndpointOut]:
    """Replace an endpoint's settings, or create it if it does not exist."""
    body.channels = None
    return await endpoints.put(call, await _stored_hidden(call), body)


@group.delete(PATH, needs=Need.ENDPOINTS)
async def delete(call: Call) -> None:
    """Delete an endpoint."""
    await endpoints.removed(call, _hidden(call))


@group.get(PATH + "/secret", needs=Need.SECRETS)
async def get_secret(call: Call) -> SecretOut:
    """Get the key with which an endpoint's receiver verifies messages."""
    return secrets.shown(call, await call.endpoint(_hidden(call)))


@group.post(PATH + "/secret/rotate", needs=Need.ROTATE, fails=(400,))
async def rotate_secret(call: Call, body: RotateIn | None) -> None:
    """Sign with a new secret, and with the old ones too for a grace period."""
    await secrets.rotated(call, _hidden(call), body or RotateIn())


@group.get(PATH + "/headers")
async def get_headers(call: Call) -> HeadersOut:
    """Get the headers that are added to every request to an endpoint."""
    return headers.shown(call, await call.endpoint(_hidden(call)))


@group.put(PATH + "/headers", needs=Need.ENDPOINTS)
async def update_headers(call: Call, body: HeadersIn) -> None:
    """Replace the headers that are added to every request to an endpoint."""
    await headers.put(call, _hidden(call), body)


def _hidden(call: Call) -> Application:
    """Return the hidden application, whether it is stored yet or not."""
    return operational.application(call.caller.environment, now=call.now)


async def _stored_hidden(call: Call) -> Application:
    """Return the hidden application; store it first if necessary."""
    store, hidden = call.hooks.store, _hidden(call)
    try:
        return await store.get(Applications(hidden.environment), operational.UID)
    except NotFound:
        await store.create(Environment(hidden.environment))
        await store.put(hidden)
        return hidden
