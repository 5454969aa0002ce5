"""Operations on quotas, which limit the waiting deliveries of an application."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.resources.applications import applications
from tarry.service.api.resources.call import Call
from tarry.service.model.application import Application

PATH = "/app/{app_id}/quota"
MOST_WAITING = 2**53 - 1
"""The largest integer that every JSON parser reads exactly."""

group = Group("Quota", "v1.quota")


class QuotaSource(StrEnum):
    """Where a quota comes from; `default` is the setting of the server that answers."""

    APPLICATION = "application"
    DEFAULT = "default"


class QuotaIn(Struct, rename="camel"):
    """The most deliveries that may wait; 0 refuses all messages."""

    most_waiting: Annotated[int, Meta(ge=0, le=MOST_WAITING)]


class QuotaOut(Struct, rename="camel"):
    """The most deliveries that may wait (null for no limit), and where the quota comes from."""

    source: QuotaSource
    most_waiting: int | None


@group.get(PATH)
async def get(call: Call) -> QuotaOut:
    """Get an application's quota: the most deliveries that may wait."""
    return _quota_out(call, await call.application())


@group.put(PATH, needs=Need.CHANGE)
async def put(call: Call, body: QuotaIn) -> QuotaOut:
    """Set an application's quota; messages beyond it are refused with 429."""
    fields = {"most_waiting": body.most_waiting}
    return _quota_out(call, await applications.changed(call, await call.application(), fields))


@group.delete(PATH, needs=Need.CHANGE)
async def delete(call: Call) -> None:
    """Remove an application's own quota, so that the server's setting applies."""
    await applications.changed(call, await call.application(), {"most_waiting": None})


def _quota_out(call: Call, application: Application) -> QuotaOut:
    """Return the quota that applies: the application's own, else the service's."""
    if application.most_waiting is not None:
        return QuotaOut(QuotaSource.APPLICATION, application.most_waiting)
    return QuotaOut(QuotaSource.DEFAULT, call.hooks.settings.most_waiting)
