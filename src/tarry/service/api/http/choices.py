"""The allowed values of a field with a fixed set of values, for error messages."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import inspect


def choices(wanted: Any, place: Sequence[str]) -> list[str]:  # noqa: ANN401  a type
    """Return the allowed values of the field at `place` in a body or query of this type.

    The list is empty if the field has no fixed set of values.
    """
    return list(dict.fromkeys(map(str, _at(_known(wanted), place))))


@lru_cache(maxsize=256)
def _known(wanted: Any) -> inspect.Type:  # noqa: ANN401  a type
    return inspect.type_info(wanted)


def _at(kind: inspect.Type, place: Sequence[str]) -> Iterator[object]:
    match kind:
        case inspect.Metadata():
            yield from _at(kind.type, place)
        case inspect.UnionType():
            for one in kind.types:
                yield from _at(one, place)
        case inspect.StructType() if place:
            for field in kind.fields:
                if field.encode_name == place[0]:
                    yield from _at(field.type, place[1:])
        case inspect.ListType() if place:
            yield from _at(kind.item_type, place[1:])
        case inspect.EnumType() if not place:
            yield from (one.value for one in kind.cls)
        case inspect.LiteralType() if not place:
            yield from kind.values
