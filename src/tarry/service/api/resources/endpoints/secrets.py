"""Operations on endpoints' signing secrets."""

from typing import Annotated

from msgspec import Meta, Struct

from tarry.errors import SettingsError
from tarry.receive.keys import PRIVATE, SHARED
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import LIMIT_REACHED, BadRequest, Invalid
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.bodies import SecretText
from tarry.service.api.resources.endpoints.change_notices import hooks_with_notices
from tarry.service.endpoints import GRACE, OLD_SECRETS
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.wire.secret import public_of

PATH = "/app/{app_id}/endpoint/{endpoint_id}/secret"
WEEK = 7 * 86_400

group = Group("Endpoint", "v1.endpoint")


class RotateIn(Struct, rename="camel", kw_only=True):
    """The new secret (random if missing), and for how long the old one is used as well."""

    key: SecretText | None = None
    grace_period_seconds: Annotated[int, Meta(ge=0, le=WEEK)] | None = None


class SecretOut(Struct):
    """The key with which a receiver verifies messages: the shared secret, or a public key."""

    key: str


@group.get(PATH, needs=Need.SECRETS)
async def get_secret(call: Call) -> SecretOut:
    """Get the key with which an endpoint's receiver verifies messages."""
    return shown(call, await call.endpoint(await call.application()))


@group.post(PATH + "/rotate", needs=Need.ROTATE, sealed=True, fails=(400,))
async def rotate_secret(call: Call, body: RotateIn | None) -> SecretOut:
    """Sign with a new secret, and with the old ones too for a grace period."""
    return await rotated(call, await call.application(), body or RotateIn())


async def rotated(call: Call, application: Application, body: RotateIn) -> SecretOut:
    """Rotate the secret of the endpoint that the path names."""
    stored = await call.endpoint(application)
    grace = GRACE if body.grace_period_seconds is None else float(body.grace_period_seconds)
    new = None if body.key is None else prefixed(body.key)
    hooks = await hooks_with_notices(call, application, "endpoint.updated")
    try:
        changed = await hooks.rotate_secret(stored, new, grace=grace)
    except SettingsError as error:
        if error.field == OLD_SECRETS:
            detail = f"there are {error.value} secrets; there may be {error.wanted}"
            raise BadRequest(LIMIT_REACHED, detail) from error
        raise Invalid(["body", "key"], str(error)) from error
    return shown(call, changed)


def shown(call: Call, endpoint: Endpoint) -> SecretOut:
    """Return what the receiver needs of an endpoint's secret; never a private key."""
    secret = call.hooks.secret(endpoint)
    return SecretOut(public_of(secret) if secret.startswith(PRIVATE) else secret)


def prefixed(secret: str) -> str:
    """Return a secret with the prefix of its kind; one without a prefix is a shared secret."""
    return secret if "_" in secret else SHARED + secret
