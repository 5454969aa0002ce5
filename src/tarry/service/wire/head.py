"""Writes the head of a request: the constant part of its target, and the part of the attempt.

The first part is written once for a target; only the second is written for each attempt.
"""

from importlib.metadata import version

from tarry.service.wire.exchange import Headers, Request, Target
from tarry.service.wire.url import PORTS

_OWN = (("content-type", "application/json"), ("user-agent", f"tarry/{version('tarry')}"))
_KEPT_BACK = frozenset({"connection", "content-length", "host", "transfer-encoding"})


class HeadError(ValueError):
    """A header cannot be sent. Such headers are refused when they are set; this checks again."""


def authority(target: Target) -> str:
    """Return the host for a Host header or a tunnel, with the port unless it is the default."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if PORTS.get(target.scheme) == target.port else f"{host}:{target.port}"


def standing(target: Target) -> bytes:
    """Return the request line and the headers that every request to this target has."""
    line = f"POST {target.path} HTTP/1.1"
    if not line.isascii() or not line.isprintable() or line.count(" ") != 2:  # noqa: PLR2004  of a line
        raise HeadError("the path of the endpoint's URL cannot be sent")
    named = {name.lower() for name, _ in target.headers}
    if kept_back := named & _KEPT_BACK:
        raise HeadError(f"the header {min(kept_back)!r} is the sender's own")
    own = tuple((name, value) for name, value in _OWN if name not in named)
    host = (("host", authority(target)),)
    return line.encode("ascii") + b"\r\n" + lines(host + own + target.headers)


def whole(standing: bytes, request: Request) -> bytes:
    """Return the head of this request, including the empty line."""
    return b"%b%bcontent-length: %d\r\n\r\n" % (
        standing,
        lines(request.headers),
        len(request.body),
    )


def lines(headers: Headers) -> bytes:
    """Return these headers as lines. No header can inject another line."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers])
    many = len(headers)
    if text.count("\n") != many or text.count("\r") != many or "\0" in text:
        raise HeadError("a header holds a line break or a NUL")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise HeadError("a header holds a character that is not of Latin-1") from None
