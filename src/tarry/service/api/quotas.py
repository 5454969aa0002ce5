"""Quotas over HTTP: how many deliveries of an application may wait before no more are accepted."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from tarry.service.api import applications
from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.operation import Group
from tarry.service.model.application import Application

WAY = "/app/{app_id}/quota"
MOST = 2**53 - 1
"""As far as every reader of JSON counts."""

group = Group("Quota", "v1.quota")


class Source(StrEnum):
    """Who says how many may wait; `default` is the setting of the server that was asked."""

    APPLICATION = "application"
    DEFAULT = "default"


class QuotaIn(Struct, rename="camel"):
    """How many deliveries may wait; 0 lets none in."""

    most_waiting: Annotated[int, Meta(ge=0, le=MOST)]


class QuotaOut(Struct, rename="camel"):
    """How many deliveries may wait, and who says so; without a number there is no limit."""

    source: Source
    most_waiting: int | None


@group.get(WAY)
async def get(call: Call) -> QuotaOut:
    """Get how many deliveries of an application may wait before its messages are refused."""
    return _effective(call, await call.application())


@group.put(WAY, needs=Need.CHANGE)
async def put(call: Call, body: QuotaIn) -> QuotaOut:
    """Say how many deliveries of an application may wait; beyond that messages get a 429."""
    said = {"most_waiting": body.most_waiting}
    return _effective(call, await applications.changed(call, await call.application(), said))


@group.delete(WAY, needs=Need.CHANGE)
async def delete(call: Call) -> None:
    """Take an application's own quota away: the server's setting counts again."""
    await applications.changed(call, await call.application(), {"most_waiting": None})


def _effective(call: Call, application: Application) -> QuotaOut:
    if application.most_waiting is not None:
        return QuotaOut(Source.APPLICATION, application.most_waiting)
    return QuotaOut(Source.DEFAULT, call.hooks.settings.most_waiting)
