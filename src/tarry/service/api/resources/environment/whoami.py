"""The operation that tells what the caller's key may do; pages offer only these actions."""

from msgspec import Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.resources.call import Call

group = Group("Authentication", "v1.authentication")


class WhoAmIOut(Struct, rename="camel", kw_only=True):
    """The key's environment, its application if it is limited to one, and its permissions."""

    environment: str
    app_id: str | None
    may: list[str]


@group.get("/auth/whoami", tenants=True)
async def whoami(call: Call) -> WhoAmIOut:
    """Get the permissions of the key of this request."""
    return WhoAmIOut(
        environment=call.caller.environment,
        app_id=call.caller.application,
        may=[need.name.lower() for need in Need if call.may(need) and need is not Need.NOTHING],
    )
