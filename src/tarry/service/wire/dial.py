"""The way to an endpoint: its name is resolved to checked addresses, and one of them is connected.

- `Resolver` checks all addresses of a name, and refuses the name if one of them must not be called.
  Answers are cached for a while; `Lookups` gives each application its share of the threads.
- `Dialler` connects to the very address that was checked, so an attacker gains nothing if the name
  leads elsewhere a moment later. The address is checked again at the socket. TLS comes last.
"""

import socket
import ssl
from asyncio import AbstractEventLoop, BaseEventLoop, Protocol, timeout
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic
from typing import TypeVar

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.egress import Egress, read_address
from tarry.service.wire.exchange import Target
from tarry.service.wire.lookup import Found, Unresolved, look_up
from tarry.service.wire.lookups import Lookups
from tarry.service.wire.proxy import Proxy
from tarry.service.wire.send_failure import SendFailure, is_scarcity, send_failure_of

# --- From a name to its addresses ---------------------------------------------------------------

GOOD_FOR, BAD_FOR = 30.0, 5.0
"""Seconds for which an answer is cached: addresses, and a failure."""
LOOKUP_TIMEOUT = 5.0
MOST_ADDRESSES = 8
"""How many addresses of one name are returned. All are checked."""
MOST_CACHED = 10_000
MOST_PORTS = 16
"""For how many ports of a host the checked answer is cached: mostly there is one port."""


class Addresses(Struct, frozen=True):
    """The addresses of a host, in the order to try them; every one may be called."""

    addresses: tuple[str, ...]


Resolved = Addresses | Unresolved
Done = Callable[[Resolved], None]

_FORBIDDEN = "the host leads to an address that must not be called"
_BLOCKED = Unresolved(Kind.BLOCKED, _FORBIDDEN)


class _CachedAnswer:
    """The cached answer for a host, and its result for each port."""

    __slots__ = ("answer", "by_port", "until")

    def __init__(self, answer: Found, until: float) -> None:
        self.answer = answer
        self.until = until
        self.by_port: tuple[tuple[int, Resolved], ...] = ()


class Resolver:
    """Resolves hosts for one event loop, the one that runs when it is created."""

    def __init__(
        self,
        egress: Egress,
        *,
        lookup: Callable[[str], Iterable[str]] = look_up,
        timeout: float = LOOKUP_TIMEOUT,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._egress = egress
        self._clock = clock
        self._cache: dict[str, _CachedAnswer] = {}
        self._lookups = Lookups(lookup, timeout, self._remember)

    def resolve(self, host: str, port: int, owner: str, done: Done) -> None:
        """Find the addresses of a host, as `Target` has it, for a port, and call `done` once.

        For an address or a cached name, `done` is called before this returns; otherwise later, on
        the event loop. A look-up counts against the share of `owner`.
        """
        cached = self._cache.get(host)
        if cached is None or cached.until <= self._clock():
            address = read_address(host)
            if address is None:
                self._lookups.ask(host, owner, partial(self._pass_answer, host, port, done))
                return
            cached = self._remember(host, (str(address),))
        done(self._checked(cached, port))

    def close(self) -> None:
        """Answer all waiting callers, and let the threads end."""
        self._lookups.close()

    def _pass_answer(self, host: str, port: int, done: Done, answer: Found) -> None:
        """Pass the answer of a look-up on, checked for this port."""
        cached = self._cache.get(host)
        if cached is None or cached.answer is not answer:  # it was not remembered
            cached = _CachedAnswer(answer, 0.0)
        done(self._checked(cached, port))

    def _remember(self, host: str, answer: Found) -> _CachedAnswer:
        """Cache the answer of a look-up, and forget the oldest of too many."""
        life = BAD_FOR if isinstance(answer, Unresolved) else GOOD_FOR
        cached = _CachedAnswer(answer, self._clock() + life)
        self._cache.pop(host, None)
        self._cache[host] = cached
        if len(self._cache) > MOST_CACHED:
            del self._cache[next(iter(self._cache))]
        return cached

    def _checked(self, cached: _CachedAnswer, port: int) -> Resolved:
        """Return a cached answer checked for a port; the last few results are cached too."""
        for checked_port, resolved in cached.by_port:
            if checked_port == port:
                return resolved
        resolved = self._check(cached.answer, port)
        cached.by_port = (*cached.by_port[1 - MOST_PORTS :], (port, resolved))
        return resolved

    def _check(self, answer: Found, port: int) -> Resolved:
        """Return the addresses if all may be called on this port, else why not."""
        if isinstance(answer, Unresolved):
            return answer
        if not all(self._egress.permits(address, port) for address in answer):
            return _BLOCKED
        addresses = tuple(dict.fromkeys(str(read_address(address)) for address in answer))[
            :MOST_ADDRESSES
        ]
        # Mostly both are equal. Then they share a tuple, because there is one for each host.
        return Addresses(answer if addresses == answer else addresses)


# --- From an address to a connection ------------------------------------------------------------

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
    ) -> Made | SendFailure:
        """Return a connection to the first of these addresses that accepts one, `until` a time.

        It returns by itself soon after that time, without being cancelled: a cancelled handshake
        leaves traces in uvloop. With a proxy the addresses are not used: see `proxy.py` for the
        checks in that case.
        """
        port = target.port
        if self.proxy is not None:
            addresses, port = await self._addresses_of(self.proxy), self.proxy.port
        sock = await self._connect_to_first(addresses, port, until)
        if isinstance(sock, SendFailure):
            return sock
        try:
            async with timeout(until + LINGER - monotonic()):
                refused = await self._refused(sock, target)
        except OSError as error:
            refused = send_failure_of(error)
        except BaseException:
            sock.close()
            raise
        if refused is not None:
            sock.close()
            return refused
        return await self._hand_over(sock, target, until, make)

    async def _refused(self, sock: socket.socket, target: Target) -> SendFailure | None:
        """Return why this socket must not be used (a forbidden peer, or no tunnel), or None."""
        if self.proxy is not None:
            return await self.proxy.tunnel(self.loop, sock, target)
        if self.permits(*sock.getpeername()[:2]):
            return None
        return SendFailure(Kind.BLOCKED, _FORBIDDEN)

    async def _hand_over(
        self, sock: socket.socket, target: Target, until: float, make: Callable[[], Made]
    ) -> Made | SendFailure:
        """Hand the socket over to the event loop, with a TLS handshake for https."""
        is_secure = target.scheme == "https"
        try:
            transport, connection = await self.loop.create_connection(
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
                return SendFailure(Kind.TLS, "the endpoint aborted the handshake")
            if isinstance(error, OSError):
                return send_failure_of(error)
            raise
        if transport.is_closing() and not isinstance(self.loop, BaseEventLoop):
            self._let_go(sock)
        return connection

    def _let_go(self, sock: socket.socket) -> None:
        """Close a socket that was handed over.

        uvloop has closed its descriptor by then, sometimes without the socket knowing. The socket
        would close it a second time, and the number may belong to another file by then.
        """
        if isinstance(self.loop, BaseEventLoop):
            sock.close()
        else:
            sock.detach()

    async def _connect_to_first(
        self, addresses: tuple[str, ...], port: int, until: float
    ) -> socket.socket | SendFailure:
        """Return a socket to the first address that answers; all share the time that is left."""
        last_failure = SendFailure(Kind.DNS, "the endpoint's name has no address")
        for remaining, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                async with timeout((until - monotonic()) / remaining):
                    return await self._connect(address, port)
            except OSError as error:
                last_failure = send_failure_of(error)
                if is_scarcity(error):
                    self.scarce()
                    break
        return last_failure

    async def _connect(self, address: str, port: int) -> socket.socket:
        """Open a connection to an address."""
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
        answers = await self.loop.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(str(address[0]) for *_, address in answers))
