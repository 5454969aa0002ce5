"""The address under which clients reach this server, for links in responses, and their own."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from msgspec import Struct

from tarry.errors import SettingsError

_HOST = re.compile(r"(?:[a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?")
"""Matches a host and a port. Anything else would put a path or a user into a link."""


class PublicAddress(Struct, frozen=True, kw_only=True):
    """How the server learns its own address: from a setting, from trusted proxies, or from `Host`.

    Anybody can send `X-Forwarded-Host`. It counts only if the connection comes from a proxy that is
    trusted, because a link with a stranger's host would give that stranger the token in it.
    """

    url: str | None = None
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, url: str | None = None, proxies: Iterable[str] = ()) -> "PublicAddress":
        """Read both settings; SettingsError says what is wrong."""
        return cls(
            url=None if url is None else _read_url(url), proxies=tuple(map(_read_network, proxies))
        )

    def base(self, scheme: str, headers: Mapping[bytes, bytes], peer: str) -> str:
        """Return the URL of this server for the sender of a request; empty if it is unknown."""
        if self.url is not None:
            return self.url
        host = _host(headers.get(b"host"))
        if self._is_from_proxy(peer):
            host = _host(headers.get(b"x-forwarded-host")) or host
            if _last_value(headers.get(b"x-forwarded-proto")) == "https":
                scheme = "https"
        return f"{scheme}://{host}" if host else ""

    def client(self, headers: Mapping[bytes, bytes], peer: str) -> str:
        """Return the address that a request comes from: `peer`, or what trusted proxies say.

        Each proxy adds the address of its own client at the end of `X-Forwarded-For`. So it is read
        from the end, and only as far as trusted proxies wrote it.
        """
        client = peer
        forwarded = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
        while forwarded and self._is_from_proxy(client):
            before = _address(forwarded.pop().strip())
            if before is None:
                break
            client = str(before)
        return client

    def _is_from_proxy(self, peer: str) -> bool:
        """Return whether the connection comes from a trusted proxy."""
        if not self.proxies:
            return False
        address = _address(peer)
        return address is not None and any(address in network for network in self.proxies)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address without its zone; None for anything else, such as a peer without TCP."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return address.ipv4_mapped or address
    return address


def _last_value(value: bytes | None) -> str:
    """Return the last of a header's values: the trusted proxy wrote it, others may be the client's.

    The server that keeps the last of several headers with one name does the same.
    """
    return (value or b"").decode("latin-1").rpartition(",")[2].strip()


def _host(value: bytes | None) -> str:
    """Return the host and port of a header, empty if they are not valid."""
    host = _last_value(value)
    return host if _HOST.fullmatch(host) else ""


def _read_url(text: str) -> str:
    """Return a public URL without the slash at its end; refuse one that is more than an origin."""
    url = text.removesuffix("/")
    scheme, _, host = url.partition("://")
    try:
        is_port = urlsplit(url).port != 0
    except ValueError:
        is_port = False
    if scheme not in ("http", "https") or not _HOST.fullmatch(host) or not is_port:
        wanted = "http:// or https:// with a host and no path, such as https://hooks.example.com"
        raise SettingsError("public-url", text, wanted)
    return url


def _read_network(text: str) -> IPv4Network | IPv6Network:
    """Return the addresses of a trusted proxy."""
    try:
        return ip_network(text.strip())
    except ValueError as error:
        wanted = "an address or a network, such as 10.0.0.7 or 10.0.0.0/24"
        raise SettingsError("trusted-proxy", text, wanted) from error
