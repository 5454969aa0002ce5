"""The allowed values of a field with a fixed set of values, for error messages."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import inspect


def choices(kind: object, path: Sequence[str]) -> list[str]:
    """Return the allowed values of the field at `path` in a body or query of this type.

    The list is empty if the field has no fixed set of values.
    """
    return list(dict.fromkeys(map(str, _values_at(_type_info(kind), path))))


@lru_cache(maxsize=256)
def _type_info(kind: object) -> inspect.Type:
    """Return what msgspec knows about a type."""
    return inspect.type_info(kind)


def _values_at(kind: inspect.Type, path: Sequence[str]) -> Iterator[object]:
    """Yield the values that an enum or Literal at this path of a type allows."""
    match kind:
        case inspect.Metadata():
            yield from _values_at(kind.type, path)
        case inspect.UnionType():
            for member in kind.types:
                yield from _values_at(member, path)
        case inspect.StructType() if path:
            for field in kind.fields:
                if field.encode_name == path[0]:
                    yield from _values_at(field.type, path[1:])
        case inspect.ListType() if path:
            yield from _values_at(kind.item_type, path[1:])
        case inspect.EnumType() if not path:
            yield from (member.value for member in kind.cls)
        case inspect.LiteralType() if not path:
            yield from kind.values
