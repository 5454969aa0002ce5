"""The addresses under which this service can be reached, so that it does not call itself."""

import socket
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
LOOPBACKS = ("127.0.0.1", "::1")
WILDCARDS = frozenset({str(IPv4Address(0)), str(IPv6Address(0))})
"""The hosts that mean all addresses of this machine: `0.0.0.0` and `::`."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


def own_addresses(host: str, port: int, public_url: str | None = None) -> tuple[str, ...]:
    """Return where a service is reached that listens on this host and port, as `own` takes it.

    A name is returned with its addresses. A wildcard is returned as it is: `Egress` compares it
    with the addresses of this machine when they are called, because they may change.
    """
    own = dict.fromkeys([_host_and_port(host, port)] if port else [])
    if port and host not in WILDCARDS:
        own |= dict.fromkeys(_host_and_port(address, port) for address in _addresses_of(host, port))
    if public_url is not None:
        parts = urlsplit(public_url)
        public_port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
        if parts.hostname and public_port:
            own[_host_and_port(parts.hostname, public_port)] = None
    return tuple(own)


def is_on_this_machine(address: Address) -> bool:
    """Return whether a connection to this address would end on this machine.

    The kernel knows: for one of its own addresses it chooses that address as the source. Choosing a
    source sends nothing.
    """
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return bool(probe.getsockname()[0] == str(address))
    except OSError:  # there is no route, so a connection fails too
        return False


def _addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses of a host; none if it cannot be resolved, as listening then fails.

    `localhost` has both loopbacks, whichever of them this machine's table of hosts names.
    """
    if host == "localhost":
        return list(LOOPBACKS)
    try:
        address_rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]).partition("%")[0] for *_, address in address_rows]


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
