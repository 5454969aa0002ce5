"""What a server refuses, or what is in the way to it: in one line."""

import ssl
from itertools import pairwise

from tarry.cli.json_text import read
from tarry.cli.plain import plain

_KINDS = {
    "app": "application",
    "attempt": "attempt",
    "background-task": "task",
    "endpoint": "endpoint",
    "event-type": "event type",
    "key": "key",
    "msg": "message",
}
"""What stands behind a word in a path, as the server's errors call it."""


def line(status: int, body: bytes, path: tuple[str, ...]) -> str:
    """What is wrong, by an answer with it; what is not there is called by its name."""
    try:
        said = (read(body) if body else None) or {}
    except ValueError:
        said = {}
    if not isinstance(said, dict):
        said = {"detail": said}
    detail = said.get("detail", "it says nothing more")
    if isinstance(detail, list):
        detail = "; ".join(map(_place, detail))
    names = {_KINDS[word]: name for word, name in pairwise(path) if word in _KINDS}
    for kind, name in names.items():
        if detail == f"there is no such {kind}":
            detail = f"there is no {kind} {name!r}"
    return plain(" ".join(f"{status} {said.get('code', 'invalid')}: {detail}".split()))


def _place(wrong: object) -> str:
    """One of several things that are wrong, and where it is."""
    match wrong:
        case {"loc": [*places], "msg": said}:
            return f"{'.'.join(map(str, places))}: {said}"
    return str(wrong)


def obstacle(error: Exception) -> str:
    """What is in the way, in words."""
    match error.__cause__ or error:
        case ssl.SSLCertVerificationError() as unproven:
            return f"its certificate is not trusted ({unproven.verify_message})"
        case ssl.SSLError() as broken:
            return f"it speaks no TLS ({broken.reason}); is it at http:// instead?"
        case other:
            return getattr(other, "strerror", None) or str(other) or type(other).__name__
