"""The table is compared with another one: written as bits, and asked in another way."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.wire.address import Address, disguised, read, rule_against

# Every range of the IANA registries of special addresses, and what else is not to be called.
REGISTRY_V4 = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12"
    " 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16"
    " 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
)
OPEN_V6 = "2000::/3"
REGISTRY_V6 = "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20"


def bits(text: str) -> str:
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    return "".join(f"{byte:08b}" for byte in socket.inet_pton(family, text))


def prefix(network: str) -> str:
    address, _, length = network.partition("/")
    return bits(address)[: int(length)]


FORBIDDEN_V4 = tuple(map(prefix, REGISTRY_V4.split()))
FORBIDDEN_V6 = tuple(map(prefix, REGISTRY_V6.split()))
EMBLEMS = ("0000000000000000" + f"{0x5EFE:016b}", f"{0x0200:016b}" + f"{0x5EFE:016b}")


def oracle_permits(text: str) -> bool:
    """Say whether an address may be called, by looking at it as a row of bits."""
    row = bits(text)
    if len(row) == 32:
        return not row.startswith(FORBIDDEN_V4)
    if row.startswith(prefix("::ffff:0:0/96")):
        return not row[96:].startswith(FORBIDDEN_V4)
    open_to_all = row.startswith(prefix(OPEN_V6)) and not row.startswith(FORBIDDEN_V6)
    return open_to_all and row[64:96] not in EMBLEMS


def permits(text: str) -> bool:
    address = read(text)
    assert address is not None
    return rule_against(address) is None


@given(address=st.ip_addresses(v=4))
def test_any_ipv4_address_is_judged_as_by_the_registry(address: IPv4Address) -> None:
    assert permits(str(address)) == oracle_permits(str(address))


@given(address=st.ip_addresses(v=6))
def test_any_ipv6_address_is_judged_as_by_the_registry(address: IPv6Address) -> None:
    assert permits(str(address)) == oracle_permits(str(address))


def edges(network: str) -> list[str]:
    """Give the first and the last address of a network, and those beside it."""
    text, _, length = network.partition("/")
    width = 128 if ":" in text else 32
    first = int(ip_address(text))
    last = first + 2 ** (width - int(length)) - 1
    kind = IPv6Address if width == 128 else IPv4Address
    around = (first - 1, first, first + 1, (first + last) // 2, last - 1, last, last + 1)
    return [str(kind(number)) for number in around if 0 <= number < 2**width]


WAYS_AROUND = "::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2001::/16"
OTHERS = (
    "::/127 100::/64 100:0:0:1::/64 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8 4000::/3"
    " 1000::/4 ::/3 f000::/5 ::/8 2a00:1450::/32 2606:4700::/32 8.8.8.0/24 1.1.1.0/24"
    " 2a00::5efe:0:0/96 2a00::200:5efe:0:0/96 2a00::100:5efe:0:0/96"
)


@pytest.mark.parametrize(
    "network", sorted({OPEN_V6, *f"{REGISTRY_V4} {REGISTRY_V6} {WAYS_AROUND} {OTHERS}".split()})
)
def test_the_edges_of_a_network_are_judged_as_by_the_registry(network: str) -> None:
    for address in edges(network):
        assert permits(address) == oracle_permits(address), address


def test_ten_thousand_addresses_by_chance_are_judged_as_by_the_registry() -> None:
    chance = Random(11)  # noqa: S311  a corpus, not a secret
    known = f"{REGISTRY_V4} {REGISTRY_V6} {OPEN_V6} {WAYS_AROUND} {OTHERS}".split()
    forbidden = 0
    for _ in range(10_000):
        text, _, length = chance.choice(known).partition("/")
        width = 128 if ":" in text else 32
        kept = min(width, max(0, int(length) + chance.randint(-3, 3)))
        start = int(ip_address(text)) >> (width - kept) << (width - kept)
        number = start | chance.getrandbits(width - kept) if kept < width else start
        address = str(IPv6Address(number) if width == 128 else IPv4Address(number))
        assert permits(address) == oracle_permits(address), address
        forbidden += not oracle_permits(address)
    assert 2_000 < forbidden < 9_000


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2a00:1450:4001:80b::200e",
        "2003::1",
        "3fff:1000::1",
        "::ffff:8.8.8.8",
    ],
)
def test_a_public_address_may_be_called(address: str) -> None:
    assert permits(address)
    assert oracle_permits(address)


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("0.1.2.3", "it is the address of no host"),
        ("10.0.0.1", "it is in a private network"),
        ("100.100.100.200", "it is in a provider's inner network"),
        ("127.0.0.1", "it is the loopback of this machine"),
        ("168.63.129.16", "it is a cloud's inner service"),
        ("169.254.169.254", "it is link-local"),
        ("172.16.0.1", "it is in a private network"),
        ("192.0.0.192", "it is reserved for protocols"),
        ("192.0.2.1", "it is reserved for documentation"),
        ("192.31.196.1", "it is reserved for protocols"),
        ("192.52.193.1", "it is reserved for protocols"),
        ("192.88.99.1", "it is a relay into IPv6"),
        ("192.168.1.1", "it is in a private network"),
        ("192.175.48.1", "it is reserved for protocols"),
        ("198.18.0.1", "it is reserved for benchmarks"),
        ("198.51.100.1", "it is reserved for documentation"),
        ("203.0.113.1", "it is reserved for documentation"),
        ("224.0.0.1", "it is multicast"),
        ("255.255.255.255", "it is reserved"),
        ("::ffff:127.0.0.1", "it is the loopback of this machine"),
        ("::", "it is the loopback of this machine"),
        ("::1", "it is the loopback of this machine"),
        ("::2", "it is an IPv4 address in disguise"),
        ("::127.0.0.1", "it is an IPv4 address in disguise"),
        ("::ffff:0:127.0.0.1", "it is an IPv4 address in disguise"),
        ("64:ff9b::8.8.8.8", "it is an IPv4 address in disguise"),
        ("64:ff9b:1::7f00:1", "it is an IPv4 address in disguise"),
        ("2001::1", "it is reserved for protocols"),
        ("2001:db8::1", "it is reserved for documentation"),
        ("2002:808:808::", "it is an IPv4 address in disguise"),
        ("2620:4f:8000::1", "it is reserved for protocols"),
        ("2a00::5efe:8.8.8.8", "it is an IPv4 address in disguise"),
        ("2a00::200:5efe:808:808", "it is an IPv4 address in disguise"),
        ("3ffe::1", "it is given to nobody"),
        ("3fff::1", "it is reserved for documentation"),
        ("100::1", "it is given to nobody"),
        ("5f00::1", "it is given to nobody"),
        ("fd00:ec2::254", "it is in a private network"),
        ("fe80::1", "it is link-local"),
        ("fec0::1", "it is in a private network"),
        ("ff02::1", "it is multicast"),
    ],
)
def test_a_forbidden_address_is_told_why(address: str, rule: str) -> None:
    found = read(address)
    assert found is not None
    assert rule_against(found) == rule
    assert not oracle_permits(address)


@pytest.mark.parametrize(
    ("address", "inner"),
    [
        ("2002:7f00:1::", "127.0.0.1"),
        ("2002:a9fe:a9fe:1:2:3:4:5", "169.254.169.254"),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", "127.0.0.1"),
        ("2001::f5ff:fffe", "10.0.0.1"),
        ("64:ff9b::7f00:1", "127.0.0.1"),
        ("64:ff9b:1::a00:1", "10.0.0.1"),
        ("64:ff9b:1:ffff::a00:1", "10.0.0.1"),
        ("::7f00:1", "127.0.0.1"),
        ("::ffff:0:7f00:1", "127.0.0.1"),
        ("fe80::5efe:a00:1", "10.0.0.1"),
        ("2a00::200:5efe:a00:1", "10.0.0.1"),
        ("2a00::1:0:5efe:a00:1", "10.0.0.1"),
        ("2a00::100:5efe:a00:1", None),
        ("2a00::5eff:a00:1", None),
        ("64:ff9b:2::a00:1", None),
        ("64:ff9b::1:0:0", None),
        ("2003:7f00:1::", None),
        ("2001:1::80ff:fffe", None),
        ("2a00:1450::1", None),
        ("::1", None),
        ("::", None),
        ("::2", "0.0.0.2"),
        ("127.0.0.1", None),
    ],
)
def test_an_ipv4_address_in_disguise_is_seen_through(address: str, inner: str | None) -> None:
    found = read(address)
    assert found is not None
    assert disguised(found) == (None if inner is None else IPv4Address(inner))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8.8.8.8", IPv4Address("8.8.8.8")),
        ("::1", IPv6Address("::1")),
        ("::FFFF:10.0.0.1", IPv4Address("10.0.0.1")),
        ("::ffff:a00:1", IPv4Address("10.0.0.1")),
        ("::10.0.0.1", IPv6Address("::a00:1")),
        ("fe80::1%eth0", None),
        ("2606:4700::1%1", None),
        ("::ffff:10.0.0.1%1", None),
        ("2130706433", None),
        ("127.1", None),
        ("0177.0.0.1", None),
        ("127.0.0.01", None),
        ("0x7f.0.0.1", None),
        ("localhost", None),
        ("example.com", None),
        ("[::1]", None),
        (" ::1", None),
        ("127.0.0.1/8", None),
        ("\uff11\uff12\uff17.0.0.1", None),
        ("", None),
    ],
)
def test_an_address_is_read_in_its_one_writing(text: str, address: Address | None) -> None:
    assert read(text) == address
