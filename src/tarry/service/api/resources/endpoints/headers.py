"""Operations on the headers that tarry adds to every request to an endpoint."""

from typing import Annotated

from msgspec import Meta, Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.bodies import HEADER, Headers, Value
from tarry.service.api.resources.endpoints.change_notices import hooks_with_notices
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint

PATH = "/app/{app_id}/endpoint/{endpoint_id}/headers"
SENSITIVE = frozenset(
    {
        "authorization",
        "proxy-authenticate",
        "proxy-authorization",
        "www-authenticate",
        "x-api-key",
        "x-auth-token",
    }
)
"""Names of headers whose values are never shown. Other names may hold a secret too, such as a
cookie, so all values need the permission to read secrets."""

_NAMED = Meta(extra_json_schema={"pattern": HEADER})
_PATCHED = Meta(extra_json_schema={"propertyNames": {"pattern": HEADER}})

group = Group("Endpoint", "v1.endpoint")


class HeadersIn(Struct, kw_only=True):
    """The headers that replace all existing ones."""

    headers: Headers


class HeadersPatch(Struct, rename="camel", kw_only=True):
    """Headers to set. Null removes a header, and so does its name in `deleteHeaders`."""

    headers: Annotated[dict[str, Value | None], _PATCHED] | None = None
    """The Go SDK sends null if it only deletes headers."""
    delete_headers: list[Annotated[str, _NAMED]] | None = None


class HeadersOut(Struct, kw_only=True):
    """The headers of an endpoint; of `sensitive` headers only the names.

    Headers that a redaction rule names are sensitive. For a key that may not read secrets, all
    headers are.
    """

    headers: dict[str, str]
    sensitive: list[str]


@group.get(PATH)
async def get_headers(call: Call) -> HeadersOut:
    """Get the headers that are added to every request to an endpoint."""
    return shown(call, await call.endpoint(await call.application()))


@group.put(PATH, needs=Need.ENDPOINTS)
async def update_headers(call: Call, body: HeadersIn) -> None:
    """Replace the headers that are added to every request to an endpoint."""
    await put(call, await call.application(), body)


@group.patch(PATH, needs=Need.ENDPOINTS)
async def patch_headers(call: Call, body: HeadersPatch) -> None:
    """Set or remove some of the headers that are added to every request to an endpoint."""
    application = await call.application()
    stored = await call.endpoint(application)
    deleted = dict.fromkeys(body.delete_headers or ())
    hooks = await hooks_with_notices(call, application, "endpoint.updated")
    await hooks.patch_headers(stored, {**(body.headers or {}), **deleted})


async def put(call: Call, application: Application, body: HeadersIn) -> None:
    """Replace the headers of the endpoint that the path names."""
    stored = await call.endpoint(application)
    hooks = await hooks_with_notices(call, application, "endpoint.updated")
    await hooks.change_endpoint(stored, headers=body.headers)


def shown(call: Call, endpoint: Endpoint) -> HeadersOut:
    """Return an endpoint's headers, as far as the caller may see their values."""
    headers, sees_values = call.hooks.headers(endpoint), Need.SECRETS in call.caller.needs
    never_shown = SENSITIVE | call.hooks.redaction.headers
    hidden = [name for name in headers if name.lower() in never_shown or not sees_values]
    return HeadersOut(
        headers={name: value for name, value in headers.items() if name not in hidden},
        sensitive=sorted(hidden),
    )
