r"""Lone surrogates: the escape `\ud83d` alone is valid JSON, and JavaScript writes it for cut text.

msgspec refuses them. So it gets the text with other escapes of the same length in their place.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

MOST_BYTES = 2 * 1024 * 1024
"""The longest text that is searched for lone surrogates. No single message is longer."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|u....|.)",
    re.DOTALL,
)
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

        def restore(escape: re.Match[bytes]) -> bytes:
            nonlocal count
            original = self.halves.get(escape[0])
            count += original is not None
            return escape[0] if original is None else original

        return _ESCAPE.sub(restore, part), count


def stand_ins(text: bytes) -> StandIns | None:
    """Replace the lone surrogates of a text; None if it has none, or if it is too long.

    If there are not enough stand-ins, some surrogates stay, and msgspec refuses the text.
    """
    if len(text) > MOST_BYTES:
        return None
    halves: dict[bytes, bytes] = {}
    free = _free(text)

    def stand_in(escape: re.Match[bytes]) -> bytes:
        if escape["half"] is None:
            return escape[0]
        new = next(free, None)
        if new is None:
            return escape[0]
        halves[new] = escape[0]
        return new

    replaced = _ESCAPE.sub(stand_in, text)
    return StandIns(replaced, halves) if halves else None


def decode(text: bytes, kind: Any) -> Any:  # noqa: ANN401  a value of type `kind`
    """Decode JSON, with the replacement character U+FFFD for each lone surrogate."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        whole = _ESCAPE.sub(lambda escape: _UNKNOWN if escape["half"] else escape[0], text)
        return msgspec.json.decode(whole, type=kind)


def _free(text: bytes) -> Iterator[bytes]:
    """Return escapes of private characters that do not occur in a text."""
    taken = {escape[0].lower() for escape in re.finditer(rb"\\u[eEfF][0-9a-fA-F]{3}", text)}
    return (escape for escape in (b"\\u%04x" % code for code in _FREE) if escape not in taken)
