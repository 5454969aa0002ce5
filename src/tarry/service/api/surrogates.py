r"""Halves of surrogate pairs: `\ud83d` alone is JSON, and JavaScript writes it of a text cut short.

What reads JSON here refuses them, so it gets other escapes of the same length to read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

MOST_BYTES = 2 * 1024 * 1024
"""Of a text that is looked through for stand-ins: more is no single message."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|u....|.)",
    re.DOTALL,
)
_UNKNOWN = rb"\ufffd"
_FREE = range(0xE000, 0xF900)
"""Characters that mean nothing to anybody but those who agreed on it."""


class StandIns(Struct, frozen=True):
    """A text with a stand-in for each half, and which half each of them stands for."""

    text: bytes
    halves: Mapping[bytes, bytes]

    def back(self, part: bytes) -> tuple[bytes, int]:
        """A part of the text as it was, and how many halves there were in it."""
        count = 0

        def half(found: re.Match[bytes]) -> bytes:
            nonlocal count
            known = self.halves.get(found[0])
            count += known is not None
            return found[0] if known is None else known

        return _ESCAPE.sub(half, part), count


def stand_ins(text: bytes) -> StandIns | None:
    """The text without its halves; None if there are none, or if it is too long to look through.

    Of very many some stay: then it cannot be read, as without this.
    """
    if len(text) > MOST_BYTES:
        return None
    halves: dict[bytes, bytes] = {}
    free = _free(text)

    def stand_in(found: re.Match[bytes]) -> bytes:
        if found["half"] is None:
            return found[0]
        new = next(free, None)
        if new is None:
            return found[0]
        halves[new] = found[0]
        return new

    made = _ESCAPE.sub(stand_in, text)
    return StandIns(made, halves) if halves else None


def decode(text: bytes, kind: Any) -> Any:  # noqa: ANN401  of the type that is wanted
    """What a text says in JSON, with the character for what is unknown in the place of a half."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        whole = _ESCAPE.sub(lambda found: _UNKNOWN if found["half"] else found[0], text)
        return msgspec.json.decode(whole, type=kind)


def _free(text: bytes) -> Iterator[bytes]:
    """Escapes that are nowhere in a text."""
    taken = {found[0].lower() for found in re.finditer(rb"\\u[eEfF][0-9a-fA-F]{3}", text)}
    return (one for one in (b"\\u%04x" % code for code in _FREE) if one not in taken)
