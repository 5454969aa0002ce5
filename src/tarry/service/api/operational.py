"""Operational webhooks over HTTP: endpoints that hear of what happens in an environment.

They are endpoints of an application that is hidden, and work like any other.
"""

from tarry.errors import NotFound
from tarry.service.api import endpoints, headers, secrets
from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.endpoint_bodies import EndpointIn, EndpointOut, EndpointUpdate, written
from tarry.service.api.headers import HeadersIn, HeadersOut
from tarry.service.api.operation import CREATED, Group, Reply
from tarry.service.api.paging import Page
from tarry.service.api.secrets import RotateIn, SecretOut
from tarry.service.model import operational
from tarry.service.model.application import Application

WAY = "/operational-webhook/endpoint"
ONE = WAY + "/{endpoint_id}"

group = Group("Operational Webhook", "v1.operational-webhook.endpoint")


@group.get(WAY, name="list")
async def list_endpoints(call: Call, query: endpoints.EndpointQuery) -> Page[EndpointOut]:
    """List the endpoints that hear of what happens here, the newest first."""
    return await endpoints.listed(call, _hidden(call), query)


@group.post(WAY, needs=Need.ENDPOINTS, status=CREATED)
async def create(call: Call, body: EndpointIn) -> EndpointOut:
    """Have a URL hear of what happens here."""
    body.channels = None  # news have none
    return written(await endpoints.added(call, await _made(call), body))


@group.get(ONE)
async def get(call: Call) -> EndpointOut:
    """Get an endpoint."""
    return written(await call.endpoint(_hidden(call)))


@group.put(ONE, needs=Need.ENDPOINTS, also=(CREATED,))
async def update(call: Call, body: EndpointUpdate) -> Reply[EndpointOut]:
    """Make an endpoint anew, or make it if it is not there."""
    body.channels = None
    return await endpoints.put(call, await _made(call), body)


@group.delete(ONE, needs=Need.ENDPOINTS)
async def delete(call: Call) -> None:
    """Delete an endpoint."""
    await endpoints.removed(call, _hidden(call))


@group.get(ONE + "/secret", needs=Need.SECRETS)
async def get_secret(call: Call) -> SecretOut:
    """Get what an endpoint's receiver verifies with."""
    return secrets.shown(call, await call.endpoint(_hidden(call)))


@group.post(ONE + "/secret/rotate", needs=Need.ROTATE, fails=(400,))
async def rotate_secret(call: Call, body: RotateIn | None) -> None:
    """Sign with a new secret, and for a while with the old ones as well."""
    await secrets.rotated(call, _hidden(call), body or RotateIn())


@group.get(ONE + "/headers")
async def get_headers(call: Call) -> HeadersOut:
    """Get the headers that are added to requests."""
    return headers.shown(call, await call.endpoint(_hidden(call)))


@group.put(ONE + "/headers", needs=Need.ENDPOINTS)
async def update_headers(call: Call, body: HeadersIn) -> None:
    """Set all headers that are added to requests."""
    await headers.put(call, _hidden(call), body)


def _hidden(call: Call) -> Application:
    """The application that they are endpoints of, whether it was made yet or not."""
    return operational.application(call.who.environment, now=call.now)


async def _made(call: Call) -> Application:
    """The same, once it is there."""
    store, hidden = call.hooks.store, _hidden(call)
    try:
        return await store.application(hidden.environment, operational.UID)
    except NotFound:
        await store.add_environment(hidden.environment)
        await store.put_application(hidden)
        return hidden
