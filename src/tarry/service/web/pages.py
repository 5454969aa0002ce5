"""The dashboard and the portal: one page with its scripts, as a browser asks for them.

It knows nothing of what they show: that they ask the API for, with the key of whoever looks.
"""

from collections.abc import Iterator
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

Served = tuple[int, dict[str, str], bytes]
"""A status, headers and a body."""

PAGE = "index.html"
PLACES = ("/dashboard", "/portal")
"""Where the page is; it knows by that whom it is for."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load and do: whatever it shows was written by somebody else."""
KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def pages() -> dict[str, Served]:
    """What is answered at which path."""
    served = {
        f"/web/{name}": _served(name, body)
        for name, body in _found(files("tarry.service.web") / "static")
    }
    page = served.pop(f"/web/{PAGE}")
    return served | dict.fromkeys(PLACES, page)


def _found(folder: Traversable, way: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _found(entry, f"{way}{entry.name}/")
        else:
            yield way + entry.name, entry.read_bytes()


def _served(name: str, body: bytes) -> Served:
    headers = {
        "content-type": KINDS[name.rpartition(".")[2]],
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",  # a newer version counts at once; until then it is the same
        "etag": f'"{blake2b(body, digest_size=12).hexdigest()}"',
    }
    return 200, headers, body
