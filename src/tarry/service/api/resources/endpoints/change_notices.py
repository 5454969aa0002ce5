"""Notices about changes of endpoints, which become operational webhooks of the environment.

A notice is written in the same commit as the change, so neither exists without the other.
"""

from collections.abc import Sequence

from tarry.errors import NotFound
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.bodies import DISABLED
from tarry.service.hooks import Hooks
from tarry.service.model import ids, operational
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Notice
from tarry.service.store.kinds import Applications


async def hooks_with_notices(
    call: Call, application: Application, kind: str | None = None
) -> Hooks:
    """Return hooks that write notices when they change an endpoint.

    They write a notice of `kind`, if given, and another one if the change enables or disables the
    endpoint. Without operational webhooks in the environment they write none.
    """
    # Always take these ids: a repeated request must create the same ids as the first one, even if
    # operational webhooks were set up or removed in between.
    new_ids = call.new_id(ids.NOTICE), call.new_id(ids.NOTICE)
    if operational.is_hidden(application.environment) or not await _listens(call):
        return call.hooks

    def notices_of_change(before: Endpoint | None, after: Endpoint) -> Sequence[Notice]:
        """Return a notice of `kind`, and one if the endpoint was enabled or disabled."""
        kinds = (kind, _kind_of_standing_change(before, after))
        is_deleted = after.standing is Standing.DELETED
        uid = before.uid if is_deleted and before is not None else after.uid
        trigger = {"trigger": "manual"}  # only said of `disabled`: other kinds are always manual
        return [
            Notice(
                id=notice_id,
                application=after.application,
                endpoint=after.id,
                kind=kind_of_notice,
                facts={
                    "endpoint_uid": uid,
                    **(trigger if kind_of_notice == "endpoint.disabled" else {}),
                },
                at=call.now,
            )
            for notice_id, kind_of_notice in zip(new_ids, kinds, strict=True)
            if kind_of_notice is not None
        ]

    return call.hooks.noting(notices_of_change)


def _kind_of_standing_change(before: Endpoint | None, after: Endpoint) -> str | None:
    """Return the kind of notice if a change enabled or disabled the endpoint."""
    if before is None or after.standing is Standing.DELETED:
        return None
    was_disabled, is_disabled = before.standing in DISABLED, after.standing in DISABLED
    if was_disabled == is_disabled:
        return None
    return "endpoint.disabled" if is_disabled else "endpoint.enabled"


async def _listens(call: Call) -> bool:
    """Return whether the environment uses operational webhooks."""
    hidden = operational.hidden(call.caller.environment)
    try:
        await call.hooks.store.get(Applications(hidden), operational.UID)
    except NotFound:
        return False
    return True
