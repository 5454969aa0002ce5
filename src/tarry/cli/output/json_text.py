"""JSON that keeps as text the numbers that Python cannot hold."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

MOST_INTEGER_DIGITS = 4000
"""How many digits Python converts to a number by default."""


def read(text: str | bytes) -> Any:  # noqa: ANN401  any JSON value
    """Read JSON; keep a number that is too long, or too large for a float, as its text."""
    return json.loads(text, parse_int=_integer_or_text, parse_float=_float)


def with_text(text: str, field: str) -> Any:  # noqa: ANN401  any JSON value
    """Read an object, but keep the value of `field` as its source text, on one line."""
    value = read(text)
    for name, at in _members(text):
        if name == field:
            value[name] = _on_one_line(text[at : _decoder.raw_decode(text, at)[1]])
    return value


def elements(text: str, field: str) -> Iterator[str]:
    """Yield the elements of the list in `field` as their source text, each on one line."""
    for name, at in _members(text):
        if name == field:
            for begin, end in _items(text, at):
                yield _on_one_line(text[begin:end])


def _on_one_line(written: str) -> str:
    """Replace line breaks. In JSON they occur only between tokens, never inside a string."""
    return written.replace("\r", " ").replace("\n", " ")


_white = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder(parse_int=str, parse_float=str)


def _members(text: str) -> Iterator[tuple[str, int]]:
    """Yield each name in an object, and the position where its value begins."""
    at = _skip_space(text, _skip_space(text, 0) + 1)
    while text[at] != "}":
        name, at = _decoder.raw_decode(text, at)
        at = _skip_space(text, _skip_space(text, at) + 1)
        yield name, at
        at = _skip_space(text, _decoder.raw_decode(text, at)[1])
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the positions where each element of a list begins and ends."""
    at = _skip_space(text, at + 1)
    while text[at] != "]":
        _, end = _decoder.raw_decode(text, at)
        yield at, end
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _skip_space(text: str, at: int) -> int:
    """Return the position after the white space at `at`."""
    match = _white.match(text, at)
    return match.end() if match else at


def _integer_or_text(digits: str) -> int | str:
    """Return the number; its digits as text if Python refuses to convert that many."""
    return int(digits) if len(digits) <= MOST_INTEGER_DIGITS else digits


def _float(digits: str) -> float | str:
    """Return the number; its digits as text if it is too large for a float."""
    return digits if math.isinf(number := float(digits)) else number
