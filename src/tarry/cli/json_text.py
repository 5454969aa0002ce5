"""JSON as a server wrote it: what Python cannot hold as a number is kept as its text."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

LONGEST = 4000
"""Digits that Python makes a number of, without being told otherwise."""


def read(text: str | bytes) -> Any:  # noqa: ANN401  JSON
    """Read JSON; a number that is too long, or too large for a float, is its text."""
    return json.loads(text, parse_int=_whole, parse_float=_float)


def with_text(text: str, field: str) -> Any:  # noqa: ANN401  JSON
    """Read a thing; a field of it stays as it is written, but on one line."""
    found = read(text)
    for name, at in _members(text):
        if name == field:
            found[name] = _on_one_line(text[at : _decoder.raw_decode(text, at)[1]])
    return found


def elements(text: str, field: str) -> Iterator[str]:
    """The elements of a list in an object, each as it is written, but on one line."""
    for name, at in _members(text):
        if name == field:
            for begin, end in _items(text, at):
                yield _on_one_line(text[begin:end])


def _on_one_line(written: str) -> str:
    """No string has line breaks in it: they stand between things."""
    return written.replace("\r", " ").replace("\n", " ")


_white = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder(parse_int=str, parse_float=str)


def _members(text: str) -> Iterator[tuple[str, int]]:
    """The names in an object, and where their values begin."""
    at = _past(text, _past(text, 0) + 1)
    while text[at] != "}":
        name, at = _decoder.raw_decode(text, at)
        at = _past(text, _past(text, at) + 1)
        yield name, at
        at = _past(text, _decoder.raw_decode(text, at)[1])
        at = _past(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the elements of a list begin and end."""
    at = _past(text, at + 1)
    while text[at] != "]":
        _, end = _decoder.raw_decode(text, at)
        yield at, end
        at = _past(text, end)
        at = _past(text, at + 1) if text[at] == "," else at


def _past(text: str, at: int) -> int:
    """Where white space ends."""
    found = _white.match(text, at)
    return found.end() if found else at


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST else digits


def _float(digits: str) -> float | str:
    return digits if math.isinf(number := float(digits)) else number
