"""How much a schema weighs: what holding a payload against it costs for each value in that.

Everything that a reference leads to is counted wherever it is referred to. So a schema that is
light enough takes at most its weight times the payload's values, however it is written.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

MOST_BYTES = 64 * 1024
"""Of a schema's text."""
MOST_WEIGHT = 5000
MOST_DEEP = 100
"""Schemas within each other, references followed."""

_EXACT, _LARGEST = 2**53, 2**1000
"""From the one on integers share their floating-point number; from the other on there is none."""
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
"""Hold schemas by names that somebody chose."""
_DATA = frozenset({"const", "enum", "required", "dependentRequired"})
_FREE = frozenset(
    {"$defs", "definitions", "default", "examples", "example", "title", "description", "$comment"}
)
"""Cost nothing, unless something refers to them."""
_SEEN_AGAIN = frozenset({"unevaluatedProperties", "unevaluatedItems"})
"""Look through what stands beside them once more, at each level of it."""
_BELOW = _SEEN_AGAIN | {"properties", "additionalProperties", "items", "prefixItems"}
"""But not through these: which names and places they are for is known without that."""

Weight = tuple[int, int]
"""And how deep it is."""


class TooHeavyError(ValueError):
    """A schema cannot be checked with; it says why, and what would do."""


def weigh(schema: Any) -> int:  # noqa: ANN401  any JSON
    """What a schema weighs, at most MOST_WEIGHT; TooHeavyError if that is not to be had."""
    try:
        return _Scale(schema).schema(schema)[0]
    except RecursionError as error:
        raise TooHeavyError(_TOO_DEEP) from error


_TOO_DEEP = f"its schemas are too deep within each other; at most {MOST_DEEP} will do"


class _Scale:
    """Weighs the parts of one schema, each once."""

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
        """Whatever may be a schema or hold some; what is neither weighs one."""
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
        """What is called otherwise than the whole has references of its own."""
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
        """What is in it by its names, if those are texts."""
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
    """How many values there are in a payload, names of fields included."""
    return sum(1 + (len(one) if isinstance(one, dict) else 0) for one in _parts(payload))


def alike(payload: Any) -> int:  # noqa: ANN401  any JSON
    """How many pairs of its numbers look the same although they are not.

    They are compared each with each where items have to be unique.
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
