"""What the key that one asks with opens: pages offer no more than that."""

from msgspec import Struct

from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.operation import Group

group = Group("Authentication", "v1.authentication")


class WhoAmIOut(Struct, rename="camel", kw_only=True):
    """What a key opens: an environment, or one application of it only; and what it may do there."""

    environment: str
    app_id: str | None
    may: list[str]


@group.get("/auth/whoami", tenants=True)
async def whoami(call: Call) -> WhoAmIOut:
    """Tell what the key that this is asked with opens."""
    return WhoAmIOut(
        environment=call.who.environment,
        app_id=call.who.application,
        may=[need.name.lower() for need in Need if call.may(need) and need is not Need.NOTHING],
    )
