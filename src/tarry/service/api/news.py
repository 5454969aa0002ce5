"""What happens to endpoints over HTTP becomes news for an environment's operational webhooks."""

from tarry.errors import NotFound
from tarry.service.api.call import Call
from tarry.service.model import ids, operational
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Notice


async def note(call: Call, kind: str, application: Application, endpoint: Endpoint) -> None:
    """Put it on record that something happened to an endpoint; only if somebody listens."""
    if operational.is_hidden(application.environment) or not await _listens(call):
        return
    notice = Notice(
        id=call.new_id(ids.NOTICE),
        application=application.id,
        endpoint=endpoint.id,
        kind=kind,
        facts={"endpoint_uid": endpoint.uid},
        at=call.now,
    )
    await call.hooks.store.add_notices([notice])


async def _listens(call: Call) -> bool:
    """Whether anybody asked for operational webhooks."""
    hidden = operational.hidden(call.who.environment)
    try:
        await call.hooks.store.application(hidden, operational.UID)
    except NotFound:
        return False
    return True
