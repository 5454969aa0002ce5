"""Random spellings of places that must not be called; `spellings` has the known ones."""

from collections.abc import Callable, Iterator
from random import Random

_NETWORKS = (
    (0x7F000000, 8),
    (0x00000000, 8),
    (0x0A000000, 8),
    (0x64400000, 10),
    (0xA9FE0000, 16),
    (0xAC100000, 12),
    (0xC0000000, 24),
    (0xC0000200, 24),
    (0xC0A80000, 16),
    (0xC6120000, 15),
    (0xC6336400, 24),
    (0xCB007100, 24),
    (0xE0000000, 4),
    (0xF0000000, 4),
)
"""IPv4 networks: the first address, and the number of bits that all addresses share."""
_TRAP = 0x7F000001
_SPACES = tuple("\t\n\r \0\x0b\u00ad\u200b\ufeff\u3000")
_ZEROS = (0xFF10, 0x1D7CE, 0x1D7D8, 0x1D7EC, 0x0660, 0x06F0, 0x0966)
"""The zeros of other scripts; their other digits follow."""
_STOPS = (".", "\u3002", "\uff0e", "\uff61")
_PREFIXES = ("::ffff:", "::", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "2a00::5efe:")


def generated_urls(count: int, port: int, *, seed: int = 0) -> Iterator[str]:
    """Generate `count` URLs, many of them of this machine; a seed always gives the same ones."""
    chance = Random(seed)
    made: set[str] = set()
    while len(made) < count:
        host = chance.choice(_WRITINGS)(chance, _forbidden(chance))
        url = chance.choice(_WRAPPINGS)(chance, host, port)
        if url not in made:
            made.add(url)
            yield url


def _forbidden(chance: Random) -> int:
    if _toss(chance):
        return _TRAP
    start, length = chance.choice(_NETWORKS)
    return start | chance.getrandbits(32 - length)


def _toss(chance: Random) -> bool:
    return chance.getrandbits(1) == 1


def _dotted(address: int) -> str:
    return ".".join(str(byte) for byte in address.to_bytes(4, "big"))


def _groups(address: int) -> str:
    return f"{address >> 16:x}:{address & 0xFFFF:x}"


def _in_parts(chance: Random, address: int) -> str:
    """Write an address as libc's inet_aton reads it: one to four decimal, octal or hex parts."""
    count = chance.randint(1, 4)
    whole = address.to_bytes(4, "big")
    parts = [*whole[: count - 1], int.from_bytes(whole[count - 1 :], "big")]
    forms = ("{}", "0{:o}", "0x{:x}", "0X{:X}", "000{:o}", "0x000{:x}")
    return ".".join(chance.choice(forms).format(part) for part in parts)


def _in_other_digits(chance: Random, address: int) -> str:
    zero, stop = chance.choice(_ZEROS), chance.choice(_STOPS)
    digits = {ord(str(digit)): zero + digit for digit in range(10)}
    return _dotted(address).translate(digits).replace(".", stop)


def _in_percent(chance: Random, address: int) -> str:
    text = _dotted(address)
    place = chance.randrange(len(text))
    return f"{text[:place]}%{ord(text[place]):02x}{text[place + 1 :]}"


def _in_ipv6(chance: Random, address: int) -> str:
    tail = _dotted(address) if _toss(chance) else _groups(address)
    text = chance.choice(_PREFIXES) + tail
    return f"[{text.upper() if _toss(chance) else text}]"


def _in_a_tunnel(chance: Random, address: int) -> str:
    rest = _groups(chance.getrandbits(32))
    if _toss(chance):
        return f"[2002:{_groups(address)}::{rest}]"
    return f"[2001:0:{rest}:0:0:{_groups(address ^ 0xFFFFFFFF)}]"


_WRITINGS: tuple[Callable[[Random, int], str], ...] = (
    lambda _, address: _dotted(address),
    *[_in_parts] * 4,
    _in_other_digits,
    _in_percent,
    *[_in_ipv6] * 2,
    _in_a_tunnel,
)
_WRAPPINGS: tuple[Callable[[Random, str, int], str], ...] = (
    *[lambda _, host, port: f"http://{host}:{port}/"] * 8,
    lambda _, host, port: f"https://{host}:{port}/hooks?a=b#c",
    lambda _, host, port: f"HTTP://{host}:{port}",
    lambda _, host, port: f"http://{host}.:{port}/",
    lambda _, host, port: f"http://example.com@{host}:{port}/",
    lambda _, host, port: f"http://{host}:{port}\\@example.com/",
    lambda chance, host, port: f"http://{host}{chance.choice(_SPACES)}:{port}/",
    lambda chance, host, port: f"http://{chance.choice(_SPACES)}{host}:{port}/",
)
