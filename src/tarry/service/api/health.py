"""Health checks, for clients that check the service before they start."""

from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.operation import Group

group = Group("Health", "v1.health")


@group.get("/health", needs=Need.NOTHING, tenants=True)
async def get(call: Call) -> None:
    """Check that messages can be accepted: the database is writable."""
    await call.hooks.store.check()


@group.get("/health/ping", needs=Need.NOTHING, tenants=True)
async def ping(_call: Call) -> None:
    """Check that the server responds."""
