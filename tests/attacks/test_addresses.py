"""300,000 addresses by chance: those that may be called are public, by Python's own tables too.

`tests/service/wire/test_egress.py` compares the rule with the registry, written as bits. The oracle
here is another one: what the `ipaddress` module says of an address, and the exceptions below. The
default run has a tenth of the addresses. A failure names the address; the seed is in the test.
"""

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from random import Random

import pytest

from tarry.service.wire.egress import Egress

SHORT, LONG = 30_000, 300_000
PORT = 443

EXCEPTIONS = tuple(
    ip_network(network)
    for network in (
        "168.63.129.16/32",  # a public address on which a cloud's machines find an inner service
        "192.0.0.0/24",  # of its 256 addresses, Python counts two as global
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "2001::/23",
        "2002::/16",  # 6to4: an IPv4 address is inside
        "2620:4f:8000::/48",
        "3ffe::/16",
        "3fff::/20",  # documentation; Python versions differ
        "64:ff9b::/96",  # NAT64, likewise
        "64:ff9b:1::/48",
    )
)
"""Networks that are refused although `ipaddress`, in some version, counts them as global."""
GLOBAL_UNICAST = IPv6Network("2000::/3")
ISATAP = (0x5EFE, 0x200_5EFE)

Address = IPv4Address | IPv6Address


def may_be_called(address: Address) -> bool:
    """Decide by the standard library and the exceptions."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return may_be_called(address.ipv4_mapped)
        if address not in GLOBAL_UNICAST or (int(address) >> 32 & 0xFFFF_FFFF) in ISATAP:
            return False
    if any(address in network for network in EXCEPTIONS):
        return False
    return address.is_global and not address.is_multicast


def _v4(chance: Random) -> IPv4Address:
    return IPv4Address(chance.getrandbits(32))


def _inner_v4(chance: Random) -> IPv4Address:
    text = chance.choice(("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"))
    network = IPv4Network(text)
    return network[chance.randrange(network.num_addresses)]


def _near_an_edge(chance: Random) -> Address:
    """Return an address of a few beside the ends of a network that has a rule."""
    network = chance.choice(_EDGES)
    end = int(chance.choice((network.network_address, network.broadcast_address)))
    number = (end + chance.randint(-3, 3)) % (1 << network.max_prefixlen)
    return IPv4Address(number) if network.version == 4 else IPv6Address(number)


_EDGES = [
    *EXCEPTIONS,
    *(
        ip_network(network)
        for network in (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4"),
            *("198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "::/128", "::1/128", "::/96"),
            *("::ffff:0:0/96", "::ffff:0:0:0/96", "100::/64", "2000::/3", "2001::/32", "fc00::/7"),
            *("2001:db8::/32", "fe80::/10", "fec0::/10", "ff00::/8"),
        )
    ),
]


def _with_v4(prefix: str, shift: int) -> Callable[[Random], IPv6Address]:
    start = int(IPv6Address(prefix))

    def make(chance: Random) -> IPv6Address:
        inner = int(chance.choice((_v4, _inner_v4))(chance))
        return IPv6Address(start | inner << shift)

    return make


def _teredo(chance: Random) -> IPv6Address:
    server, client = int(_v4(chance)), int(_inner_v4(chance)) ^ 0xFFFF_FFFF
    return IPv6Address(0x20010000 << 96 | server << 64 | chance.getrandbits(32) << 32 | client)


def _isatap(chance: Random) -> IPv6Address:
    network = 0x2A00 << 112 | chance.getrandbits(48) << 64
    return IPv6Address(network | chance.choice(ISATAP) << 32 | int(_inner_v4(chance)))


KINDS: Mapping[str, Callable[[Random], Address]] = {
    "IPv4": _v4,
    "private IPv4": _inner_v4,
    "the edge of a network": _near_an_edge,
    "IPv6": lambda chance: IPv6Address(chance.getrandbits(128)),
    "global unicast": lambda chance: IPv6Address(0x2 << 124 | chance.getrandbits(125)),
    "IPv4-mapped": _with_v4("::ffff:0:0", 0),
    "IPv4-compatible": _with_v4("::", 0),
    "translated": _with_v4("::ffff:0:0:0", 0),
    "NAT64": _with_v4("64:ff9b::", 0),
    "local NAT64": _with_v4("64:ff9b:1::", 0),
    "6to4": _with_v4("2002::", 80),
    "Teredo": _teredo,
    "ISATAP": _isatap,
}


def compare(count: int, seed: int) -> tuple[int, int]:
    """Compare the rule with the oracle; return how many addresses may be called, and may not."""
    chance, egress = Random(seed), Egress.of()
    makers = list(KINDS.items())
    called = 0
    for number in range(count):
        kind, make = makers[number % len(makers)]
        address = make(chance)
        permitted = egress.permits(str(address), PORT)
        assert permitted == may_be_called(address), f"{kind}: {address} of seed {seed}"
        called += permitted
    return called, count - called


def test_addresses_by_chance_are_judged_as_by_the_standard_library() -> None:
    called, refused = compare(SHORT, seed=1)
    assert called > 0.1 * SHORT
    assert refused > 0.5 * SHORT


@pytest.mark.long
def test_three_hundred_thousand_addresses_by_chance() -> None:
    called, refused = compare(LONG, seed=2)
    assert called > 0.1 * LONG
    assert refused > 0.5 * LONG


@pytest.mark.parametrize("kind", ["NAT64", "local NAT64", "6to4", "Teredo", "ISATAP", "translated"])
def test_no_address_with_an_ipv4_address_inside_is_called(kind: str) -> None:
    chance, egress = Random(3), Egress.of()
    assert not any(egress.permits(str(KINDS[kind](chance)), PORT) for _ in range(2000))
