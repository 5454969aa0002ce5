"""Connects to a target: to a checked address, which is checked again at the socket, with TLS."""

import socket
import ssl
from asyncio import AbstractEventLoop, BaseEventLoop, Protocol, timeout
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import Target
from tarry.service.wire.proxy import Proxy
from tarry.service.wire.setback import Setback, is_scarcity, setback

LINGER = 0.5
"""Seconds that a dial may run beyond its time limit, so that the caller's own limit comes first."""
SHUTDOWN_TIMEOUT = 1.0
"""Seconds to wait for the endpoint's close notice when a TLS connection is closed."""

Made = TypeVar("Made", bound=Protocol)

RECEIVED = 8192
"""Bytes that the kernel buffers before they are read; answers are small."""


class Dialler(Struct, frozen=True):
    """Makes connections."""

    loop: AbstractEventLoop
    permits: Callable[[str, int], bool]
    """Returns whether an address may be called; called for the peer of every connected socket."""
    scarce: Callable[[], None]
    """Called when this machine has no file descriptor left for a connection."""
    tls: ssl.SSLContext
    proxy: Proxy | None = None

    async def dial(
        self, target: Target, addresses: tuple[str, ...], until: float, make: Callable[[], Made]
    ) -> Made | Setback:
        """Return a connection to the first of these addresses that accepts one, `until` a time.

        It returns by itself soon after that time, without being cancelled: a cancelled handshake
        leaves traces in uvloop. With a proxy the addresses are not used: see `proxy.py` for the
        checks in that case.
        """
        port = target.port
        if self.proxy is not None:
            addresses, port = await self._addresses_of(self.proxy), self.proxy.port
        sock = await self._first(addresses, port, until)
        if isinstance(sock, Setback):
            return sock
        try:
            async with timeout(until + LINGER - monotonic()):
                refused = await self._refused(sock, target)
        except OSError as error:
            refused = setback(error)
        except BaseException:
            sock.close()
            raise
        if refused is not None:
            sock.close()
            return refused
        return await self._hand_over(sock, target, until, make)

    async def _refused(self, sock: socket.socket, target: Target) -> Setback | None:
        """Return why this socket must not be used (a forbidden peer, or no tunnel), or None."""
        if self.proxy is not None:
            return await self.proxy.tunnel(self.loop, sock, target)
        if self.permits(*sock.getpeername()[:2]):
            return None
        return Setback(Kind.BLOCKED, "the host leads to an address that must not be called")

    async def _hand_over(
        self, sock: socket.socket, target: Target, until: float, make: Callable[[], Made]
    ) -> Made | Setback:
        """Hand the socket over to the event loop, with a TLS handshake for https."""
        is_secure = target.scheme == "https"
        try:
            transport, made = await self.loop.create_connection(
                make,
                sock=sock,
                ssl=self.tls if is_secure else None,
                server_hostname=target.host if is_secure else None,
                ssl_handshake_timeout=max(until - monotonic(), 0) + LINGER if is_secure else None,
                ssl_shutdown_timeout=SHUTDOWN_TIMEOUT if is_secure else None,
            )
        except BaseException as error:
            self._let_go(sock)
            if is_secure and isinstance(error, ConnectionError):
                # Servers that support only old versions of TLS end a handshake like this, too.
                return Setback(Kind.TLS, "the endpoint broke off the handshake")
            if isinstance(error, OSError):
                return setback(error)
            raise
        if transport.is_closing() and not isinstance(self.loop, BaseEventLoop):
            self._let_go(sock)
        return made

    def _let_go(self, sock: socket.socket) -> None:
        """Close a socket that was handed over.

        uvloop has closed its descriptor by then, sometimes without the socket knowing. The socket
        would close it a second time, and the number may belong to another file by then.
        """
        if isinstance(self.loop, BaseEventLoop):
            sock.close()
        else:
            sock.detach()

    async def _first(
        self, addresses: tuple[str, ...], port: int, until: float
    ) -> socket.socket | Setback:
        """Return a socket to the first address that answers; all share the time that is left."""
        failed = Setback(Kind.DNS, "the endpoint's name has no address")
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                async with timeout((until - monotonic()) / left):
                    return await self._connect(address, port)
            except OSError as error:
                failed = setback(error)
                if is_scarcity(error):
                    self.scarce()
                    break
        return failed

    async def _connect(self, address: str, port: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        # OpenSSL does not return while there is more of a handshake to read. Without this limit, an
        # endpoint that floods it blocked the event loop for a third of a second at a time.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)
        try:
            await self.loop.sock_connect(sock, (address, port))
        except BaseException:
            sock.close()
            raise
        return sock

    async def _addresses_of(self, proxy: Proxy) -> tuple[str, ...]:
        """Return the proxy's addresses. The operator chose it, so any address is allowed."""
        found = await self.loop.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
