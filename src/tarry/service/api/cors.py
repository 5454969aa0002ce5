"""Web pages of any origin may ask: a tenant's portal may be built on the SDK, in a browser.

Whoever asks brings a key in a header of its own. Browsers add none of theirs, so no page can ask in
the name of somebody who only looks at it.
"""

from collections.abc import Iterable

from tarry.service.api.problem import Answer
from tarry.service.api.request import Request

SHOWN = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"retry-after"),
)
"""Headers that let a page see an answer."""
REMEMBERED = 600
"""Seconds that a browser need not ask again."""


def by_a_page(request: Request) -> bool:
    """Whether a page asks, of whatever origin."""
    return b"origin" in request.headers


def is_preflight(request: Request) -> bool:
    """Whether a browser asks if a page may ask."""
    return request.method == "OPTIONS" and b"access-control-request-method" in request.headers


def allowed(request: Request, methods: Iterable[str]) -> Answer:
    """That it may, with the headers it wants to bring."""
    headers = {
        "access-control-allow-methods": ", ".join(sorted(methods)),
        "access-control-allow-headers": request.header(b"access-control-request-headers"),
        "access-control-max-age": str(REMEMBERED),
        "vary": "access-control-request-headers",
    }
    return 204, {name: value for name, value in headers.items() if value}, b""
