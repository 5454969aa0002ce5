"""Parse a query string or a body into a value of its type, or raise `Invalid`."""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, Union, get_args, get_type_hints
from urllib.parse import parse_qsl

import msgspec

from tarry.service.api.http.choices import choices
from tarry.service.api.http.problem import Invalid

NO_JSON = "json_error"
"""The error type of a body that is not JSON."""
WRONG_ITERATOR = "it must be the iterator or prevIterator of another page of this list"
MOST_FIELDS = 100
"""The most fields in one query string."""

_ERROR_PATH = re.compile(r"^(?P<detail>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<field>.*)`$")
_BAD_SPELLING = re.compile(
    r"^Expected `str` matching regex '\^(?:\(\?!(?P<never>\w+)\))?(?P<sign>-\?)?"
    r"\[a-zA-Z0-9(?P<marks>[^\]]+)\]\+"
)
"""Matches msgspec's error about a string that has to be spelled like a name."""
_HAS_NUL = re.compile(r"^Expected `str` matching regex '\^\[\^\\\\x00\]")
"""Matches msgspec's error about a string that must not contain NUL."""
_INDEX = re.compile(r"\[\d*\]\Z")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_TIME = re.compile(
    r"(?P<minute>\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d)(?P<second>:[\d.]++)?(?P<plus> )?(?P<zone>\S*+)"
)
"""Nothing that was matched is tried again in another way, which would take seconds."""
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def read_body(body: bytes, kind: Any) -> Any:  # noqa: ANN401  a value of type `kind`
    """Return the body of a request as a value of its type; None if it is empty and optional."""
    if not body and may_be_left_out(kind):
        return None
    if not body:
        raise Invalid(["body"], "it is empty; it must be JSON", NO_JSON)
    try:
        if not body.isascii():
            body.decode()  # msgspec checks only the text of the fields it decodes
        return _decoder(when_given(kind)).decode(body)
    except RecursionError:
        raise Invalid(["body"], "it is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise _invalid("body", error, when_given(kind)) from error
    except ValueError as error:  # not JSON, or not UTF-8
        raise Invalid(["body"], str(error), NO_JSON) from error


def may_be_left_out(kind: object) -> bool:
    """Return whether a body of this type is optional."""
    return type(None) in get_args(kind)


def when_given(kind: Any) -> Any:  # noqa: ANN401  a type
    """Return the type of a body that is present: without None."""
    if not may_be_left_out(kind):
        return kind
    return Union[tuple(part for part in get_args(kind) if part is not type(None))]  # noqa: UP007  built from a list


def read_query(query: bytes, kind: Any) -> Any:  # noqa: ANN401  a value of type `kind`
    """Return the query string of a request as a value of its type; ignore unknown fields.

    A list is either one field with commas, or several fields called `a`, `a[]` or `a[0]`.
    """
    fields = _fields(query, kind) if query else {}
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise _invalid("query", error, kind) from error


def _fields(query: bytes, kind: type) -> dict[str, object]:
    """Return the fields of a query as values for msgspec: lists, numbers, booleans and texts."""
    try:
        text = query.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise Invalid(["query"], str(error)) from error
    lists, kinds, values = _list_fields(kind), _kinds(kind), dict[str, Any]()
    for name, value in pairs:
        plain = _INDEX.sub("", name)
        if plain in lists:
            parts = (_plain(part, kinds[plain]) for part in value.split(",") if part)
            values.setdefault(plain, []).extend(parts)
        else:
            values[name] = _plain(value, kinds.get(name, frozenset()))
    return values


@lru_cache(maxsize=256)
def _decoder(kind: object) -> msgspec.json.Decoder[object]:
    """Return a decoder of JSON into a type."""
    return msgspec.json.Decoder(kind)


@lru_cache(maxsize=256)
def _list_fields(kind: type) -> frozenset[str]:
    """Return the names of the fields of a type that are lists."""

    def is_list(hint: object) -> bool:
        parts = get_args(hint)
        return getattr(hint, "__origin__", None) is list or any(map(is_list, parts))

    hints = get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    return frozenset(field.encode_name for field in fields if is_list(hints[field.name]))


@lru_cache(maxsize=256)
def _kinds(kind: type) -> dict[str, frozenset[type]]:
    """Return which fields of a query may hold integers, booleans or times besides strings."""
    hints = get_type_hints(kind)
    return {
        field.encode_name: frozenset(_types_inside(hints[field.name]))
        for field in msgspec.structs.fields(kind)
    }


def _types_inside(hint: object) -> Iterator[type]:
    """Yield the types within a type hint that a query has to be converted to."""
    kind = hint if isinstance(hint, type) else type(hint)
    if issubclass(kind, int):
        yield bool if kind is bool else int
    if issubclass(kind, datetime):
        yield datetime
    for part in get_args(hint):
        yield from _types_inside(part)


def _plain(text: str, kinds: frozenset[type]) -> object:
    """Return a query's value as one of the given types; msgspec's lax mode would accept `null`."""
    if bool in kinds and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if int in kinds and _INTEGER.fullmatch(text):
        return int(text)
    return _time(text) if datetime in kinds else text


def _time(text: str) -> str:
    """Complete a time with its seconds and its plus sign.

    Java leaves the seconds out of 12:00:00. An unquoted plus sign in a query arrives as a space.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return text
    second, plus = match["second"] or ":00", "+" if match["plus"] else ""
    return f"{match['minute']}{second}{plus}{match['zone']}"


def _invalid(where: str, error: msgspec.ValidationError, kind: object) -> Invalid:
    """Turn msgspec's error into Invalid: find the field, and say what is allowed."""
    match = _ERROR_PATH.match(str(error))
    detail, steps = (match["detail"], match["path"] or "") if match else (str(error), "")
    path = [where, *(name or number for name, number in _STEP.findall(steps))]
    if missing := _MISSING.match(detail):
        return Invalid([*path, missing["field"]], "it is missing", "value_error.missing")
    if detail.startswith("Invalid enum value") and (allowed := choices(kind, path[1:])):
        detail += f"; allowed: {', '.join(allowed)}"
    if path == ["query", "iterator"]:
        detail = WRONG_ITERATOR
    if spelled := _BAD_SPELLING.match(detail):
        marks = " ".join(spelled["marks"].replace("\\", ""))
        detail = f"only letters, digits and {marks} are allowed"
        if spelled["never"]:
            detail += f", and it must not begin with {spelled['never']}"
    if _HAS_NUL.match(detail):
        blank = "be blank, nor " if r"\\s" in detail else ""
        detail = f"it must not {blank}hold the character NUL"
    return Invalid(path, detail)
