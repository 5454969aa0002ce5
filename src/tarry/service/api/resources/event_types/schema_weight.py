"""The weight of a schema: the cost of validating a payload against it, for each value in it.

The target of a reference counts again for each reference to it. So the work of validating is at
most the schema's weight times the number of the payload's values, however the schema is written.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

MOST_BYTES = 64 * 1024
"""The most bytes of a schema's text."""
MOST_WEIGHT = 5000
MOST_DEEP = 100
"""The deepest nesting of schemas, with references followed."""

_EXACT, _LARGEST = 2**53, 2**1000
"""Integers of at least `_EXACT` may share a float with other integers. All integers of at least
`_LARGEST` count as alike, because the largest ones have no float at all."""
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
"""Keywords whose values are schemas by names that the schema's author chose."""
_DATA = frozenset({"const", "enum", "required", "dependentRequired"})
_FREE = frozenset(
    {"$defs", "definitions", "default", "examples", "example", "title", "description", "$comment"}
)
"""Keywords that cost nothing, unless a reference points into them."""
_SEEN_AGAIN = frozenset({"unevaluatedProperties", "unevaluatedItems"})
"""Keywords that make the validator evaluate their sibling keywords again, at each level."""
_BELOW = _SEEN_AGAIN | {"properties", "additionalProperties", "items", "prefixItems"}
"""The siblings that are not evaluated again: they name their properties and items directly."""

Weight = tuple[int, int]
"""The weight of a schema, and its depth."""


class TooHeavyError(ValueError):
    """A schema cannot be used for validation; the text says why, and what would be allowed."""


def weigh(schema: Any) -> int:  # noqa: ANN401  any JSON
    """Return the weight of a schema; TooHeavyError if it is above MOST_WEIGHT or unknown."""
    try:
        return _Scale(schema).schema(schema)[0]
    except RecursionError as error:
        raise TooHeavyError(_TOO_DEEP) from error


_TOO_DEEP = f"its schemas are too deep within each other; at most {MOST_DEEP} will do"


class _Scale:
    """Weighs the parts of one schema, and remembers their weights."""

    def __init__(self, root: Any) -> None:  # noqa: ANN401  any JSON
        self._root = root
        told = root.get("$schema") if isinstance(root, dict) else None
        self._ids = ("$id", "id") if isinstance(told, str) and "draft-04" in told else ("$id",)
        self._anchors: dict[str, list[Any]] = {}
        for name, one in self._anchored(root):
            self._anchors.setdefault(name, []).append(one)
        self._known: dict[int, Weight] = {}
        self._open: set[int] = set()

    def schema(self, one: Any) -> Weight:  # noqa: ANN401  any JSON
        if not isinstance(one, dict):
            return 1, 1
        if id(one) in self._known:
            return self._known[id(one)]
        if id(one) in self._open:
            said = "it refers to itself; write it out as deep as it goes, or leave the inside open"
            raise TooHeavyError(said)
        self._check_id(one)
        self._open.add(id(one))
        found = {word: self._keyword(word, told) for word, told in one.items() if word not in _FREE}
        self._open.remove(id(one))
        weight = 1 + sum(some for some, _ in found.values())
        deep = 1 + max((to for _, to in found.values()), default=0)
        if not _SEEN_AGAIN.isdisjoint(found):
            again = sum(some for word, (some, _) in found.items() if word not in _BELOW)
            weight += (1 + deep) * again
        if weight > MOST_WEIGHT:
            said = f"with all that it refers to it has more than {MOST_WEIGHT} parts"
            raise TooHeavyError(f"{said}; a simpler one will do, or one that leaves parts open")
        if deep > MOST_DEEP:
            raise TooHeavyError(_TOO_DEEP)
        self._known[id(one)] = weight, deep
        return weight, deep

    def _keyword(self, word: str, told: Any) -> Weight:  # noqa: ANN401  any JSON
        if word in _REFERENCES and isinstance(told, str):
            return self.schema(self._target(told))
        if word in _DATA:
            return values(told), 0
        if word in _NAMED and isinstance(told, dict):
            told = list(told.values())
        return self._part(told)

    def _part(self, told: Any) -> Weight:  # noqa: ANN401  any JSON
        """Return the weight of a value that may be a schema or contain some; others weigh 1."""
        if isinstance(told, dict):
            return self.schema(told)
        if not isinstance(told, list):
            return 1, 0
        found = [self._part(one) for one in told]
        return 1 + sum(some for some, _ in found), max((to for _, to in found), default=0)

    def _target(self, reference: str) -> Any:  # noqa: ANN401  any JSON
        mark, sharp, way = reference.partition("#")
        if mark or not sharp:
            raise TooHeavyError(f"{reference} is not within it; `#/...` and `#name` will do")
        way = unquote(way)
        if way and not way.startswith("/"):
            found = self._anchors.get(way, [])
            if len(found) != 1:
                said = f"#{way} leads to {len(found)} places within it; one will do"
                raise TooHeavyError(said)
            return found[0]
        here = self._root
        for step in way.split("/")[1:]:
            here = _within(here, step.replace("~1", "/").replace("~0", "~"), reference)
            self._check_id(here)
        return here

    def _check_id(self, one: Any) -> None:  # noqa: ANN401  any JSON
        """Refuse an id inside the schema, because references below it would be relative to it."""
        if not isinstance(one, dict):
            return
        for word in self._ids:
            name = one.get(word)
            if not isinstance(name, str) or name.startswith("#"):
                continue
            if one is not self._root:
                raise TooHeavyError(f"{word} {name!r} within it; only one for the whole will do")
            if "json-schema.org" in name:
                raise TooHeavyError(f"{word} {name!r} is taken; a name of your own will do")

    def _anchored(self, one: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  any JSON
        """Yield the parts of a schema that have an anchor or an id, by these names."""
        if isinstance(one, dict):
            names = [one.get(word) for word in ("$anchor", "$dynamicAnchor", *self._ids)]
            told = {name.removeprefix("#") for name in names if isinstance(name, str)}
            yield from ((name, one) for name in told)
        for part in one.values() if isinstance(one, dict) else one if isinstance(one, list) else ():
            yield from self._anchored(part)


def _within(here: Any, step: str, reference: str) -> Any:  # noqa: ANN401  any JSON
    if isinstance(here, dict) and step in here:
        return here[step]
    if isinstance(here, list) and step.isdecimal() and int(step) < len(here):
        return here[int(step)]
    raise TooHeavyError(f"{reference} leads nowhere within it")


def values(payload: Any) -> int:  # noqa: ANN401  any JSON
    """Return the number of values in a payload, including the names of fields."""
    return sum(1 + (len(one) if isinstance(one, dict) else 0) for one in _parts(payload))


def alike(payload: Any) -> int:  # noqa: ANN401  any JSON
    """Return about how many pairs of different numbers in a payload have the same float.

    The validator compares each of them with each where items have to be unique.
    """
    groups: dict[float | None, list[int | float]] = {}
    for one in _parts(payload):
        if isinstance(one, int | float) and abs(one) >= _EXACT:
            groups.setdefault(float(one) if abs(one) < _LARGEST else None, []).append(one)
    return sum(len(group) ** 2 for group in groups.values() if len(set(group)) > 1)


def _parts(payload: Any) -> Iterator[Any]:  # noqa: ANN401  any JSON
    left = [payload]
    while left:
        one = left.pop()
        yield one
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
