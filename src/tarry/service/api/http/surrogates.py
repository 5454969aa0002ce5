r"""Lone surrogates: the escape `\ud83d` alone is valid JSON, and JavaScript writes it for cut text.

msgspec refuses them. So it gets the text with other escapes of the same length in their place.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import islice

import msgspec
from msgspec import Struct

MOST_BYTES = 2 * 1024 * 1024
"""The longest text that is searched for lone surrogates. No single message is longer."""
_LONE_SURROGATE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F][0-9a-fA-F]{2})",
    re.DOTALL,
)
"""An upper half without a lower one after it, or a lower half without an upper one before it."""
_PRIVATE = re.compile(rb"\\u[eEfF][0-9a-fA-F]{3}")
"""An escape that may be a private character."""
_UNKNOWN = rb"\ufffd"
_FREE = range(0xE000, 0xF900)
"""Unicode's private use area: characters without a standard meaning."""


class StandIns(Struct, frozen=True):
    """A text with a stand-in for each lone surrogate, and the surrogates by their stand-ins."""

    text: bytes
    halves: Mapping[bytes, bytes]

    def back(self, part: bytes) -> tuple[bytes, int]:
        """Return the original form of a part of the text, and its number of lone surrogates."""
        count = 0

        def restore(escape: bytes) -> bytes:
            nonlocal count
            original = self.halves.get(escape)
            count += original is not None
            return escape if original is None else original

        return _replace_escapes(_PRIVATE, part, restore), count


def stand_ins(text: bytes) -> StandIns | None:
    """Replace the lone surrogates of a text; None if it has none, or if it is too long.

    If there are not enough stand-ins, some surrogates stay, and msgspec refuses the text.
    """
    if len(text) > MOST_BYTES or not _LONE_SURROGATE.search(_without_backslashes(text)):
        return None
    halves: dict[bytes, bytes] = {}
    free = _free(text)

    def stand_in(half: bytes) -> bytes:
        new = next(free, None)
        if new is None:
            return half
        halves[new] = half
        return new

    return StandIns(_replace_escapes(_LONE_SURROGATE, text, stand_in, len(_FREE)), halves)


def decode(text: bytes, kind: object) -> object:
    """Decode JSON, with the replacement character U+FFFD for each lone surrogate.

    A text with more of them than there are stand-ins is refused, since that would take too long.
    """
    try:
        return _decoder(kind).decode(text)
    except msgspec.DecodeError:
        read = _replace_escapes(_LONE_SURROGATE, text, lambda _half: _UNKNOWN, len(_FREE))
        return _decoder(kind).decode(read)


def _to_float(digits: str) -> float:
    """Return a number. msgspec's own way takes ten times as long if it has many digits."""
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:20]}... is out of range")
    return value


_decoder = lru_cache(partial(msgspec.json.Decoder, float_hook=_to_float))


def _replace_escapes(
    escape: re.Pattern[bytes], text: bytes, new: Callable[[bytes], bytes], most: int | None = None
) -> bytes:
    """Replace each such escape of a text, or the first ones."""
    parts, end = [], 0
    for match in islice(escape.finditer(_without_backslashes(text)), most):
        parts += [text[end : match.start()], new(match[0])]
        end = match.end()
    return b"".join(parts) + text[end:]


def _without_backslashes(text: bytes) -> bytes:
    r"""Return a text of the same length without the escape `\\`: each `\` then begins an escape."""
    return text.replace(rb"\\", b"--")


def _free(text: bytes) -> Iterator[bytes]:
    """Return escapes of private characters that do not occur in a text."""
    taken = {escape.lower() for escape in _PRIVATE.findall(text)}
    return (escape for escape in (b"\\u%04x" % code for code in _FREE) if escape not in taken)
