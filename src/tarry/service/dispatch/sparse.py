"""Sparse dicts: for objects with many dicts that are mostly empty. All empty ones are one object.

An empty dict takes 64 bytes, and a dict that became empty keeps its table. Ten thousand lanes have
a dozen dicts each. So their owners share `EMPTY_DICT`, read a sparse dict like any other, and
change it only with `put` and `without`.

A dict of one item takes 224 bytes. Where most dicts have one item and are not read in loops,
`put_one` and `without_one` keep it in a `Single` instead.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")


class _Nothing(dict[object, object]):
    """The empty dict that all owners share. It refuses new items."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError for any attempt to change the dict in place."""
        raise TypeError("this dict is shared: use put() and keep what it gives")

    __setitem__ = setdefault = update = __ior__ = _refuse


EMPTY_DICT: dict[Any, Any] = _Nothing()


def put(kept: dict[Key, Item], key: Key, item: Item) -> dict[Key, Item]:
    """Return the dict with the item added. The caller must keep the result instead of `kept`."""
    if not kept:
        return {key: item}
    kept[key] = item
    return kept


def without(kept: dict[Key, Item], key: Key) -> dict[Key, Item]:
    """Return the dict without this key. The caller must keep the result instead of `kept`."""
    kept.pop(key, None)
    return kept or EMPTY_DICT


class Single(Mapping[Key, Item]):
    """A mapping of one item. Reading it takes longer than reading a dict."""

    __slots__ = ("_item", "_key")

    def __init__(self, key: Key, item: Item) -> None:
        self._key, self._item = key, item

    def __getitem__(self, key: Key) -> Item:
        """Return the item."""
        if key != self._key:
            raise KeyError(key)
        return self._item

    def get(self, key: Key, default: Any = None) -> Any:  # noqa: ANN401  as `Mapping` has it
        """Return the item, or `default`. `Mapping.get` would catch an exception for that."""
        return self._item if key == self._key else default

    def __iter__(self) -> Iterator[Key]:
        """Yield the key."""
        yield self._key

    def __len__(self) -> int:
        """Return 1."""
        return 1


def put_one(kept: Mapping[Key, Item], key: Key, item: Item) -> Mapping[Key, Item]:
    """Return the mapping with the item added: a `Single`, or a dict from the second item on."""
    if not kept or (len(kept) == 1 and key in kept):
        return Single(key, item)
    return put(kept if isinstance(kept, dict) else dict(kept), key, item)


def without_one(kept: Mapping[Key, Item], key: Key) -> Mapping[Key, Item]:
    """Return the mapping without this key."""
    if isinstance(kept, dict):
        return without(kept, key)
    return EMPTY_DICT if key in kept else kept
