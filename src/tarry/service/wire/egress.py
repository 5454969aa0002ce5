"""Decides what may be called: URLs when they are set, addresses when resolved and at the socket.

Private networks may be called only if the operator allows them. The same checks are made at all
three places, since a name can lead to another address later.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv6Network, ip_network

from msgspec import Struct

from tarry.errors import EgressRefused, SettingsError
from tarry.service.wire.address import Address, Network, disguised, read, rule_against
from tarry.service.wire.exchange import Target
from tarry.service.wire.sign import check_headers
from tarry.service.wire.url import read_url

PORTS = "80, 443, 1024-65535"
"""The ports that may be called by default: not those of mail or remote shells."""

NO_ADDRESS = "it is no address, or one with a scope"
ITSELF = "it is this service itself"
UNALTERABLE = frozenset({NO_ADDRESS, ITSELF})
"""Rules that no setting can change."""

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_LAST_PORT = 65_535
_MAPPED = IPv6Network("::ffff:0:0/96")
_PRIVATE_ENDINGS = (
    ".home.arpa",
    ".internal",
    ".local",
    ".localdomain",
    ".localdomain6",
    ".localhost",
)


class Egress(Struct, frozen=True):
    """What may be called: the public internet, and the networks that the operator allows."""

    networks: tuple[Network, ...]
    ports: tuple[range, ...]
    own: frozenset[tuple[str, int]]
    """Where this service itself listens: it never calls itself, even in allowed networks."""

    @classmethod
    def of(
        cls, networks: Iterable[str] = (), *, ports: str = PORTS, own: Iterable[str] = ()
    ) -> "Egress":
        """Read the operator's settings.

        `networks` are like `10.0.0.0/8` or a single address, `ports` like `80, 443, 8000-8999`,
        `own` like `hooks.example.com:443` or `[::1]:8400`.
        """
        return cls(
            tuple(map(_network, networks)),
            tuple(map(_ports, ports.split(","))),
            frozenset(map(_own, own)),
        )

    def target(
        self, url: str, headers: Iterable[tuple[str, str]] = (), *, owner: str = ""
    ) -> Target:
        """Return the target of an application's endpoint, if it may be called.

        EgressRefused names the rule that forbids it; SettingsError says what cannot be read.
        """
        place = read_url(url)
        if not any(place.port in ports for ports in self.ports):
            rule = f"port {place.port} is not among the allowed ones"
            raise EgressRefused(place.host, rule, "--ports")
        if read(place.host) is not None:
            self.check(place.host, place.port)
        elif (place.host, place.port) in self.own:
            raise EgressRefused(place.host, ITSELF)
        elif not self.networks and _is_private(place.host):
            rule = "a name that only private networks know"
            raise EgressRefused(place.host, rule, "--allow-network")
        checked = check_headers(headers)
        return Target(place.scheme, place.host, place.port, place.path, checked, owner)

    def permits(self, address: str, port: int) -> bool:
        """Return whether a connection to this address may be made, or kept."""
        return self._rule_against(address, port) is None

    def check(self, address: str, port: int) -> None:
        """Raise EgressRefused, with the rule, if this address must not be called."""
        rule = self._rule_against(address, port)
        if rule is not None:
            option = "" if rule in UNALTERABLE else "--allow-network"
            raise EgressRefused(address, rule, option)

    def _rule_against(self, text: str, port: int) -> str | None:
        address = read(text)
        if address is None:
            return NO_ADDRESS
        if (str(address), port) in self.own:
            return ITSELF
        return None if self._is_allowed(address) else rule_against(address)

    def _is_allowed(self, address: Address) -> bool:
        """Return whether the operator allows an address.

        If it embeds an IPv4 address, that one must be allowed or public as well: an operator who
        allows the prefix of a NAT64 does not mean the loopback behind it.
        """
        if not any(address in network for network in self.networks):
            return False
        inner = disguised(address)
        return inner is None or self._is_allowed(inner) or rule_against(inner) is None


def _is_private(host: str) -> bool:
    """Return whether only private networks know a name: it has one label, or a reserved ending."""
    return "." not in host or host.endswith(_PRIVATE_ENDINGS)


def _network(text: str) -> Network:
    try:
        network = ip_network(text.strip())
    except ValueError as error:
        wanted = f"a network such as 10.0.0.0/8 or fd00::/8 ({error})"
        raise SettingsError("allow_network", text, wanted) from None
    if isinstance(network, IPv6Network) and ("%" in text or network.subnet_of(_MAPPED)):
        wanted = "written without a scope, and as an IPv4 network if it is one"
        raise SettingsError("allow_network", text, wanted)
    return network


def _ports(text: str) -> range:
    match = _RANGE.fullmatch(text.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < first <= last <= _LAST_PORT:
        wanted = f"ports from 1 to {_LAST_PORT}, such as {PORTS!r}"
        raise SettingsError("ports", text, wanted)
    return range(first, last + 1)


def _own(text: str) -> tuple[str, int]:
    place = read_url(f"http://{text}")
    if not text.endswith(f":{place.port}") or not set("/?#").isdisjoint(text):
        raise SettingsError("own", text, "a host and a port, such as hooks.example.com:443")
    address = read(place.host)
    return (place.host if address is None else str(address)), place.port
