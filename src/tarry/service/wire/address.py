"""Addresses that must not be called: a table of networks, each with the reason.

The standard library's `is_global` is not used: its results change between patch releases, and it
allows multicast, NAT64 and other ways to reach private addresses. In IPv6, only networks assigned
as global unicast are allowed here.
"""

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

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
        ("3ffe::/16", "given to nobody"),
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


def read(text: str) -> Address | None:
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
        return "it is given to nobody"
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
