"""Decides what may be called: URLs when they are set, addresses when resolved and at the socket.

URLs are read strictly, so that no other program can read them in another way. URLs that other
programs have to guess at are refused: those with unusual forms of an IPv4 address, look-alike
letters, backslashes, spaces or user names. An accepted URL is ASCII and has one meaning.

A table of networks says which addresses must not be called, and why. Private networks may be called
only if the operator allows them. The same checks are made at all three places, since a name can
lead to another address later.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from sys import intern
from urllib.parse import quote

from msgspec import Struct

from tarry.errors import EgressRefused, SettingsError
from tarry.service.wire.exchange import Target
from tarry.service.wire.own_address import WILDCARDS, is_on_this_machine
from tarry.service.wire.sign import check_headers

# --- URLs ---------------------------------------------------------------------------------------

_LAST_PORT = 65_535
DEFAULT_PORTS = {"http": 80, "https": 443}
"""The schemes that may be called, and their default ports."""
LONGEST_URL = 2048
"""The most characters of a URL, also after letters beyond ASCII are written as %xx."""
MOST_URLS = 1000
"""How many URLs are cached in parsed form: those of endpoints in use are read repeatedly."""

_LONGEST_NAME = 253
_LONGEST_LABEL = 63
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)(?:#.*)?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_ADDRESS_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PLAIN = frozenset("0123456789-")
_KEPT = "!$%&'()*+,/:;=?@[]"
"""The characters that a path keeps, besides letters, digits and -._~; others are sent as %xx."""


class Location(Struct, frozen=True):
    """A parsed URL. `host` is a name in lower case or an address, never in brackets."""

    scheme: str
    host: str
    port: int
    path: str


@lru_cache(MOST_URLS)
def read_url(url: str) -> Location:
    """Return the parts of a URL.

    It raises SettingsError for a text that is not a URL, and EgressRefused for a URL that must not
    be called.
    """
    if not 0 < len(url) <= LONGEST_URL:
        raise _unreadable(url, f"1 to {LONGEST_URL} characters long")
    if "\\" in url or any(unicodedata.category(letter)[0] in "CZ" for letter in url):
        raise _unreadable(url, "without spaces, control characters and backslashes")
    match = _URL.fullmatch(url)
    if not match:
        raise _unreadable(url, "a URL such as https://example.com/hooks")
    scheme, authority, rest = match.groups()
    scheme = intern(scheme.lower())  # one copy for all endpoints
    default = DEFAULT_PORTS.get(scheme)
    if default is None:
        raise EgressRefused(f"{scheme}://", "only http and https are called")
    if "@" in authority:
        rule = "a URL with a user name or a password in it"
        raise EgressRefused(authority.rpartition("@")[2], rule)
    host, port = _host_and_port(authority, url, default)
    return Location(scheme, host, port, _path(rest, url))


def origin_of(url: str) -> str:
    """Return the origin of a URL: scheme, host and port."""
    location = read_url(url)
    return f"{location.scheme}://{location.host}:{location.port}"


def read_host(host: str) -> str:
    """Return a host as a name in lower-case ASCII without a final dot, or as an IPv4 address."""
    name = _ascii(host).lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        wanted = "a name of labels with letters, digits, - and _, each of 1 to 63 characters"
        raise SettingsError("host", _shortened(host), wanted)
    if _ADDRESS_NUMBER.fullmatch(labels[-1]):
        # inet_aton reads 0x7f.1 and 2130706433 as loopback. So a name that ends in a number must
        # be an address, in its one normal form.
        try:
            IPv4Address(name)
        except ValueError:
            rule = "an IPv4 address is written as four decimal numbers, and no name ends in one"
            raise EgressRefused(host, rule) from None
    return name


def _host_and_port(authority: str, url: str, default: int) -> tuple[str, int]:
    """Read the part of a URL between `//` and the path."""
    if authority.startswith("["):
        inner, closed, after = authority[1:].partition("]")
        if not closed or (after and not after.startswith(":")):
            raise _unreadable(url, "with an IPv6 address in one pair of brackets")
        host, colon, port = _ipv6(inner), after[:1], after[1:]
    else:
        name, colon, port = authority.partition(":")
        if not name:
            raise _unreadable(url, "a URL with a host")
        host = read_host(name)
    if not colon:
        return host, default
    if not _PORT.fullmatch(port) or int(port) > _LAST_PORT:
        raise _unreadable(url, f"with a port from 1 to {_LAST_PORT}, or none")
    return host, int(port)


def _ipv6(text: str) -> str:
    """Return an IPv6 address in its usual spelling; refuse one with a scope."""
    if "%" in text:
        raise EgressRefused(f"[{text}]", "an address with a scope is one of this machine's links")
    try:
        return str(IPv6Address(text))
    except ValueError:
        raise SettingsError("host", f"[{text}]", "an IPv6 address if it is in brackets") from None


def _ascii(host: str) -> str:
    """Return the host with labels beyond ASCII in their xn-- form, as in IDNA 2008."""
    if host.isascii():
        return host
    if unicodedata.normalize("NFKC", host) != host or "\u3002" in host:
        raise EgressRefused(host, "look-alike letters, such as circled or wide ones")
    return ".".join(label if label.isascii() else _punycode(label) for label in host.split("."))


def _punycode(label: str) -> str:
    """Return a label in its xn-- form, which is longer than the label."""
    if len(label) > _LONGEST_LABEL:  # coding it takes time that grows with the square of its length
        raise SettingsError("host", _shortened(label), f"of at most {_LONGEST_LABEL} characters")
    if not all(unicodedata.category(letter)[0] in "LM" or letter in _PLAIN for letter in label):
        raise SettingsError("host", _shortened(label), "a name of letters, the digits 0 to 9 and -")
    return "xn--" + label.lower().encode("punycode").decode("ascii")


def _path(rest: str, url: str) -> str:
    """Return a URL's path and query with characters encoded as %xx where necessary."""
    path = quote(rest if rest.startswith("/") else f"/{rest}", safe=_KEPT)
    if len(path) > LONGEST_URL:
        raise _unreadable(
            url, f"at most {LONGEST_URL} characters long when letters are sent as %xx"
        )
    return path


def _unreadable(url: str, wanted: str) -> SettingsError:
    """Return the error for a URL that is not as `wanted` says."""
    return SettingsError("url", _shortened(url), wanted)


def _shortened(text: str) -> str:
    most = 100
    return text if len(text) <= most else f"{text[:most]}..."


# --- Addresses ----------------------------------------------------------------------------------

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORTS = "80, 443, 1024-65535"
"""The ports that may be called by default: not those of mail or remote shells."""

NO_ADDRESS = "it is not an address, or it has a scope"
ITSELF = "it is this service itself"
UNALTERABLE = frozenset({NO_ADDRESS, ITSELF})
"""Rules that no setting can change."""

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_MAPPED = IPv6Network("::ffff:0:0/96")
_PRIVATE_ENDINGS = (
    ".home.arpa",
    ".internal",
    ".local",
    ".localdomain",
    ".localdomain6",
    ".localhost",
)

# The standard library's `is_global` is not used: its results change between patch releases, and it
# allows multicast, NAT64 and other ways to reach private addresses. In IPv6, only networks assigned
# as global unicast are allowed here.
_V4 = tuple(
    (IPv4Network(network), f"it is {kind}")
    for network, kind in (
        ("0.0.0.0/8", "the address of no host"),
        ("10.0.0.0/8", "in a private network"),
        ("100.64.0.0/10", "in a provider's inner network"),
        ("127.0.0.0/8", "the loopback of this machine"),
        ("168.63.129.16/32", "a cloud's inner service"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "in a private network"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "reserved for documentation"),
        ("192.31.196.0/24", "reserved for protocols"),
        ("192.52.193.0/24", "reserved for protocols"),
        ("192.88.99.0/24", "a relay into IPv6"),
        ("192.168.0.0/16", "in a private network"),
        ("192.175.48.0/24", "reserved for protocols"),
        ("198.18.0.0/15", "reserved for benchmarks"),
        ("198.51.100.0/24", "reserved for documentation"),
        ("203.0.113.0/24", "reserved for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_LOOPBACK = IPv6Network("::/127")  # ::1, and :: which leads there too
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_V6 = tuple(
    (IPv6Network(network), f"it is {kind}")
    for network, kind in (
        (_LOOPBACK, "the loopback of this machine"),
        ("::/96", "an IPv4 address in disguise"),
        ("::ffff:0:0:0/96", "an IPv4 address in disguise"),  # SIIT
        ("64:ff9b::/96", "an IPv4 address in disguise"),  # NAT64
        ("64:ff9b:1::/48", "an IPv4 address in disguise"),  # NAT64 for local use
        ("2001::/23", "reserved for protocols"),  # includes Teredo
        ("2001:db8::/32", "reserved for documentation"),
        ("2002::/16", "an IPv4 address in disguise"),  # 6to4
        ("2620:4f:8000::/48", "reserved for protocols"),
        ("3ffe::/16", "not assigned"),
        ("3fff::/20", "reserved for documentation"),
        ("fc00::/7", "in a private network"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "in a private network"),
        ("ff00::/8", "multicast"),
    )
)
_TEREDO = IPv6Network("2001::/32")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_LAST_BITS = tuple(map(IPv6Network, ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")))
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
_32_BITS = 0xFFFF_FFFF


class Egress(Struct, frozen=True):
    """The allowed addresses: the public internet, and networks that the operator allows."""

    networks: tuple[Network, ...]
    ports: tuple[range, ...]
    own: frozenset[tuple[str, int]]
    """Where this service itself listens: it never calls itself, even in allowed networks."""
    own_ports: frozenset[int] = frozenset()
    """The ports that it listens on at all addresses of this machine."""

    @classmethod
    def of(
        cls, networks: Iterable[str] = (), *, ports: str = PORTS, own: Iterable[str] = ()
    ) -> "Egress":
        """Read the operator's settings.

        `networks` are like `10.0.0.0/8` or a single address, `ports` like `80, 443, 8000-8999`,
        `own` like `hooks.example.com:443` or `[::1]:8400`; `0.0.0.0:8400` means all addresses of
        this machine.
        """
        places = frozenset(map(_own_address, own))
        return cls(
            tuple(map(_network, networks)),
            tuple(map(_ports, ports.split(","))),
            places,
            frozenset(port for host, port in places if host in WILDCARDS),
        )

    def target(
        self, url: str, headers: Iterable[tuple[str, str]] = (), *, owner: str = ""
    ) -> Target:
        """Return the target of an application's endpoint, if it may be called.

        EgressRefused names the rule that forbids it; SettingsError says what cannot be read.
        """
        location = read_url(url)
        if not any(location.port in ports for ports in self.ports):
            rule = f"port {location.port} is not among the allowed ones"
            raise EgressRefused(location.host, rule, "--ports")
        if read_address(location.host) is not None:
            self.check(location.host, location.port)
        elif (location.host, location.port) in self.own:
            raise EgressRefused(location.host, ITSELF)
        elif not self.networks and _is_private(location.host):
            rule = "a name that only private networks know"
            raise EgressRefused(location.host, rule, "--allow-network")
        checked = check_headers(headers)
        return Target(location.scheme, location.host, location.port, location.path, checked, owner)

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
        """Return why an address must not be called on this port; None if it may be."""
        address = read_address(text)
        if address is None:
            return NO_ADDRESS
        if (str(address), port) in self.own:
            return ITSELF
        if port in self.own_ports and is_on_this_machine(address):
            return ITSELF
        if address.is_unspecified and any(port == own for _, own in self.own):
            return ITSELF  # the kernel connects to the loopback
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
    """Read a network of the setting `allow_network`."""
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
    """Read a range of ports such as `8000-8100`."""
    match = _RANGE.fullmatch(text.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < first <= last <= _LAST_PORT:
        wanted = f"ports from 1 to {_LAST_PORT}, such as {PORTS!r}"
        raise SettingsError("ports", text, wanted)
    return range(first, last + 1)


def _own_address(text: str) -> tuple[str, int]:
    """Read a host and a port of the service itself, which must not be called."""
    location = read_url(f"http://{text}")
    if not text.endswith(f":{location.port}") or not set("/?#").isdisjoint(text):
        raise SettingsError("own", text, "a host and a port, such as hooks.example.com:443")
    address = read_address(location.host)
    return (location.host if address is None else str(address)), location.port


def read_address(text: str) -> Address | None:
    """Return the address that a text holds; None if it has none, or a scope (`fe80::1%eth0`).

    An IPv4 address in IPv6 notation (`::ffff:10.0.0.1`) is returned as the IPv4 address, since the
    kernel would connect to that.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    if address.scope_id is not None:
        return None
    return address.ipv4_mapped or address


def rule_against(address: Address) -> str | None:
    """Return why an address must not be called; None if it may."""
    if isinstance(address, IPv4Address):
        return next((rule for network, rule in _V4 if address in network), None)
    for network, rule in _V6:
        if address in network:
            return rule
    if address not in _GLOBAL_UNICAST:
        return "it is not assigned"
    return None if disguised(address) is None else "it is an IPv4 address in disguise"


def disguised(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address embeds, and where its traffic would end up."""
    if isinstance(address, IPv4Address):
        return None
    bits = int(address)
    if address in _LOOPBACK:
        return None
    if address in _SIX_TO_FOUR:
        return IPv4Address(bits >> 80 & _32_BITS)
    if address in _TEREDO:
        return IPv4Address(~bits & _32_BITS)  # stored with every bit inverted
    if bits >> 32 & _32_BITS in _ISATAP or any(address in network for network in _LAST_BITS):
        return IPv4Address(bits & _32_BITS)
    return None
