"""One transfer of libcurl at a time: a request put into its options, an answer taken from it.

A transfer is used again for the next request, with all the options that never change.
"""

import os
import re
import socket
import ssl
from collections.abc import Callable
from importlib.metadata import version
from time import monotonic

import pycurl  # type: ignore[import-untyped] # ships no types
from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import (
    HEARD,
    MOST_HEAD,
    MOST_KEPT,
    MOST_READ,
    Answer,
    Headers,
    Request,
    Target,
)

STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\0]*)?\r?\n")
INFORMS = 200
"""Statuses below this only inform; the answer comes after them."""
FAILURES: dict[int, tuple[Kind, str]] = {
    pycurl.E_OPERATION_TIMEDOUT: (Kind.TIMEOUT, "no answer came in time"),
    pycurl.E_COULDNT_CONNECT: (Kind.TRANSIENT, "the connection was refused"),
    pycurl.E_COULDNT_RESOLVE_HOST: (Kind.DNS, "the name could not be resolved"),
    pycurl.E_COULDNT_RESOLVE_PROXY: (Kind.TRANSIENT, "the egress proxy could not be resolved"),
    pycurl.E_GOT_NOTHING: (Kind.TRANSIENT, "the connection was closed without an answer"),
    pycurl.E_SEND_ERROR: (Kind.TRANSIENT, "the connection was reset"),
    pycurl.E_RECV_ERROR: (Kind.TRANSIENT, "the connection was reset"),
    pycurl.E_PARTIAL_FILE: (Kind.TRANSIENT, "the connection was closed within the answer"),
    pycurl.E_SSL_CONNECT_ERROR: (Kind.TLS, "TLS failed: the handshake did not succeed"),
    pycurl.E_PEER_FAILED_VERIFICATION: (Kind.TLS, "the certificate was refused"),
    pycurl.E_SSL_CERTPROBLEM: (Kind.TLS, "TLS failed: the sender's own certificate is unusable"),
    pycurl.E_SSL_CIPHER: (Kind.TLS, "TLS failed: no cipher in common"),
    pycurl.E_SSL_ISSUER_ERROR: (Kind.TLS, "the certificate was refused"),
}
SUPPRESS_CONNECT_HEADERS = 265
"""An option of libcurl that pycurl has no name for: a proxy's answers are not the endpoint's."""
NOT_HTTP = Kind.PROTOCOL, "the answer is not HTTP"
BLOCKED = Kind.BLOCKED, "the endpoint's address is not allowed"
_OWN = (("content-type", "application/json"), ("user-agent", f"tarry/{version('tarry')}"))
_UNWANTED = ("expect:", "accept:")

Place = tuple[int, int, int, tuple[str, int]]


class Options(Struct, frozen=True):
    """What all transfers have in common."""

    allowed: Callable[[str, int], bool]
    """May this address and port be connected to? Asked of every socket that is to be opened."""
    authorities: str = ""
    """Certificates (PEM) that are trusted instead of the system's."""
    proxy: str = ""


class Transfer:
    """An easy handle of libcurl, and what it has heard so far."""

    def __init__(self, options: Options) -> None:
        self.curl = curl = pycurl.Curl()
        self._allowed = options.allowed
        self._has_proxy = bool(options.proxy)
        for option, value in _fixed(options).items():
            curl.setopt(option, value)
        curl.setopt(pycurl.HEADERFUNCTION, self._hear)
        curl.setopt(pycurl.WRITEFUNCTION, self._read)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        self._forget()

    def begin(self, request: Request, addresses: tuple[str, ...], begun_at: float) -> None:
        """Prepare for a request, whose time has been running since then."""
        self._forget()
        self._begun_at = begun_at
        target = request.target
        spent = monotonic() - begun_at
        setopt = self.curl.setopt
        setopt(pycurl.URL, url(target))
        setopt(pycurl.HTTPHEADER, header_lines(target, request.headers))
        setopt(pycurl.POSTFIELDS, request.body)
        setopt(pycurl.TIMEOUT_MS, max(1, int((request.timeout - spent) * 1000)))
        setopt(pycurl.CONNECTTIMEOUT_MS, max(1, int((request.connect_timeout - spent) * 1000)))
        if not self._has_proxy:
            host = f"[{target.host}]" if ":" in target.host else target.host
            setopt(pycurl.RESOLVE, [f"{host}:{target.port}:{','.join(addresses)}"])

    def answer(self, error: int) -> Answer:
        """What came of it, once it has ended with this code (0: all went well)."""
        took = monotonic() - self._begun_at
        if self._status:
            return Answer(
                took,
                self._status,
                tuple(self._headers),
                b"".join(self._body)[:MOST_KEPT],
                truncated=error != pycurl.E_OK,
            )
        kind, detail = self._why or FAILURES.get(error, NOT_HTTP)
        return Answer(took, failure=kind, detail=detail)

    def close(self) -> None:
        """Let go of it."""
        self.curl.close()

    def _forget(self) -> None:
        self._begun_at = 0.0
        self._coming = 0
        self._status = 0
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._head_left = MOST_HEAD
        self._body_left = MOST_READ
        self._why: tuple[Kind, str] | None = None

    def _hear(self, line: bytes) -> int | None:
        """A line of the head came, or of the trailers; -1 breaks it off."""
        self._head_left -= len(line)
        if self._head_left < 0:
            self._why = Kind.PROTOCOL, f"the head of the answer is longer than {MOST_HEAD} bytes"
            return -1
        if self._status:
            return None  # a trailer
        if not self._coming:
            begun = STATUS_LINE.fullmatch(line)
            if begun is None:
                self._why = NOT_HTTP
                return -1
            self._coming = int(begun[1])
        elif line in {b"\r\n", b"\n"}:
            self._status = self._coming if self._coming >= INFORMS else 0
            self._coming = 0
        else:
            self._note(line)
        return None

    def _note(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        key = name.decode("latin-1").lower()
        if key in HEARD:
            self._headers.append((key, value.decode("latin-1").strip()))

    def _read(self, piece: bytes) -> int | None:
        """A piece of the body came; -1 breaks it off."""
        if not self._status:
            self._why = NOT_HTTP
            return -1
        if self._body_left > MOST_READ - MOST_KEPT:
            self._body.append(piece)
        self._body_left -= len(piece)
        return -1 if self._body_left < 0 else None

    def _open(self, _: int, place: Place) -> "Descriptor | None":
        """Open a socket, if it leads where it may."""
        family, kind, protocol, peer = place
        if not self._has_proxy and not self._allowed(*peer[:2]):
            self._why = BLOCKED
            return None
        return Descriptor(socket.socket(family, kind, protocol).detach())


class Descriptor:
    """An open socket; libcurl makes a copy of it for itself."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """The number of it."""
        return self._number

    def __del__(self) -> None:
        os.close(self._number)


def url(target: Target) -> str:
    """The URL of a target."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}:{target.port}{target.path}"


def header_lines(target: Target, headers: Headers) -> list[str]:
    """All headers, as libcurl wants them; ValueError if one would smuggle in another."""
    named = {name.lower() for name, _ in target.headers}
    own = (pair for pair in _OWN if pair[0] not in named)
    given = [f"{name}: {value}" for name, value in (*own, *target.headers, *headers)]
    text = "".join(given)
    if "\r" in text or "\n" in text or "\0" in text:
        raise ValueError("a header holds a line break or a NUL")
    return [*given, *_UNWANTED]


def _fixed(options: Options) -> dict[int, object]:
    """What is set once and for all."""
    fixed = {
        pycurl.NOSIGNAL: 1,
        pycurl.POST: 1,
        pycurl.FOLLOWLOCATION: 0,
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.HTTP09_ALLOWED: 0,
        pycurl.HTTP_CONTENT_DECODING: 0,
        pycurl.SSL_VERIFYPEER: 1,
        pycurl.SSL_VERIFYHOST: 2,
        pycurl.SSLVERSION: pycurl.SSLVERSION_TLSv1_2,
        pycurl.PROXY: options.proxy,  # an empty one keeps it from looking into the environment
        pycurl.HTTPPROXYTUNNEL: 1,
        SUPPRESS_CONNECT_HEADERS: 1,
        pycurl.PATH_AS_IS: 1,
        pycurl.NETRC: pycurl.NETRC_IGNORED,
        pycurl.DNS_CACHE_TIMEOUT: 0,
    }
    paths = ssl.get_default_verify_paths()
    if options.authorities:
        fixed[pycurl.CAINFO_BLOB] = options.authorities
    elif paths.cafile:
        fixed[pycurl.CAINFO] = paths.cafile
    return fixed
