"""A policy as TOML or JSON text and back.

Separate from `codec`, so that programs with policies in Python load neither parser.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import overload

from tarry.core.codec import SomePolicy, from_dict, to_dict
from tarry.core.policy import Policy
from tarry.errors import PolicyFormatError

_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)


def to_toml(policy: Policy) -> str:
    """Write a policy as TOML, defaults included."""
    document = to_dict(policy)
    lines = [_toml_line(*item) for item in document.items() if not isinstance(item[1], dict)]
    for name, table in document.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *(_toml_line(key, table[key]) for key in table)]
    return "\n".join(lines) + "\n"


@overload
def from_toml(text: str) -> Policy: ...
@overload
def from_toml(text: str, cls: type[SomePolicy]) -> SomePolicy: ...
def from_toml(text: str, cls: type[Policy] = Policy) -> Policy:
    """Read a policy from TOML.

    >>> from_toml("attempts = 3").attempts
    3
    """
    return from_dict(parse_toml(text), cls)


def to_json(policy: Policy) -> str:
    """Write a policy as JSON, defaults included."""
    return json.dumps(to_dict(policy), indent=2, ensure_ascii=False) + "\n"


@overload
def from_json(text: str) -> Policy: ...
@overload
def from_json(text: str, cls: type[SomePolicy]) -> SomePolicy: ...
def from_json(text: str, cls: type[Policy] = Policy) -> Policy:
    """Read a policy from JSON.

    >>> from_json('{"attempts": 3}').attempts
    3
    """
    return from_dict(parse_json(text), cls)


def parse_toml(text: str) -> dict[str, object]:
    """Read TOML into plain values, or say in which line it breaks."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _TOML_PLACE.fullmatch(str(error))
        if match is None:
            raise _format_error(text, f"valid TOML: {error}") from None
        what, line, column = match.groups()
        raise _format_error(text, f"valid TOML: {what}", int(line), int(column)) from None
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond all bounds
        raise _format_error(text, f"valid TOML: {error}") from None


def parse_json(text: str) -> dict[str, object]:
    """Read JSON into plain values, or say in which line it breaks.

    What it holds need not be an object: `from_dict` sees to that.
    """
    try:
        parsed: dict[str, object] = json.loads(text, object_pairs_hook=_once_each)
    except PolicyFormatError:
        raise
    except json.JSONDecodeError as error:
        raise _format_error(text, f"valid JSON: {error.msg}", error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond all bounds
        raise _format_error(text, f"valid JSON: {error}") from None
    return parsed


PARSERS: Mapping[str, Callable[[str], dict[str, object]]] = {
    ".toml": parse_toml,
    ".json": parse_json,
}
"""Which suffix of a file means which language."""


def _toml_line(key: str, value: object) -> str:
    # JSON's form of a string, a number, a flag or a list is TOML too, except for one character.
    return f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make a table of its pairs; JSON would let the last of two equal keys win."""
    table: dict[str, object] = {}
    for key, value in pairs:
        if key in table:
            raise PolicyFormatError(key, value, f"given once; it was {table[key]!r} before")
        table[key] = value
    return table


def _format_error(text: str, wanted: str, line: int = 0, column: int = 0) -> PolicyFormatError:
    """Name the line that breaks, or the whole text where that is not known."""
    if not line:
        return PolicyFormatError("document", _shortened(text), wanted)
    broken = text.split("\n")[line - 1].rstrip("\r")
    return PolicyFormatError(f"line {line}", _shortened(broken), f"{wanted} (column {column})")


def _shortened(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
