"""A request as it came over HTTP."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from tarry.service.api.problem import Invalid

MOST_KEY = 255
"""Characters of an idempotency key."""
_SLASH = re.compile(rb"%2f", re.IGNORECASE)


class Request(Struct, frozen=True, kw_only=True):
    """Everything but its body; headers by their names in small letters, the last one of each."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    scheme: str = "http"

    def header(self, name: bytes) -> str:
        """A header's text, empty if it is not there."""
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def idempotency_key(self) -> str | None:
        """The key that it came under, if any."""
        key = self.header(b"idempotency-key") or None
        if key is not None and len(key) > MOST_KEY:
            raise Invalid(["header", "idempotency-key"], f"at most {MOST_KEY} characters will do")
        return key

    @property
    def base(self) -> str:
        """Where this server is for whoever asks, also by way of a proxy; empty if nobody says."""
        host = self._forwarded(b"x-forwarded-host") or self.header(b"host")
        secure = self._forwarded(b"x-forwarded-proto") == "https"
        return f"{'https' if secure else self.scheme}://{host}" if host else ""

    def _forwarded(self, name: bytes) -> str:
        """What the proxy says that was asked; each on the way puts its own behind a comma."""
        return self.header(name).partition(",")[0].strip()


def path_of(scope: Mapping[str, Any]) -> str:
    """The path of a request to ASGI; a slash that was quoted stays so: it is part of a name."""
    raw, path = scope.get("raw_path") or b"", str(scope["path"])
    if b"%" not in raw or not _SLASH.search(raw):
        return path
    return unquote(_SLASH.sub(b"%252F", raw).decode("ascii"))
