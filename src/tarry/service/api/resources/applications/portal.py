"""Operations on portal tokens: temporary keys to one application, for the tenant's users."""

from typing import Annotated
from urllib.parse import quote

from msgspec import Meta, Struct

from tarry.errors import NotFound
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import Invalid
from tarry.service.api.resources.applications.applications import ApplicationIn, on_the_fly
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.messages.bodies import Name
from tarry.service.model.application import Application
from tarry.service.model.key import Scope

WEEK, HOUR = 7 * 86_400, 3600
_MANAGING = (Scope.VIEW_BASE, Scope.MANAGE_ENDPOINT, Scope.CREATE_ATTEMPTS)
_CAPABILITIES = frozenset(Scope) - {Scope.ADMIN, Scope.WRITE, Scope.READ, Scope.SEND}

Capability = Annotated[Scope, Meta(extra_json_schema={"enum": sorted(_CAPABILITIES)})]
Session = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[a-zA-Z0-9\-_.@]+\Z")]

group = Group("Authentication", "v1.authentication")


class PortalAccessIn(Struct, rename="camel", kw_only=True):
    """What the token may do, and for how long.

    With `readOnly` it can only read; otherwise it can also manage endpoints and resend messages.
    `capabilities` set its rights one by one. `expiry` is in seconds.
    """

    application: ApplicationIn | None = None
    read_only: bool | None = None
    capabilities: Annotated[list[Capability], Meta(min_length=1, max_length=10)] | None = None
    expiry: Annotated[int, Meta(ge=HOUR, le=WEEK)] | None = None
    session_id: Session | None = None
    feature_flags: Annotated[list[Name], Meta(max_length=50)] | None = None
    """The token sees event types with one of these flags, and all event types without flags."""


class PortalAccessOut(Struct):
    """The URL of the portal, and the token."""

    url: str
    token: str


class ExpireAllIn(Struct, rename="camel", kw_only=True):
    """Which tokens expire, and in how many seconds.

    Without `sessionIds`, or with an empty list, all tokens of the application expire.
    """

    session_ids: Annotated[list[Session], Meta(max_length=1000)] | None = None
    expiry: Annotated[int, Meta(ge=0, le=WEEK)] | None = None


@group.post("/auth/app-portal-access/{app_id}", needs=Need.CHANGE, secret=True)
async def app_portal_access(call: Call, body: PortalAccessIn) -> PortalAccessOut:
    """Create a portal token to one application, for the tenant's users."""
    return await _create_access(call, body)


@group.post("/auth/dashboard-access/{app_id}", needs=Need.CHANGE, secret=True)
async def dashboard_access(call: Call) -> PortalAccessOut:
    """Create a portal token to one application (older path)."""
    return await _create_access(call, PortalAccessIn())


@group.post("/auth/logout", needs=Need.LOOK, tenants=True)
async def logout(call: Call) -> None:
    """Revoke the token of this request."""
    if call.caller.application is None:
        detail = "only tokens to one application log out; keys are revoked: DELETE /api/v1/key/{id}"
        raise Invalid(["header", "authorization"], detail)
    await call.hooks.revoke_key(call.caller.key)


@group.post("/auth/app/{app_id}/expire-all", needs=Need.CHANGE)
async def expire_all(call: Call, body: ExpireAllIn) -> None:
    """Revoke an application's tokens, all of them or those of some sessions.

    With `expiry`, they still work for that many seconds.
    """
    application = await call.application()
    await call.hooks.store.revoke_keys(
        application.id,
        sessions=body.session_ids or None,
        now=call.now,
        delay=float(body.expiry or 0),
        by=call.hooks.action,
    )


async def _create_access(call: Call, body: PortalAccessIn) -> PortalAccessOut:
    """Create a portal token for an application, and return it with the portal's URL."""
    application = await _application(call, body)
    scopes = _scopes(body)
    token, _ = await call.hooks.make_key(
        scopes,
        application=application.id,
        session=body.session_id,
        feature_flags=body.feature_flags or (),
        expires_at=call.now + (body.expiry or WEEK),
    )
    url = f"{call.request.base}/portal#{quote(application.id)}:{token}"
    return PortalAccessOut(url=url, token=token)


async def _application(call: Call, body: PortalAccessIn) -> Application:
    """Return the application that the path names; create it if the body describes it."""
    try:
        return await call.application()
    except NotFound:
        if body.application is None:
            raise
    return await on_the_fly(call, body.application)


def _scopes(body: PortalAccessIn) -> tuple[Scope, ...]:
    """Return the scopes of a portal token; Invalid if a capability is unknown."""
    if body.capabilities is not None:
        for scope in body.capabilities:
            if scope not in _CAPABILITIES:
                raise Invalid(["body", "capabilities"], f"{scope!s} is not a capability")
        return (Scope.VIEW_BASE, *body.capabilities)
    return (Scope.VIEW_BASE,) if body.read_only else _MANAGING
