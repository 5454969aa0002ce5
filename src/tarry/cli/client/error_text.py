"""Describe in one line why a server refused a request, or why it could not be reached."""

import ssl
from itertools import pairwise

from tarry.cli.output.json_text import read
from tarry.cli.output.safe_text import plain

_KIND_OF_PATH = {
    "app": "application",
    "attempt": "attempt",
    "background-task": "task",
    "endpoint": "endpoint",
    "event-type": "event type",
    "key": "key",
    "msg": "message",
}
"""The server's word for what follows each part of a path."""


def refusal_text(status: int, body: bytes, path: tuple[str, ...]) -> str:
    """Return the error in a response; if something does not exist, name what was asked for."""
    try:
        problem = (read(body) if body else None) or {}
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {"detail": problem}
    detail = problem.get("detail", "it says nothing more")
    if isinstance(detail, list):
        detail = "; ".join(map(_described, detail))
    names = {_KIND_OF_PATH[word]: name for word, name in pairwise(path) if word in _KIND_OF_PATH}
    for kind, name in names.items():
        if detail == f"there is no such {kind}":
            detail = f"there is no {kind} {name!r}"
    return plain(" ".join(f"{status} {problem.get('code', 'invalid')}: {detail}".split()))


def _described(wrong: object) -> str:
    """Describe one of several errors, and where it is."""
    match wrong:
        case {"loc": [*path], "msg": message}:
            return f"{'.'.join(map(str, path))}: {message}"
    return str(wrong)


def connection_error_text(error: Exception) -> str:
    """Describe why a connection failed."""
    match error.__cause__ or error:
        case ssl.SSLCertVerificationError() as unproven:
            return f"its certificate is not trusted ({unproven.verify_message})"
        case ssl.SSLError() as broken:
            return f"it speaks no TLS ({broken.reason}); is it at http:// instead?"
        case other:
            return getattr(other, "strerror", None) or str(other) or type(other).__name__
