"""What happens to endpoints over HTTP becomes news for an environment's operational webhooks.

It is put on record in the commit that makes it happen: neither is there without the other.
"""

from collections.abc import Sequence

from tarry.errors import NotFound
from tarry.service.api.call import Call
from tarry.service.api.endpoint_bodies import DISABLED
from tarry.service.hooks import Hooks
from tarry.service.model import ids, operational
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Notice


async def noting(call: Call, application: Application, kind: str | None = None) -> Hooks:
    """What to change an endpoint with, so that it is noted; only if somebody listens.

    Whatever `kind` says of it, it is also noted that the endpoint was enabled or disabled.
    """
    # In any case: a request that is carried out again makes the same ids, whoever listens by then.
    new = call.new_id(ids.NOTICE), call.new_id(ids.NOTICE)
    if operational.is_hidden(application.environment) or not await _listens(call):
        return call.hooks

    def noted(before: Endpoint | None, after: Endpoint) -> Sequence[Notice]:
        kinds = (kind, _turned(before, after))
        gone = after.standing is Standing.DELETED
        uid = before.uid if gone and before is not None else after.uid
        by = {"trigger": "manual"}  # of one that was disabled; the others have no other way
        return [
            Notice(
                id=known_as,
                application=after.application,
                endpoint=after.id,
                kind=one,
                facts={"endpoint_uid": uid, **(by if one == "endpoint.disabled" else {})},
                at=call.now,
            )
            for known_as, one in zip(new, kinds, strict=True)
            if one is not None
        ]

    return call.hooks.noting(noted)


def _turned(before: Endpoint | None, after: Endpoint) -> str | None:
    """Whether an endpoint was enabled or disabled."""
    if before is None or after.standing is Standing.DELETED:
        return None
    was, disabled = before.standing in DISABLED, after.standing in DISABLED
    if was == disabled:
        return None
    return "endpoint.disabled" if disabled else "endpoint.enabled"


async def _listens(call: Call) -> bool:
    """Whether anybody asked for operational webhooks."""
    hidden = operational.hidden(call.who.environment)
    try:
        await call.hooks.store.application(hidden, operational.UID)
    except NotFound:
        return False
    return True
