"""Frozen values: equal by content, hashable, readable, not to be changed.

Like frozen dataclasses with slots, but cheaper: dataclasses compile half a dozen methods for every
class, and with some forty classes that took two thirds of the time of `import tarry`. Here the
methods are shared. A class that is created often, or that checks its arguments, has its own
`__init__`.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Self, dataclass_transform

settle = object.__setattr__
"""Sets a field of a value while it is created; afterwards nothing can."""


def _annotated(namespace: dict[str, Any]) -> Iterable[str]:
    """Return the annotated names of a class body; since Python 3.14 a function has them."""
    annotate = namespace.get("__annotate_func__", lambda _format: ())
    names: Iterable[str] = namespace.get("__annotations__") or annotate(1)
    return names


@dataclass_transform(frozen_default=True)
class ValueType(type):
    """Turns annotations into slots, and their values into defaults."""

    __fields__: tuple[str, ...]
    __defaults__: dict[str, object]

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], *, init: bool = True
    ) -> "ValueType":
        """Make the class with a slot for every annotated name.

        `init=False` is for type checkers: the class is made as its parent is.
        """
        del init
        parent = bases[0] if bases else None
        own = tuple(_annotated(namespace))
        defaults = {field: namespace.pop(field) for field in own if field in namespace}
        fields = (*getattr(parent, "__fields__", ()), *own)
        known = {**getattr(parent, "__defaults__", {}), **defaults}
        extra = {"__slots__": own, "__match_args__": fields}
        return super().__new__(
            cls, name, bases, {**namespace, **extra, "__fields__": fields, "__defaults__": known}
        )


class Value(metaclass=ValueType):
    """A frozen value. Subclasses annotate their fields, as in a dataclass.

    >>> class Point(Value):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(x=1, y=0), Point(1).replace(y=5)
    (Point(x=1, y=0), True, Point(x=1, y=5))
    """

    def __init__(self, *args: object, **named: object) -> None:
        fields = type(self).__fields__
        given = {**type(self).__defaults__, **dict(zip(fields, args, strict=False)), **named}
        twice = named.keys() & set(fields[: len(args)])
        if len(args) > len(fields) or given.keys() != set(fields) or twice:
            takes = ", ".join(fields) or "nothing"
            raise TypeError(f"{type(self).__name__} takes {takes}; given {args!r} and {named!r}")
        for field in fields:
            settle(self, field, given[field])

    def __setattr__(self, field: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {field!r} cannot be set")

    def __delattr__(self, field: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {field!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        # A subclass that adds behaviour but no field is the same value: two kinds of Policy are.
        related = isinstance(other, type(self)) or isinstance(self, type(other))
        if not isinstance(other, Value) or not related:
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        parts = (f"{field}={getattr(self, field)!r}" for field in type(self).__fields__)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self._values())

    def replace(self, **changes: object) -> Self:
        """Return the same value with some fields changed; a class with checks checks them again."""
        kind = type(self)
        if kind.__init__ is not Value.__init__ or not changes.keys() <= set(kind.__fields__):
            fields = {field: getattr(self, field) for field in kind.__fields__}
            return kind(**{**fields, **changes})
        changed = kind.__new__(kind)
        for field in kind.__fields__:
            settle(changed, field, changes[field] if field in changes else getattr(self, field))
        return changed

    def _values(self) -> tuple[object, ...]:
        return tuple([getattr(self, field) for field in type(self).__fields__])


def setters(kind: type[Value]) -> tuple[Callable[[Value, object], None], ...]:
    """Return the setter of each field, for creating values: quicker than `settle`."""
    return tuple(getattr(kind, field).__set__ for field in kind.__fields__)


def _restored(kind: type[Value], values: tuple[object, ...]) -> Value:
    """Return a value from a pickle or a copy, without checks: they were made at its creation."""
    restored = kind.__new__(kind)
    for field, value in zip(kind.__fields__, values, strict=True):
        settle(restored, field, value)
    return restored
