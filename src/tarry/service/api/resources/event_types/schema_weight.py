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
MOST_DEPTH = 100
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


_TOO_DEEP = f"its schemas are too deep within each other; at most {MOST_DEPTH} will do"


class _Scale:
    """Weighs the parts of one schema, and remembers their weights."""

    def __init__(self, root: Any) -> None:  # noqa: ANN401  any JSON
        self._root = root
        dialect = root.get("$schema") if isinstance(root, dict) else None
        self._ids = (
            ("$id", "id") if isinstance(dialect, str) and "draft-04" in dialect else ("$id",)
        )
        self._anchors: dict[str, list[Any]] = {}
        for name, part in self._anchored(root):
            self._anchors.setdefault(name, []).append(part)
        self._weights: dict[int, Weight] = {}
        self._open: set[int] = set()

    def schema(self, part: Any) -> Weight:  # noqa: ANN401  any JSON
        if not isinstance(part, dict):
            return 1, 1
        if id(part) in self._weights:
            return self._weights[id(part)]
        if id(part) in self._open:
            detail = (
                "it refers to itself; write it out as deep as it goes, or leave the inside open"
            )
            raise TooHeavyError(detail)
        self._check_id(part)
        self._open.add(id(part))
        weights = {
            word: self._keyword(word, value) for word, value in part.items() if word not in _FREE
        }
        self._open.remove(id(part))
        weight = 1 + sum(weight for weight, _ in weights.values())
        depth = 1 + max((depth for _, depth in weights.values()), default=0)
        if not _SEEN_AGAIN.isdisjoint(weights):
            again = sum(weight for word, (weight, _) in weights.items() if word not in _BELOW)
            weight += (1 + depth) * again
        if weight > MOST_WEIGHT:
            detail = f"with all that it refers to it has more than {MOST_WEIGHT} parts"
            raise TooHeavyError(f"{detail}; a simpler one will do, or one that leaves parts open")
        if depth > MOST_DEPTH:
            raise TooHeavyError(_TOO_DEEP)
        self._weights[id(part)] = weight, depth
        return weight, depth

    def _keyword(self, word: str, value: Any) -> Weight:  # noqa: ANN401  any JSON
        if word in _REFERENCES and isinstance(value, str):
            return self.schema(self._target(value))
        if word in _DATA:
            return values(value), 0
        if word in _NAMED and isinstance(value, dict):
            value = list(value.values())
        return self._part(value)

    def _part(self, value: Any) -> Weight:  # noqa: ANN401  any JSON
        """Return the weight of a value that may be a schema or contain some; others weigh 1."""
        if isinstance(value, dict):
            return self.schema(value)
        if not isinstance(value, list):
            return 1, 0
        weights = [self._part(item) for item in value]
        return 1 + sum(weight for weight, _ in weights), max(
            (depth for _, depth in weights), default=0
        )

    def _target(self, reference: str) -> Any:  # noqa: ANN401  any JSON
        document, sharp, pointer = reference.partition("#")
        if document or not sharp:
            raise TooHeavyError(f"{reference} is not within it; `#/...` and `#name` will do")
        pointer = unquote(pointer)
        if pointer and not pointer.startswith("/"):
            targets = self._anchors.get(pointer, [])
            if len(targets) != 1:
                detail = f"#{pointer} leads to {len(targets)} places within it; one will do"
                raise TooHeavyError(detail)
            return targets[0]
        here = self._root
        for step in pointer.split("/")[1:]:
            here = _within(here, step.replace("~1", "/").replace("~0", "~"), reference)
            self._check_id(here)
        return here

    def _check_id(self, part: Any) -> None:  # noqa: ANN401  any JSON
        """Refuse an id inside the schema, because references below it would be relative to it."""
        if not isinstance(part, dict):
            return
        for word in self._ids:
            name = part.get(word)
            if not isinstance(name, str) or name.startswith("#"):
                continue
            if part is not self._root:
                raise TooHeavyError(f"{word} {name!r} within it; only one for the whole will do")
            if "json-schema.org" in name:
                raise TooHeavyError(f"{word} {name!r} is taken; a name of your own will do")

    def _anchored(self, part: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  any JSON
        """Yield the parts of a schema that have an anchor or an id, by these names."""
        if isinstance(part, dict):
            names = [part.get(word) for word in ("$anchor", "$dynamicAnchor", *self._ids)]
            anchors = {name.removeprefix("#") for name in names if isinstance(name, str)}
            yield from ((name, part) for name in anchors)
        for inner in (
            part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        ):
            yield from self._anchored(inner)


def _within(here: Any, step: str, reference: str) -> Any:  # noqa: ANN401  any JSON
    if isinstance(here, dict) and step in here:
        return here[step]
    if isinstance(here, list) and step.isdecimal() and int(step) < len(here):
        return here[int(step)]
    raise TooHeavyError(f"{reference} leads nowhere within it")


def values(payload: Any) -> int:  # noqa: ANN401  any JSON
    """Return the number of values in a payload, including the names of fields."""
    return sum(1 + (len(part) if isinstance(part, dict) else 0) for part in _parts(payload))


def alike(payload: Any) -> int:  # noqa: ANN401  any JSON
    """Return about how many pairs of different numbers in a payload have the same float.

    The validator compares each of them with each where items have to be unique.
    """
    groups: dict[float | None, list[int | float]] = {}
    for value in _parts(payload):
        if isinstance(value, int | float) and abs(value) >= _EXACT:
            groups.setdefault(float(value) if abs(value) < _LARGEST else None, []).append(value)
    return sum(len(group) ** 2 for group in groups.values() if len(set(group)) > 1)


def _parts(payload: Any) -> Iterator[Any]:  # noqa: ANN401  any JSON
    waiting = [payload]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
