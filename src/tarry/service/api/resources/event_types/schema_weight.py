"""The weight of a schema: the cost of validating a payload against it, for each value in it.

The target of a reference counts again for each reference to it. So the work of validating is at
most the schema's weight times the number of the payload's values, however the schema is written.
"""

import math
from collections.abc import Callable, Iterator
from urllib.parse import unquote

MOST_BYTES = 64 * 1024
"""The most bytes of a schema's text."""
MOST_WEIGHT = 5000
MOST_DEPTH = 100
"""The deepest nesting of schemas, with references followed."""

_WORD = 64
_EXACT, _LARGEST = 2**53, 2**1000
"""Integers of at least `_EXACT` may share a float with other integers. All integers of at least
`_LARGEST` count as alike, because the largest ones have no float at all."""
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_SCHEMAS_BY_NAME = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies"}
)
"""Keywords whose values are schemas by names that the schema's author chose."""
_DATA = frozenset({"const", "enum", "required", "dependentRequired"})
_COST_NOTHING = frozenset(
    {"$defs", "definitions", "default", "examples", "example", "title", "description", "$comment"}
)
"""Keywords that cost nothing, unless a reference points into them."""
_EVALUATE_SIBLINGS = frozenset({"unevaluatedProperties", "unevaluatedItems"})
"""Keywords that make the validator evaluate their sibling keywords again, at each level."""
_NOT_EVALUATED_AGAIN = _EVALUATE_SIBLINGS | {
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
}
"""The siblings that are not evaluated again: they name their properties and items directly."""

SLOW_NUMBER = 60
"""What a comparison with a number costs, of parts that cost 1: the validator makes a Python object
of each number first."""
SLOW_CONTAINER = 6
"""What a comparison with a list or an object costs, for each value in it."""
SLOW_PATTERN = 8
"""What the search for a pattern costs, besides the length of the text."""
SLOW_DIVISION = 8000
"""What `multipleOf` costs with a divisor that is no integer: the validator divides fractions."""
LARGE_INTEGER = 600
"""As how many values an integer counts that has more than 64 bits."""

Weight = tuple[int, int]
"""The weight of a schema, and its depth."""


class TooHeavyError(ValueError):
    """A schema cannot be used for validation; the text says why, and what would be allowed."""


def weigh(schema: object) -> int:
    """Return the weight of a schema; TooHeavyError if it is above MOST_WEIGHT or unknown."""
    try:
        return _Scale(schema, most=MOST_WEIGHT).weigh_part(schema)[0]
    except RecursionError as error:
        raise TooHeavyError(_TOO_DEEP) from error


def cost(schema: object) -> int:
    """Return the weight of a schema that can be weighed, with slow keywords at their true cost."""
    return _Scale(schema, cost_of=_cost_of, most=math.inf).weigh_part(schema)[0]


def weight_of_patterns(schema: object) -> int:
    """Return how many patterns of a schema that can be weighed may have to match one text."""
    scale = _Scale(schema, each=0, cost_of=_patterns_of, most=math.inf)
    return scale.weigh_part(schema)[0]


def _cost_of(keyword: str, value: object) -> int:
    """Return what a keyword costs besides the number of its values."""
    own = 0
    match keyword, value:
        case "multipleOf", float():
            own = SLOW_DIVISION
        case "const", int() | float():
            own = SLOW_NUMBER
        case "enum", list() if len({type(one) for one in value}) > 1:
            own = SLOW_NUMBER * len(value)  # if all have one type, the validator has a quick way
        case ("const", dict() | list()) | ("enum", [dict() | list(), *_]):
            own = SLOW_CONTAINER * count_values(value)
        case ("pattern", _) | ("uniqueItems", True):
            own = SLOW_PATTERN
        case "patternProperties", dict():
            own = SLOW_PATTERN * len(value)
    return own


def _patterns_of(keyword: str, value: object) -> int:
    """Return the number of patterns in a keyword."""
    if keyword == "patternProperties" and isinstance(value, dict):
        return len(value)
    return int(keyword == "pattern")


_TOO_DEEP = f"its schemas are nested too deeply; at most {MOST_DEPTH} levels are allowed"


class _Scale:
    """Weighs the parts of one schema, and remembers their weights.

    A part weighs `each`, and what `cost_of` says of its keywords; at most `most` altogether.
    """

    def __init__(
        self,
        root: object,
        *,
        each: int = 1,
        cost_of: Callable[[str, object], int] = lambda _keyword, _value: 0,
        most: float,
    ) -> None:
        self._root = root
        self._each, self._cost_of, self._most = each, cost_of, most
        dialect = root.get("$schema") if isinstance(root, dict) else None
        self._ids = (
            ("$id", "id") if isinstance(dialect, str) and "draft-04" in dialect else ("$id",)
        )
        self._anchors: dict[str, list[object]] = {}
        for name, part in self._named_parts(root):
            self._anchors.setdefault(name, []).append(part)
        self._weights: dict[int, Weight] = {}
        self._in_progress: set[int] = set()

    def weigh_part(self, part: object) -> Weight:
        """Return the weight of a schema within the root; TooHeavyError if it is too much."""
        if not isinstance(part, dict):
            return self._each, 1
        if id(part) in self._weights:
            return self._weights[id(part)]
        if id(part) in self._in_progress:
            detail = (
                "it refers to itself; write it out as deep as it goes, or leave the inside open"
            )
            raise TooHeavyError(detail)
        self._check_id(part)
        self._in_progress.add(id(part))
        weights = {
            keyword: self._weigh_keyword(keyword, value)
            for keyword, value in part.items()
            if keyword not in _COST_NOTHING
        }
        self._in_progress.remove(id(part))
        weight = self._each + sum(weight for weight, _ in weights.values())
        depth = 1 + max((depth for _, depth in weights.values()), default=0)
        if not _EVALUATE_SIBLINGS.isdisjoint(weights):
            evaluated_again = sum(
                weight
                for keyword, (weight, _) in weights.items()
                if keyword not in _NOT_EVALUATED_AGAIN
            )
            weight += (1 + depth) * evaluated_again
        if weight > self._most:
            detail = f"it has more than {MOST_WEIGHT} parts, counting what it refers to"
            raise TooHeavyError(f"{detail}; simplify it, or describe fewer parts")
        if depth > MOST_DEPTH:
            raise TooHeavyError(_TOO_DEEP)
        self._weights[id(part)] = weight, depth
        return weight, depth

    def _weigh_keyword(self, keyword: str, value: object) -> Weight:
        """Return the weight of one keyword of a schema, with the schemas in its value."""
        own = self._cost_of(keyword, value)
        if keyword in _REFERENCES and isinstance(value, str):
            return self.weigh_part(self._target_of_reference(value))
        if keyword in _DATA:
            return own + self._each * count_values(value), 0
        if keyword in _SCHEMAS_BY_NAME and isinstance(value, dict):
            value = list(value.values())
        weight, depth = self._weigh_value(value)
        return own + weight, depth

    def _weigh_value(self, value: object) -> Weight:
        """Return the weight of a value that may be a schema or contain some; others weigh 1."""
        if isinstance(value, dict):
            return self.weigh_part(value)
        if not isinstance(value, list):
            return self._each, 0
        weights = [self._weigh_value(item) for item in value]
        return self._each + sum(weight for weight, _ in weights), max(
            (depth for _, depth in weights), default=0
        )

    def _target_of_reference(self, reference: str) -> object:
        """Return the part of the schema that a `$ref` leads to; TooHeavyError if there is none."""
        document, hash_sign, pointer = reference.partition("#")
        if document or not hash_sign:
            detail = f"{reference} is outside of the schema; only `#/...` and `#name` are allowed"
            raise TooHeavyError(detail)
        pointer = unquote(pointer)
        if pointer and not pointer.startswith("/"):
            targets = self._anchors.get(pointer, [])
            if len(targets) != 1:
                detail = f"#{pointer} must name one place in the schema, and names {len(targets)}"
                raise TooHeavyError(detail)
            return targets[0]
        part = self._root
        for step in pointer.split("/")[1:]:
            part = _step_into(part, step.replace("~1", "/").replace("~0", "~"), reference)
            self._check_id(part)
        return part

    def _check_id(self, part: object) -> None:
        """Refuse an id inside the schema, because references below it would be relative to it."""
        if not isinstance(part, dict):
            return
        for keyword in self._ids:
            name = part.get(keyword)
            if not isinstance(name, str) or name.startswith("#"):
                continue
            if part is not self._root:
                raise TooHeavyError(f"{keyword} {name!r} is not at the top, where it must be")
            if "json-schema.org" in name:
                raise TooHeavyError(f"{keyword} {name!r} is reserved; use a name of your own")

    def _named_parts(self, part: object) -> Iterator[tuple[str, object]]:
        """Yield the parts of a schema that have an anchor or an id, by these names."""
        if isinstance(part, dict):
            names = [part.get(keyword) for keyword in ("$anchor", "$dynamicAnchor", *self._ids)]
            anchors = {name.removeprefix("#") for name in names if isinstance(name, str)}
            yield from ((name, part) for name in anchors)
        for inner in (
            part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        ):
            yield from self._named_parts(inner)


def _step_into(part: object, step: str, reference: str) -> object:
    """Return what a part of the schema holds under one step of a reference's path."""
    if isinstance(part, dict) and step in part:
        return part[step]
    if isinstance(part, list) and step.isdecimal() and int(step) < len(part):
        return part[int(step)]
    raise TooHeavyError(f"{reference} does not exist in the schema")


def patterns_in(schema: object) -> Iterator[str]:
    """Yield the regular expressions in a schema, and all that look like some."""
    for part in _values_inside(schema):
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        if isinstance(part.get("patternProperties"), dict):
            yield from part["patternProperties"]


def count_schemas(schema: object) -> int:
    """Return the number of schemas in a schema, itself included, and of all that look like some."""
    return sum(isinstance(part, dict | bool) for part in _values_inside(schema))


def is_evaluated_again(schema: object) -> bool:
    """Return whether a schema has keywords that evaluate their siblings again."""
    return any(
        isinstance(part, dict) and not _EVALUATE_SIBLINGS.isdisjoint(part)
        for part in _values_inside(schema)
    )


def without_unevaluated(schema: object) -> object:
    """Return a schema without the keywords that evaluate their siblings again."""
    if isinstance(schema, dict):
        return {
            keyword: without_unevaluated(value)
            for keyword, value in schema.items()
            if keyword not in _EVALUATE_SIBLINGS
        }
    if isinstance(schema, list):
        return [without_unevaluated(value) for value in schema]
    return schema


def count_values(payload: object) -> int:
    """Return the number of values in a payload, including the names of fields."""
    return sum(1 + (len(part) if isinstance(part, dict) else 0) for part in _values_inside(payload))


def count_large_integers(payload: object) -> int:
    """Return the number of integers in a payload that have more than 64 bits."""
    return sum(
        isinstance(part, int) and part.bit_length() > _WORD for part in _values_inside(payload)
    )


def count_letters(payload: object) -> int:
    """Return how long all texts in a payload are together, names of fields included."""
    return sum(
        len(part) if isinstance(part, str) else sum(map(len, part)) if isinstance(part, dict) else 0
        for part in _values_inside(payload)
    )


def count_alike(payload: object) -> int:
    """Return about how many pairs of different numbers in a payload have the same float.

    The validator compares each of them with each where items have to be unique.
    """
    groups: dict[float | None, list[int | float]] = {}
    for value in _values_inside(payload):
        if isinstance(value, int | float) and abs(value) >= _EXACT:
            groups.setdefault(float(value) if abs(value) < _LARGEST else None, []).append(value)
    return sum(len(group) ** 2 for group in groups.values() if len(set(group)) > 1)


def _values_inside(payload: object) -> Iterator[object]:
    """Yield a payload, its values, their values, and so on."""
    unread = [payload]
    while unread:
        part = unread.pop()
        yield part
        if isinstance(part, dict):
            unread += part.values()
        elif isinstance(part, list):
            unread += part
