"""Make a connection to a target: to a checked address, checked again at the socket, TLS and all."""

import socket
import ssl
from asyncio import AbstractEventLoop, Protocol, timeout
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import Target
from tarry.service.wire.proxy import Proxy
from tarry.service.wire.setback import Setback, is_scarcity, setback

SHUTDOWN_TIMEOUT = 1.0
"""Seconds to wait for the other side's goodbye when a TLS connection is closed."""

Made = TypeVar("Made", bound=Protocol)


class Dialler(Struct, frozen=True):
    """What connections are made with."""

    loop: AbstractEventLoop
    permits: Callable[[str, int], bool]
    """Whether this address may be called; asked of the peer of every socket that stands."""
    scarce: Callable[[], None]
    """Told when this machine has no file descriptor left for a connection."""
    tls: ssl.SSLContext
    proxy: Proxy | None = None

    async def dial(
        self, target: Target, addresses: tuple[str, ...], until: float, make: Callable[[], Made]
    ) -> Made | Setback:
        """A connection to the first of these addresses that takes one, tried `until` then.

        With a proxy the addresses are not used: see there what is checked then.
        """
        port = target.port
        if self.proxy is not None:
            addresses, port = await self._addresses_of(self.proxy), self.proxy.port
        sock = await self._first(addresses, port, until)
        if isinstance(sock, Setback):
            return sock
        try:
            return await self._finish(sock, target, make)
        except OSError as error:
            sock.close()
            return setback(error)
        except BaseException:
            sock.close()
            raise

    async def _finish(
        self, sock: socket.socket, target: Target, make: Callable[[], Made]
    ) -> Made | Setback:
        """Check the peer, go through the proxy, and shake hands."""
        refused: Setback | None = None
        if self.proxy is not None:
            refused = await self.proxy.tunnel(self.loop, sock, target)
        elif not self.permits(*sock.getpeername()[:2]):
            refused = Setback(Kind.BLOCKED, "the host leads to an address that must not be called")
        if refused is not None:
            sock.close()
            return refused
        if target.scheme != "https":
            return (await self.loop.create_connection(make, sock=sock))[1]
        try:
            _, made = await self.loop.create_connection(
                make,
                sock=sock,
                ssl=self.tls,
                server_hostname=target.host,
                ssl_shutdown_timeout=SHUTDOWN_TIMEOUT,
            )
        except ConnectionError:  # so end handshakes with those who know only old versions, too
            return Setback(Kind.TLS, "the endpoint broke off the handshake")
        return made

    async def _first(
        self, addresses: tuple[str, ...], port: int, until: float
    ) -> socket.socket | Setback:
        """A socket to the first address that answers; each has an even share of what is left."""
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
        try:
            await self.loop.sock_connect(sock, (address, port))
        except BaseException:
            sock.close()
            raise
        return sock

    async def _addresses_of(self, proxy: Proxy) -> tuple[str, ...]:
        """Where the proxy is. The operator named it, so it may be anywhere."""
        found = await self.loop.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
