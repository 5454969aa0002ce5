"""What may be called. The table of addresses is compared with one written as bits."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from random import Random
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import EgressRefused, SettingsError
from tarry.service.wire.egress import Address, Egress, disguised, read_address, rule_against
from tarry.service.wire.exchange import Target
from tests.service.wire.generated_spellings import generated_urls
from tests.service.wire.spellings import listed_urls

STRICT = Egress.of()
PORT = 8400


def refusal(url: str, egress: Egress = STRICT) -> tuple[str, str]:
    with pytest.raises(EgressRefused) as refused:
        egress.target(url)
    return refused.value.host, refused.value.rule


def test_a_public_url_becomes_a_target() -> None:
    headers = [("Authorization", "Bearer abc")]
    target = STRICT.target("HTTPS://Hooks.Example.COM.:8443/in?a=b#c", iter(headers))
    assert target == Target(
        "https", "hooks.example.com", 8443, "/in?a=b", (("Authorization", "Bearer abc"),)
    )
    assert STRICT.target("https://example.com/", owner="app_a").owner == "app_a"
    assert STRICT.target("http://93.184.216.34") == Target("http", "93.184.216.34", 80, "/")
    assert STRICT.target("http://[2606:4700::1]") == Target("http", "2606:4700::1", 80, "/")


def test_the_headers_of_a_target_are_checked() -> None:
    with pytest.raises(SettingsError, match="a header that the sender does not set itself"):
        STRICT.target("https://example.com/", [("Host", "localhost")])


@pytest.mark.parametrize("url", listed_urls(PORT), ids=ascii)
def test_no_listed_spelling_becomes_a_target(url: str) -> None:
    with pytest.raises((EgressRefused, SettingsError)):
        STRICT.target(url)


def test_no_generated_spelling_becomes_a_target() -> None:
    for url in generated_urls(10_000, PORT):
        with pytest.raises((EgressRefused, SettingsError)):
            STRICT.target(url)


@given(
    address=st.ip_addresses(),
    form=st.sampled_from(["{}", "[{}]", "{}.", "[::ffff:{}]", "0{}", "{:#x}"]),
)
def test_a_host_that_is_let_through_is_the_address_libc_goes_to(
    address: IPv4Address | IPv6Address, form: str
) -> None:
    host = form.format(address)
    try:
        target = STRICT.target(f"http://{host}/")
    except (EgressRefused, SettingsError):
        return
    found = socket.getaddrinfo(target.host, 80, flags=socket.AI_NUMERICHOST)
    places = {str(place[0]) for *_, place in found}
    assert len(places) == 1
    assert STRICT.permits(places.pop(), 80)


@pytest.mark.parametrize(
    ("port", "allowed"),
    [
        (1, False),
        (22, False),
        (79, False),
        (80, True),
        (81, False),
        (442, False),
        (443, True),
        (444, False),
        (1023, False),
        (1024, True),
        (8080, True),
        (65535, True),
    ],
)
def test_by_default_web_ports_and_unprivileged_ones_are_called(port: int, allowed: bool) -> None:  # noqa: FBT001  one column of a table
    url = f"http://example.com:{port}/"
    if allowed:
        assert STRICT.target(url).port == port
    else:
        assert refusal(url) == ("example.com", f"port {port} is not among the allowed ones")


def test_the_operator_may_set_other_ports() -> None:
    egress = Egress.of(ports="443, 8000-8002 ,25")
    for port in (443, 8000, 8001, 8002, 25):
        assert egress.target(f"https://example.com:{port}/").port == port
    for port in (80, 442, 444, 7999, 8003, 24, 26):
        assert refusal(f"https://example.com:{port}/", egress)[1].startswith(f"port {port} ")
    assert refusal("http://example.com/", egress)[1] == "port 80 is not among the allowed ones"


@pytest.mark.parametrize(
    "ports", ["", "0", "80,", "0-5", "65536", "1-65536", "90-80", "80-", "-80", "a", "80;81", "8 0"]
)
def test_ports_that_are_none_are_told(ports: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Egress.of(ports=ports)
    assert (refused.value.field, refused.value.value) == ("ports", ports.rpartition(",")[2])
    assert refused.value.wanted == "ports from 1 to 65535, such as '80, 443, 1024-65535'"


def test_all_ports_can_be_allowed() -> None:
    egress = Egress.of(ports="1-65535")
    assert egress.target("http://example.com:1/").port == 1
    assert egress.target("http://example.com:65535/").port == 65535


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "db",
        "localhost.localdomain",
        "a.localdomain6",
        "a.localhost",
        "a.b.local",
        "metadata.google.internal",
        "router.home.arpa",
        "LOCALHOST.",
    ],
)
def test_a_private_name_is_refused_unless_some_private_network_is_allowed(host: str) -> None:
    plain = host.lower().removesuffix(".")
    assert refusal(f"http://{host}/") == (plain, "a name that only private networks know")
    assert Egress.of(["10.0.0.0/8"]).target(f"http://{host}/").host == plain


@pytest.mark.parametrize("host", ["mylocal.example", "local.example", "internal.org", "a.xlocal"])
def test_a_name_that_only_looks_private_is_fine(host: str) -> None:
    assert STRICT.target(f"http://{host}/").host == host


def test_an_address_in_a_url_is_refused_with_its_rule() -> None:
    assert refusal("http://10.0.0.1/") == ("10.0.0.1", "it is in a private network")
    assert refusal("http://[::1]/") == ("::1", "it is the loopback of this machine")


def test_an_address_is_permitted_or_refused_with_its_rule() -> None:
    assert STRICT.permits("93.184.216.34", 80)
    STRICT.check("93.184.216.34", 80)
    for address, rule in {
        "127.0.0.1": "it is the loopback of this machine",
        "::ffff:127.0.0.1": "it is the loopback of this machine",
        "fe80::1%eth0": "it is not an address, or it has a scope",
        "2606:4700::1%1": "it is not an address, or it has a scope",
        "localhost": "it is not an address, or it has a scope",
        "2130706433": "it is not an address, or it has a scope",
        "": "it is not an address, or it has a scope",
    }.items():
        assert not STRICT.permits(address, 80)
        with pytest.raises(EgressRefused) as refused:
            STRICT.check(address, 80)
        assert (refused.value.host, refused.value.rule) == (address, rule)


def test_an_allowed_network_is_open_and_its_neighbours_are_not() -> None:
    egress = Egress.of(["127.0.0.0/8", "10.1.0.0/16", "fd00:1::/32", "192.168.7.7"])
    for address in ("127.0.0.1", "127.255.255.255", "10.1.0.0", "10.1.255.255", "fd00:1::5"):
        assert egress.permits(address, 80)
    assert egress.permits("192.168.7.7", 80)
    assert egress.permits("::ffff:127.0.0.1", 80)
    assert egress.permits("::ffff:10.1.2.3", 80)
    for address in ("128.0.0.1", "8.8.8.8", "2606:4700::1"):
        assert egress.permits(address, 80), "the public internet stays open"
    for address in ("126.255.255.255", "10.0.255.255", "10.2.0.0", "fd00:2::1", "192.168.7.8"):
        assert egress.permits(address, 80) == (address == "126.255.255.255")
    for address in ("::1", "::ffff:10.2.0.1", "::127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1"):
        assert not egress.permits(address, 80)
    assert egress.target("http://127.0.0.1:8000/x").host == "127.0.0.1"
    assert egress.target("http://localhost:8000/x").host == "localhost"


def test_an_allowed_network_does_not_allow_odd_spellings() -> None:
    egress = Egress.of(["127.0.0.0/8"])
    for host in ("2130706433", "0x7f.1", "127.1", "0177.0.0.1"):
        assert refusal(f"http://{host}/", egress)[0] == host


def test_an_allowed_ipv6_network_opens_no_ipv4_network_behind_it() -> None:
    egress = Egress.of(["64:ff9b::/96", "2002::/16", "::/96", "2001::/32", "2a00::/16"])
    public = ("64:ff9b::8.8.8.8", "2002:808:808::1", "::8.8.8.8", "2a00::5efe:8.8.8.8")
    for address in (*public, "2001::f7f7:f7f7"):
        assert egress.permits(address, 80)
    private = ("64:ff9b::10.0.0.1", "2002:a00:1::1", "::10.0.0.1", "2a00::5efe:10.0.0.1")
    for address in (*private, "2001::f5ff:fffe", "::2"):
        assert not egress.permits(address, 80)
    both = Egress.of(["64:ff9b::/96", "10.0.0.0/8"])
    assert both.permits("64:ff9b::10.0.0.1", 80)
    assert not both.permits("64:ff9b::127.0.0.1", 80)
    assert not Egress.of(["10.0.0.0/8"]).permits("64:ff9b::10.0.0.1", 80)


def test_allowing_all_of_ipv6_allows_no_ipv4_loopback() -> None:
    egress = Egress.of(["::/0"])
    assert egress.permits("fd00::1", 80)
    assert egress.permits("fe80::1", 80)
    assert egress.permits("::1", 80), "that one is IPv6"
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1"):
        assert not egress.permits(address, 80)


def test_all_of_ipv4_can_be_allowed() -> None:
    egress = Egress.of(["0.0.0.0/0"])
    assert egress.permits("127.0.0.1", 80)
    assert egress.permits("::ffff:169.254.169.254", 80)
    assert not egress.permits("::1", 80)


@pytest.mark.parametrize("network", ["", "lan", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/8/8"])
def test_a_network_that_is_none_is_told(network: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Egress.of([network])
    assert (refused.value.field, refused.value.value) == ("allow_network", network)
    assert refused.value.wanted.startswith("a network such as 10.0.0.0/8 or fd00::/8 (")
    assert refused.value.__suppress_context__


def test_an_ipv4_network_is_written_as_one() -> None:
    for network in ("::ffff:127.0.0.0/104", "::ffff:0:0/96", "::ffff:10.0.0.1", "fe80::1%1"):
        with pytest.raises(SettingsError) as refused:
            Egress.of([network])
        assert (refused.value.field, refused.value.value) == ("allow_network", network)
        wanted = "written without a scope, and as an IPv4 network if it is one"
        assert refused.value.wanted == wanted
    assert len(Egress.of(["::/95", " 10.0.0.0/8 "]).networks) == 2


def test_the_service_does_not_call_itself() -> None:
    egress = Egress.of(
        ["127.0.0.0/8", "::1"],
        own=["hooks.example.com:443", "127.0.0.1:8400", "[::1]:8400", "[::ffff:127.0.0.9]:8400"],
    )
    itself = "it is this service itself"
    assert refusal("https://Hooks.example.com/x", egress) == ("hooks.example.com", itself)
    assert refusal("http://hooks.example.com:443/x", egress) == ("hooks.example.com", itself)
    assert egress.target("http://hooks.example.com/x").port == 80
    assert egress.target("https://www.hooks.example.com/x").port == 443
    assert refusal("http://127.0.0.1:8400/", egress) == ("127.0.0.1", itself)
    assert egress.target("http://127.0.0.1:8401/").port == 8401
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "::1", "0:0::1", "127.0.0.9"):
        assert not egress.permits(address, 8400)
        assert egress.permits(address, 8401)
    assert egress.permits("127.0.0.2", 8400)


@pytest.mark.parametrize(
    "own",
    ["example.com", "example.com/:80", "a/b:80", "a?b:80", "a#b:80", "example.com:443/", "[::1]"],
)
def test_an_own_place_has_a_host_and_a_port(own: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Egress.of(own=[own])
    assert (refused.value.field, refused.value.value) == ("own", own)
    assert refused.value.wanted == "a host and a port, such as hooks.example.com:443"


def test_an_own_place_on_port_80_says_so() -> None:
    egress = Egress.of(own=["example.com:80"])
    assert refusal("http://example.com", egress)[1] == "it is this service itself"
    assert urlsplit("http://example.com").port is None


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("https://example.com:25/", "--ports"),
        ("https://10.0.0.1/", "--allow-network"),
        ("https://hooks.internal/", "--allow-network"),
        ("https://hooks.example.com/", ""),
        ("https://9.9.9.9/", ""),
        ("ftp://example.com/", ""),
        ("https://me@example.com/", ""),
        ("https://0x7f.1/", ""),
    ],
)
def test_who_is_refused_is_told_of_an_option_only_where_one_helps(url: str, option: str) -> None:
    egress = Egress.of(own=["hooks.example.com:443", "9.9.9.9:443"])
    with pytest.raises(EgressRefused) as caught:
        egress.target(url)
    assert caught.value.option == option


def test_an_egress_is_a_value() -> None:
    assert Egress.of(["10.0.0.0/8"], own=["a.b:80"]) == Egress.of(["10.0.0.0/8"], own=["a.b:80"])
    assert hash(STRICT) == hash(Egress.of())
    assert Egress.of(["10.0.0.0/8"]) != STRICT
    with pytest.raises(AttributeError):
        setattr(STRICT, "ports", ())  # noqa: B010  type checkers know it is frozen


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
    address = read_address(text)
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
    chance = Random(11)
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
        ("3ffe::1", "it is not assigned"),
        ("3fff::1", "it is reserved for documentation"),
        ("100::1", "it is not assigned"),
        ("5f00::1", "it is not assigned"),
        ("fd00:ec2::254", "it is in a private network"),
        ("fe80::1", "it is link-local"),
        ("fec0::1", "it is in a private network"),
        ("ff02::1", "it is multicast"),
    ],
)
def test_a_forbidden_address_is_told_why(address: str, rule: str) -> None:
    found = read_address(address)
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
    found = read_address(address)
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
    assert read_address(text) == address
