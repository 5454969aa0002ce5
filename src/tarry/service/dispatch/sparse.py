"""Sparse dicts: for objects with many dicts that are mostly empty. All empty ones are one object.

An empty dict takes 64 bytes, and a dict that became empty keeps its table. Ten thousand lanes have
a dozen dicts each. So their owners share `NOTHING`, read a sparse dict like any other, and change
it only with `put` and `without`.
"""

from typing import Any, NoReturn, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")


class _Nothing(dict[Any, Any]):
    """The empty dict that all owners share. It refuses new items."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this dict is everybody's: use put() and keep what it gives")

    __setitem__ = setdefault = update = __ior__ = _refuse


NOTHING: dict[Any, Any] = _Nothing()


def put(kept: dict[Key, Item], key: Key, item: Item) -> dict[Key, Item]:
    """Return the dict with the item added. The caller must keep the result instead of `kept`."""
    if not kept:
        return {key: item}
    kept[key] = item
    return kept


def without(kept: dict[Key, Item], key: Key) -> dict[Key, Item]:
    """Return the dict without this key. The caller must keep the result instead of `kept`."""
    kept.pop(key, None)
    return kept or NOTHING
