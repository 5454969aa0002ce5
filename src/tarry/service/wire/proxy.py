"""An egress proxy: every connection, for http and https alike, is a tunnel through it (CONNECT).

With a proxy, tarry checks the name that it asks for, and an address in a URL. It cannot check which
address the proxy connects to: the proxy looks the name up, and has to refuse private addresses
itself. Environment variables about proxies are never read.
"""

from asyncio import AbstractEventLoop
from base64 import b64encode
from socket import socket
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.errors import SettingsError
from tarry.service.wire.exchange import Target
from tarry.service.wire.send_failure import SendFailure

MOST_HEAD = 8 * 1024
"""The longest head of a proxy's answer, in bytes."""

_PROXY_FORM = "a URL such as http://proxy.example:3128 or http://user:password@proxy.example:3128"


class Proxy(Struct, frozen=True):
    """Where the proxy is, and how to authenticate to it."""

    host: str
    port: int
    authorization: str | None = None

    @classmethod
    def at(cls, url: str) -> "Proxy":
        """Return the proxy that this URL names.

        >>> Proxy.at("http://proxy.example:3128")
        Proxy(host='proxy.example', port=3128, authorization=None)
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme != "http" or not host or not port or parts.path not in ("", "/"):
            raise SettingsError("proxy", _without_secret(url), _PROXY_FORM)
        if parts.username is None:
            return cls(host, port)
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return cls(host, port, "Basic " + b64encode(login.encode()).decode())

    async def tunnel(
        self, loop: AbstractEventLoop, sock: socket, target: Target
    ) -> SendFailure | None:
        """Ask the proxy, on a socket to it, for a tunnel to this target; None if it agrees."""
        await loop.sock_sendall(sock, self._connect_request(target))
        head = b""
        while b"\r\n\r\n" not in head:
            received = await loop.sock_recv(sock, MOST_HEAD)
            head += received
            if not received or len(head) > MOST_HEAD:
                return SendFailure(Kind.TRANSIENT, "the egress proxy sent no valid HTTP response")
        return _judge(head)

    def _connect_request(self, target: Target) -> bytes:
        """Return the CONNECT request for a target."""
        host = f"[{target.host}]" if ":" in target.host else target.host
        address = f"{host}:{target.port}"
        lines = [f"CONNECT {address} HTTP/1.1", f"Host: {address}"]
        if self.authorization is not None:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        return "\r\n".join([*lines, "", ""]).encode("ascii")


def _judge(head: bytes) -> SendFailure | None:
    """Return the failure that a proxy's answer means, if any. A refusal is not the endpoint's."""
    first, _, rest = head.partition(b"\r\n\r\n")
    words = first.split(b"\r\n")[0].split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():  # noqa: PLR2004  a version and a status
        return SendFailure(Kind.TRANSIENT, "the egress proxy sent no valid HTTP response")
    if not words[1].startswith(b"2"):
        return SendFailure(Kind.TRANSIENT, f"the egress proxy answered {words[1].decode()[:3]}")
    if rest:  # HTTP and TLS servers send nothing before the client does
        return SendFailure(Kind.PROTOCOL, "bytes came through the egress proxy before the request")
    return None


def _without_secret(url: str) -> str:
    """Return the URL without its login, for an error message."""
    return url.rpartition("@")[2]
