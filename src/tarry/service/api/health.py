"""Whether the service is there and can do its work, for programs that ask before they begin."""

from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.operation import Group

group = Group("Health", "v1.health")


@group.get("/health", needs=Need.NOTHING, tenants=True)
async def get(call: Call) -> None:
    """Say whether messages can be taken: the database can be written to."""
    await call.hooks.store.check()


@group.get("/health/ping", needs=Need.NOTHING, tenants=True)
async def ping(_call: Call) -> None:
    """Say that somebody is there."""
