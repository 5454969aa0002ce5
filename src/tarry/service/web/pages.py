"""Serve the dashboard and the portal: one HTML page with its scripts and styles.

This module has no data. The scripts get their data from the API, with the user's key.
"""

from collections.abc import Iterator
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

Served = tuple[int, dict[str, str], bytes]
"""A status, headers and a body."""

PAGE_FILE = "index.html"
PLACES = ("/dashboard", "/portal")
"""The paths of the page. The page knows by its path whether to show the dashboard or the portal."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy. It is strict because the page shows data from other people."""
CONTENT_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def pages() -> dict[str, Served]:
    """Return the responses by path."""
    served = {
        f"/web/{name}": _with_headers(name, body)
        for name, body in _found(files("tarry.service.web") / "static")
    }
    page = served.pop(f"/web/{PAGE_FILE}")
    return served | dict.fromkeys(PLACES, page)


def _found(folder: Traversable, way: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _found(entry, f"{way}{entry.name}/")
        else:
            yield way + entry.name, entry.read_bytes()


def _with_headers(name: str, body: bytes) -> Served:
    headers = {
        "content-type": CONTENT_TYPES[name.rpartition(".")[2]],
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",  # check the etag each time: a new version shows at once
        "etag": f'"{blake2b(body, digest_size=12).hexdigest()}"',
    }
    return 200, headers, body
