"""The operation that tests an endpoint: send it an example message."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tarry.errors import NotFound
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import BadRequest, Invalid
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.event_types.event_types import KIND, may_see
from tarry.service.api.resources.event_types.schemas import example
from tarry.service.api.resources.messages.bodies import MessageOut, Name, message_out
from tarry.service.model.message import Accepted, NewMessage
from tarry.service.store.kinds import EventTypes

PINGS = frozenset({"svix.ping", "tarry.ping"})
"""Event types that can be sent as an example without having been created."""
PING = b'{"success": true}'

group = Group("Endpoint", "v1.endpoint")


class ExampleIn(Struct, rename="camel", kw_only=True):
    """The example: a given payload, or one from the newest schema of the event type."""

    event_type: Name
    example_index: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    payload: dict[str, msgspec.Raw] | None = None


@group.post(
    "/app/{app_id}/endpoint/{endpoint_id}/send-example",
    needs=Need.ATTEMPTS,
    sealed=True,  # plain payloads are stored only where they can be expunged
    fails=(400,),
)
async def send_example(call: Call, body: ExampleIn) -> MessageOut:
    """Send an example message to this endpoint only, even if it does not want the event type.

    The event types `svix.ping` and `tarry.ping` always exist.
    """
    application = await call.application()
    endpoint = await call.endpoint(application)
    message = call.hooks.message(application, body.event_type, await _payload(call, body))
    (result,) = await call.hooks.send_many([NewMessage(message, only=endpoint.id)])
    if not isinstance(result, Accepted):
        raise result
    return await message_out(result.message, call.hooks.redaction, with_content=True)


async def _payload(call: Call, body: ExampleIn) -> bytes:
    """Return the payload to send: the body's, the ping, or the event type's example."""
    if body.payload is not None:
        if not call.may(Need.SEND):
            detail = "this key may send the examples that are there, but none of its own"
            raise Invalid(["body", "payload"], detail)
        return msgspec.json.encode(body.payload)
    if body.event_type in PINGS:
        return PING
    event_type = await call.hooks.store.get(EventTypes(call.caller.environment), body.event_type)
    if not may_see(call, event_type):
        raise NotFound(KIND, body.event_type)
    chosen = None
    if event_type.schemas is not None:
        chosen = example(event_type.schemas, body.example_index or 0)
    if chosen is None:
        detail = "the newest schema of this type of events has no example that is an object"
        raise BadRequest("invalid_scheme", detail)
    return chosen
