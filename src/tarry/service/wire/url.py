"""Reads URLs strictly, so that no other program can read them in another way.

URLs that other programs have to guess at are refused: those with unusual forms of an IPv4 address,
look-alike letters, backslashes, spaces or user names. An accepted URL is ASCII and has one meaning.
"""

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from sys import intern
from urllib.parse import quote

from msgspec import Struct

from tarry.errors import EgressRefused, SettingsError

PORTS = {"http": 80, "https": 443}
"""The schemes that may be called, and their default ports."""
LONGEST = 2048
"""The most characters of a URL, also after letters beyond ASCII are written as %xx."""
MOST_READ = 1000
"""How many URLs are cached in parsed form: those of endpoints in use are read repeatedly."""

_LAST_PORT = 65_535
_LONGEST_NAME = 253
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)(?:#.*)?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PLAIN = frozenset("0123456789-")
_KEPT = "!$%&'()*+,/:;=?@[]"
"""The characters that a path keeps, besides letters, digits and -._~; others are sent as %xx."""


class Location(Struct, frozen=True):
    """A parsed URL. `host` is a name in lower case or an address, never in brackets."""

    scheme: str
    host: str
    port: int
    path: str


@lru_cache(MOST_READ)
def read_url(url: str) -> Location:
    """Return the parts of a URL.

    It raises SettingsError for a text that is not a URL, and EgressRefused for a URL that must not
    be called.
    """
    if not 0 < len(url) <= LONGEST:
        raise _unreadable(url, f"1 to {LONGEST} characters long")
    if "\\" in url or any(unicodedata.category(letter)[0] in "CZ" for letter in url):
        raise _unreadable(url, "without spaces, control characters and backslashes")
    match = _URL.fullmatch(url)
    if not match:
        raise _unreadable(url, "a URL such as https://example.com/hooks")
    scheme, authority, rest = match.groups()
    scheme = intern(scheme.lower())  # one copy for all endpoints
    default = PORTS.get(scheme)
    if default is None:
        raise EgressRefused(f"{scheme}://", "only http and https are called")
    if "@" in authority:
        rule = "a URL with a user name or a password in it"
        raise EgressRefused(authority.rpartition("@")[2], rule)
    host, port = _host_and_port(authority, url, default)
    return Location(scheme, host, port, _path(rest, url))


def origin_of(url: str) -> str:
    """Return the origin of a URL: scheme, host and port."""
    place = read_url(url)
    return f"{place.scheme}://{place.host}:{place.port}"


def read_host(host: str) -> str:
    """Return a host as a name in lower-case ASCII without a final dot, or as an IPv4 address."""
    name = _ascii(host).lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        wanted = "a name of labels with letters, digits, - and _, each of 1 to 63 characters"
        raise SettingsError("host", _shortened(host), wanted)
    if _NUMBER.fullmatch(labels[-1]):
        # inet_aton reads 0x7f.1 and 2130706433 as loopback. So a name that ends in a number must
        # be an address, in its one normal form.
        try:
            IPv4Address(name)
        except ValueError:
            rule = "an IPv4 address is written as four decimal numbers, and no name ends in one"
            raise EgressRefused(host, rule) from None
    return name


def _host_and_port(place: str, url: str, default: int) -> tuple[str, int]:
    if place.startswith("["):
        inner, closed, after = place[1:].partition("]")
        if not closed or (after and not after.startswith(":")):
            raise _unreadable(url, "with an IPv6 address in one pair of brackets")
        host, colon, port = _ipv6(inner), after[:1], after[1:]
    else:
        name, colon, port = place.partition(":")
        if not name:
            raise _unreadable(url, "a URL with a host")
        host = read_host(name)
    if not colon:
        return host, default
    if not _PORT.fullmatch(port) or int(port) > _LAST_PORT:
        raise _unreadable(url, f"with a port from 1 to {_LAST_PORT}, or none")
    return host, int(port)


def _ipv6(text: str) -> str:
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
        raise EgressRefused(host, "letters that stand for others, as circled or wide ones do")
    return ".".join(label if label.isascii() else _punycode(label) for label in host.split("."))


def _punycode(label: str) -> str:
    if not all(unicodedata.category(letter)[0] in "LM" or letter in _PLAIN for letter in label):
        raise SettingsError("host", _shortened(label), "a name of letters, the digits 0 to 9 and -")
    return "xn--" + label.lower().encode("punycode").decode("ascii")


def _path(rest: str, url: str) -> str:
    path = quote(rest if rest.startswith("/") else f"/{rest}", safe=_KEPT)
    if len(path) > LONGEST:
        raise _unreadable(url, f"at most {LONGEST} characters long when letters are sent as %xx")
    return path


def _unreadable(url: str, wanted: str) -> SettingsError:
    return SettingsError("url", _shortened(url), wanted)


def _shortened(text: str) -> str:
    most = 100
    return text if len(text) <= most else f"{text[:most]}..."
