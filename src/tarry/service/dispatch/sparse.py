"""Dicts of which there are many, most of them empty: all that are empty are one and the same.

An empty dict takes 64 bytes, and one that has become empty keeps its table. Ten thousand lanes have
a dozen each. So whoever has one reads it as it is, and changes it by `put` and `without` alone.
"""

from typing import Any, NoReturn, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")


class _Nothing(dict[Any, Any]):
    """It belongs to everybody: nothing can be put into it."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this dict is everybody's: use put() and keep what it gives")

    __setitem__ = setdefault = update = __ior__ = _refuse


NOTHING: dict[Any, Any] = _Nothing()


def put(kept: dict[Key, Item], key: Key, item: Item) -> dict[Key, Item]:
    """The dict with an item more, which is to take the place of the one given."""
    if not kept:
        return {key: item}
    kept[key] = item
    return kept


def without(kept: dict[Key, Item], key: Key) -> dict[Key, Item]:
    """The dict with an item less, if it was there, to take the place of the one given."""
    kept.pop(key, None)
    return kept or NOTHING
