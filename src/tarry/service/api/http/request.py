"""An HTTP request without its body."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from tarry.service.api.http.problem import BadRequest, Invalid
from tarry.service.api.http.public_address import PublicAddress

MOST_KEY = 255
"""The most characters of an idempotency key."""
SINGLE_HEADERS = (b"authorization", b"host", b"idempotency-key")
"""Headers that a request may have only once: of two, a proxy might read one and tarry the other."""
_SLASH = re.compile(rb"%2f", re.IGNORECASE)


class Request(Struct, frozen=True, kw_only=True):
    """A request without its body. Header names are in lower case; the last of equal ones counts."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    scheme: str = "http"
    peer: str = ""
    """The address that the connection comes from; empty if it is not TCP."""
    public_address: PublicAddress = PublicAddress()

    def header(self, name: bytes) -> str:
        """Return a header's value, empty if it is missing."""
        return self.headers.get(name, b"").decode("latin-1")

    def body_size(self, unknown: int) -> int:
        """Return the size of the body, or `unknown` if it comes in chunks."""
        return int(self.headers.get(b"content-length", unknown))

    @property
    def idempotency_key(self) -> str | None:
        """The request's idempotency key, if any."""
        key = self.header(b"idempotency-key") or None
        if key is not None and len(key) > MOST_KEY:
            raise Invalid(["header", "idempotency-key"], f"it has more than {MOST_KEY} characters")
        return key

    @property
    def base(self) -> str:
        """The URL of this server as the client sees it, also behind a proxy; empty if unknown."""
        return self.public_address.base(self.scheme, self.headers, self.peer)

    @property
    def client(self) -> str:
        """The address of the client, also behind a proxy; empty if it is not TCP."""
        return self.public_address.client(self.headers, self.peer)


def check_head(headers: Sequence[tuple[bytes, bytes]], http_version: str) -> None:
    """Raise BadRequest if a request has no `Host`, or two of a header that decides who asks whom.

    HTTP/1.0 has no `Host`: checks of load balancers still use it.
    """
    names = [name for name, _ in headers]
    if http_version != "1.0" and b"host" not in names:
        raise BadRequest("bad_request", "the header `host` is missing")
    if len(set(names)) == len(names):
        return
    for name in SINGLE_HEADERS:
        if names.count(name) > 1:
            detail = f"the header `{name.decode()}` must not be sent twice"
            raise BadRequest("bad_request", detail)


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the path of an ASGI request; a quoted slash stays quoted, as it is part of a name."""
    raw, path = scope.get("raw_path") or b"", str(scope["path"])
    if b"%" not in raw or not _SLASH.search(raw):
        return path
    return unquote(_SLASH.sub(b"%252F", raw).decode("ascii"))
