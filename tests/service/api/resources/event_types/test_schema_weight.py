from typing import Any, ClassVar

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.service.api.resources.event_types.schema_weight import (
    MOST_DEPTH,
    MOST_WEIGHT,
    TooHeavyError,
    cost,
    count_alike,
    count_large_integers,
    count_letters,
    count_schemas,
    count_values,
    is_evaluated_again,
    weigh,
    weight_of_patterns,
    without_unevaluated,
)

NAMES = ("a", "b", "$ref", "default")


def doubling(levels: int) -> dict[str, Any]:
    """A schema of a few lines that is held against a payload 2 ** levels times."""
    kinds: dict[str, Any] = {
        f"k{level}": {"allOf": [{"$ref": f"#/$defs/k{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$ref": "#/$defs/k0", "$defs": {**kinds, f"k{levels}": {"x": 1, "type": "object"}}}


def closed(levels: int) -> dict[str, Any]:
    """One whose levels each ask what those below have looked at."""
    schema: dict[str, Any] = {"x": 1}
    for _ in range(levels):
        schema = {"x": 1, "anyOf": [schema], "unevaluatedProperties": {"x": 1}}
    return schema


def inside(levels: int) -> Any:  # noqa: ANN401  any JSON
    schema: Any = True
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "weight"),
    [
        (True, 1),
        ({}, 1),
        ({"type": "object", "description": "free", "examples": [{"a": 1}]}, 2),
        ({"enum": [1, 2, {"a": 3}]}, 7),
        ({"properties": {"default": {"type": "null"}}}, 4),
        ({"$defs": {"a": {"type": "null"}}}, 1),
        ({"$defs": {"a": {"type": "null"}}, "allOf": [{"$ref": "#/$defs/a"}] * 2}, 8),
        ({"properties": {"a": {"$anchor": "n"}, "b": {"$dynamicRef": "#n"}}}, 7),
        ({"$id": "https://example.com/a", "$defs": {"a~/b": True}, "$ref": "#/$defs/a~0~1b"}, 3),
        ({"properties": {"$ref": {"type": "string"}}}, 4),
        ({"unevaluatedProperties": False}, 2),
        ({"unevaluatedProperties": False, "properties": {"a": {"type": "null"}}}, 5),
        ({"unevaluatedProperties": False, "anyOf": [{"type": "null"}]}, 14),
    ],
)
def test_what_it_costs_is_counted_where_it_is_used(schema: object, weight: int) -> None:
    assert weigh(schema) == weight


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "#"}, "refers to itself"),
        ({"properties": {"a": {"$ref": "#"}}}, "refers to itself"),
        ({"properties": {"default": {"$ref": "#"}}}, "refers to itself"),
        ({"$recursiveRef": "#"}, "refers to itself"),
        ({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}}, "refers to itself"),
        ({"$id": "#n", "items": {"$ref": "#n"}}, "refers to itself"),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#"}},
            },
            "refers to itself",
        ),
        (doubling(20), f"more than {MOST_WEIGHT}"),
        (closed(20), f"more than {MOST_WEIGHT}"),
        ({"enum": list(range(MOST_WEIGHT))}, f"more than {MOST_WEIGHT}"),
        (inside(MOST_DEPTH + 1), f"at most {MOST_DEPTH}"),
        ({"$ref": "http://json-schema.org/draft-07/schema#"}, "outside of the schema"),
        ({"$ref": "other"}, "outside of the schema"),
        ({"$ref": "#/$defs/a"}, "does not exist"),
        ({"$ref": "#a"}, "one place in the schema, and names 0"),
        (
            {"allOf": [{"$anchor": "a"}, {"$anchor": "a"}, {"$ref": "#a"}]},
            "one place in the schema, and names 2",
        ),
        ({"not": {"$id": "https://example.com/b"}}, "is not at the top"),
        (
            {"$ref": "#/$defs/a/b", "$defs": {"a": {"$id": "https://example.com/b", "b": True}}},
            "is not at the top",
        ),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "not": {"id": "b"}},
            "is not at the top",
        ),
        ({"$id": "http://json-schema.org/draft-07/schema"}, "is reserved"),
    ],
)
def test_what_might_cost_without_end_is_refused_in_words(schema: object, reason: str) -> None:
    with pytest.raises(TooHeavyError, match=reason):
        weigh(schema)


def test_references_that_are_very_long_in_a_row_are_refused() -> None:
    kinds = {f"k{number}": {"$ref": f"#/$defs/k{number + 1}"} for number in range(5000)}
    with pytest.raises(TooHeavyError, match="deep"):
        weigh({"$ref": "#/$defs/k0", "$defs": kinds})


def test_values_are_counted_with_their_names() -> None:
    assert count_values({"a": [1, {"b": None}], "c": "text"}) == 9
    assert count_values(None) == 1


@pytest.mark.parametrize(
    ("payload", "pairs"),
    [
        ({"a": [1, 2.5, "9007199254740993", True]}, 0),
        ([2**62, 2**62 + 1, {"a": 2**62 + 2}], 9),
        ([2**62] * 5, 0),
        ([2**62, 2**62 + 2**20], 0),
        ([2**70, -(2**70), 2**80], 0),
        ([10**400, 10**500], 4),
    ],
)
def test_large_numbers_look_alike(payload: object, pairs: int) -> None:
    assert count_alike(payload) == pairs


# --- What is light enough costs no more than it weighs ------------------------------------------


class Counted:
    """A keyword that fits everything, and counts how often it was asked."""

    evaluated: ClassVar[int] = 0

    def __init__(self, *_told: object) -> None:
        pass

    def validate(self, _value: object) -> None:
        Counted.evaluated += 1

    def is_valid(self, _value: object) -> bool:
        Counted.evaluated += 1
        return True


def inner(within: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    many, named = (
        st.lists(within, min_size=1, max_size=3),
        st.dictionaries(st.sampled_from(NAMES), within, max_size=3),
    )
    words = {
        "type": st.sampled_from(["object", "array", "string", "integer"]),
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b"]), within, max_size=2),
        "dependentSchemas": named,
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), many),
        **dict.fromkeys(("not", "if", "then", "else", "items", "contains"), within),
        **dict.fromkeys(("additionalProperties", "propertyNames"), within),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), within),
        "uniqueItems": st.just(True),  # noqa: FBT003  as JSON has it
        "$ref": st.sampled_from(["#/$defs/0", "#/$defs/1", "#/$defs/2"]),
    }
    return st.fixed_dictionaries({"x": st.just(1)}, optional=words)


PART = st.recursive(st.just({"x": 1}) | st.just({"x": 1, "type": "string"}), inner, max_leaves=8)
SCHEMAS = st.builds(
    lambda root, *parts: {
        **root,
        "$defs": {str(number): schema for number, schema in enumerate(parts)},
    },
    PART.filter(lambda schema: isinstance(schema, dict)),
    PART,
    PART,
    PART,
)


def payload() -> Any:  # noqa: ANN401  any JSON
    """One of 256 KB in which schemas find what they look for."""
    value: Any = "text" * 260
    for _ in range(5):
        value = {"a": [value, 1, value], "b": value, "default": "a"}
    assert len(msgspec.json.encode(value)) > 250_000
    return value


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(schema=SCHEMAS)
def test_what_is_light_enough_is_asked_no_more_than_it_weighs(schema: dict[str, Any]) -> None:
    try:
        weight = weigh(schema)
    except TooHeavyError:
        return
    value = payload() if weight < 200 else payload()["b"]["b"]
    validator = jsonschema_rs.Draft202012Validator(schema, keywords={"x": Counted})
    Counted.evaluated = 0
    validator.is_valid(value)
    assert Counted.evaluated <= weight * count_values(value)


@pytest.mark.parametrize(("schema", "least"), [(doubling(8), 256), (closed(8), 10_000)])
def test_what_multiplies_is_within_its_weight(
    schema: dict[str, Any], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.api.resources.event_types.schema_weight.MOST_WEIGHT", 10**9)
    value = {} if least == 256 else dict.fromkeys("abcdefghij", 1)
    Counted.evaluated = 0
    jsonschema_rs.Draft202012Validator(schema, keywords={"x": Counted}).is_valid(value)
    assert least <= Counted.evaluated <= weigh(schema) * count_values(value)


def test_schemas_are_counted_with_all_that_look_like_some() -> None:
    assert count_schemas(schema=True) == 1
    assert count_schemas({"anyOf": [{}, False, {"const": 5}], "title": "x"}) == 4


def test_unevaluated_keywords_are_found_and_left_out_at_any_depth() -> None:
    inner = {"unevaluatedItems": False, "items": [{"unevaluatedProperties": {}, "type": "null"}]}
    assert is_evaluated_again({"a": [inner]})
    assert not is_evaluated_again({"a": [{"items": {}}], "enum": ["unevaluatedItems"]})
    assert without_unevaluated({"a": [inner, 1]}) == {"a": [{"items": [{"type": "null"}]}, 1]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": 5}, 2 + 60),
        ({"const": "x"}, 2),
        ({"enum": [1, 2]}, 1 + 3),
        ({"enum": [1, "x"]}, 1 + 3 + 120),
        ({"multipleOf": 2}, 2),
        ({"const": {"a": 1}}, 4 + 18),
        ({"enum": [[1], [2]]}, 6 + 30),
        ({"pattern": "a"}, 2 + 8),
        ({"patternProperties": {"a": {}, "b": {}}}, 4 + 16),
        ({"uniqueItems": True}, 2 + 8),
        ({"multipleOf": 0.1}, 2 + 8000),
    ],
)
def test_slow_keywords_cost_more_than_they_weigh(schema: object, expected: int) -> None:
    assert cost(schema) == expected
    assert weigh(schema) < 10


def test_patterns_count_again_for_each_reference_to_them() -> None:
    inner = {"pattern": "a", "patternProperties": {"b": {}, "c": {"pattern": "d"}}}
    assert weight_of_patterns(inner) == 4
    referring = {"$defs": {"a": inner}, "allOf": [{"$ref": "#/$defs/a"}] * 3, "maxLength": 5}
    assert weight_of_patterns(referring) == 12
    assert weight_of_patterns({"title": "pattern"}) == 0


def test_large_integers_and_letters_are_counted_at_any_depth() -> None:
    payload = {"abc": ["de", 2**64, -(2**64), 2**64 - 1, 1e300, True], "f": {}}
    assert count_large_integers(payload) == 2
    assert count_letters(payload) == 6
