"""Health checks, for clients that check the service before they start."""

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.resources.call import Call

group = Group("Health", "v1.health")


@group.get("/health", needs=Need.NOTHING, tenants=True)
async def get(call: Call) -> None:
    """Check that messages can be accepted: the database is writable.

    The answer may be a second old.
    """
    await call.readiness.check()


@group.get("/health/ping", needs=Need.NOTHING, tenants=True)
async def ping(_call: Call) -> None:
    """Check that the server responds."""
