"""CORS: pages of any origin may call the API, so that a portal can use the SDK in a browser.

This is safe because a caller sends its key in a header itself. Browsers add no credentials of their
own, so a page cannot make requests in the name of its visitors.
"""

from collections.abc import Iterable

from tarry.service.api.http.problem import Answer
from tarry.service.api.http.request import Request

RESPONSE_HEADERS = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"retry-after"),
)
"""Headers that let a page read a response."""
PREFLIGHT_CACHED_FOR = 600
"""Seconds for which a browser may cache the response to a preflight request."""


def by_a_page(request: Request) -> bool:
    """Return whether the request comes from a web page, of any origin."""
    return b"origin" in request.headers


def is_preflight(request: Request) -> bool:
    """Return whether this is a preflight request of a browser."""
    return request.method == "OPTIONS" and b"access-control-request-method" in request.headers


def answer_preflight(request: Request, methods: Iterable[str]) -> Answer:
    """Answer a preflight request: the page may use these methods, and the headers it asked for."""
    headers = {
        "access-control-allow-methods": ", ".join(sorted(methods)),
        "access-control-allow-headers": request.header(b"access-control-request-headers"),
        "access-control-max-age": str(PREFLIGHT_CACHED_FOR),
        "vary": "access-control-request-headers",
    }
    return 204, {name: value for name, value in headers.items() if value}, b""
