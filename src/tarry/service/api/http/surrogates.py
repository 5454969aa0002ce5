r"""Lone surrogates: the escape `\ud83d` alone is valid JSON, and JavaScript writes it for cut text.

msgspec refuses them. So it gets the text with other escapes of the same length in their place.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import msgspec
from msgspec import Struct

MOST_BYTES = 2 * 1024 * 1024
"""The longest text that is searched for lone surrogates. No single message is longer."""
_PAIR = rb"\\u[dD][89abAB]..\\u[dD][c-fC-F].."
_TO_HALF = re.compile(
    rb"(?:[^\\]+|\\[^u]|\\u(?![dD][89a-fA-F])....|%b)*+"
    rb"(?P<escape>\\u[dD][89a-fA-F][0-9a-fA-F]{2})" % _PAIR,
    re.DOTALL,
)
"""Matches a text up to its first lone surrogate. Without callbacks, since a text may have a hundred
thousand other escapes."""
_TO_PRIVATE = re.compile(
    rb"(?:[^\\]+|\\[^u]|\\u(?![eEfF])....)*+(?P<escape>\\u[eEfF][0-9a-fA-F]{3})", re.DOTALL
)
"""Matches a text up to its first escape that may be a private character."""
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

        return _replace(_TO_PRIVATE, part, restore), count


def stand_ins(text: bytes) -> StandIns | None:
    """Replace the lone surrogates of a text; None if it has none, or if it is too long.

    If there are not enough stand-ins, some surrogates stay, and msgspec refuses the text.
    """
    if len(text) > MOST_BYTES or not _TO_HALF.match(text):
        return None
    halves: dict[bytes, bytes] = {}
    free = _free(text)

    def stand_in(half: bytes) -> bytes | None:
        new = next(free, None)
        if new is not None:
            halves[new] = half
        return new

    return StandIns(_replace(_TO_HALF, text, stand_in), halves)


def decode(text: bytes, kind: Any) -> Any:  # noqa: ANN401  a value of type `kind`
    """Decode JSON, with the replacement character U+FFFD for each lone surrogate."""
    try:
        return _decoder(kind).decode(text)
    except msgspec.DecodeError:
        return _decoder(kind).decode(_replace(_TO_HALF, text, lambda _half: _UNKNOWN))


def _to_float(digits: str) -> float:
    """Return a number. msgspec's own way takes ten times as long if it has many digits."""
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:20]}... is out of range")
    return value


_decoder = lru_cache(partial(msgspec.json.Decoder, float_hook=_to_float))


def _replace(
    to_escape: re.Pattern[bytes], text: bytes, new: Callable[[bytes], bytes | None]
) -> bytes:
    """Replace each escape that the pattern leads to, up to the first one with no replacement."""
    parts, end = [], 0
    while match := to_escape.match(text, end):
        replacement = new(match["escape"])
        if replacement is None:
            break
        parts += [text[end : match.start("escape")], replacement]
        end = match.end()
    return b"".join(parts) + text[end:]


def _free(text: bytes) -> Iterator[bytes]:
    """Return escapes of private characters that do not occur in a text."""
    taken = {escape.lower() for escape in re.findall(rb"\\u[eEfF][0-9a-fA-F]{3}", text)}
    return (escape for escape in (b"\\u%04x" % code for code in _FREE) if escape not in taken)
