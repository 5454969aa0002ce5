import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tarry
from tarry.core.codec import from_dict, to_dict
from tarry.core.policy import Policy
from tarry.core.schema import policy_schema, schema_text
from tarry.errors import PolicyFormatError

VALIDATOR = Draft202012Validator(policy_schema())
PUBLISHED = Path(tarry.__file__).with_name("policy.schema.json")

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-1, 700)
    | st.just(10**400)
    | st.floats(allow_nan=False)
    | st.floats(-1, 2)
    | st.sampled_from(["unlimited", "inside", "outside", "fixed", "full", "percent", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "delay", "cap", "share", "retry", "?"]), inner)
    ),
    max_leaves=6,
)


def told_by_the_schema(document: object) -> bool:
    return bool(VALIDATOR.is_valid(document))


def told_by_the_codec(document: Any) -> PolicyFormatError | None:  # noqa: ANN401  a document
    try:
        from_dict(document)
    except PolicyFormatError as error:
        return error
    return None


def beyond_a_schema(error: PolicyFormatError) -> bool:
    """Name the rules no JSON Schema can say: those between keys, and 5.0 not being whole."""
    first_above_cap = "from 0 to cap (" in error.wanted
    both_lists = error.wanted == "other statuses than those in statuses.retry"
    whole_with_a_point = isinstance(error.value, float) and error.value.is_integer()
    return first_above_cap or both_lists or whole_with_a_point


@st.composite
def mutated(draw: st.DrawFn) -> object:
    """Make a policy document and spoil up to two places of it (or, by luck, not)."""
    document = to_dict(draw(st.from_type(Policy)))
    for _ in range(draw(st.integers(1, 2))):
        table: Any = document
        key = draw(st.sampled_from([*table, "?"]))
        if isinstance(table.get(key), dict) and draw(st.integers(0, 3)):
            table = table[key]
            key = draw(st.sampled_from([*table, "?"]))
        if draw(st.booleans()) and key in table:
            del table[key]
        else:
            table[key] = draw(plain)
    return document


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(policy_schema())
    assert policy_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert policy_schema()["$id"] == "urn:tarry:policy:1"


def test_the_published_schema_is_up_to_date() -> None:
    stale = "make it anew: tarry schema > src/tarry/policy.schema.json"
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), stale
    assert json.loads(schema_text()) == policy_schema()


@given(policy=st.from_type(Policy))
def test_every_policy_is_valid(policy: Policy) -> None:
    assert told_by_the_schema(to_dict(policy))


@given(document=mutated() | plain)
def test_schema_and_codec_agree(document: object) -> None:
    error = told_by_the_codec(document)
    if error is None:
        assert told_by_the_schema(document)
    elif not beyond_a_schema(error):
        assert not told_by_the_schema(document), error


@pytest.mark.parametrize(
    "document",
    [
        {"backoff": {"kind": "exponential", "base": 5, "cap": 2}},
        {"statuses": {"retry": [500], "never": [500]}},
        {"attempts": 5.0},
    ],
    ids=str,
)
def test_what_a_schema_cannot_say_the_codec_refuses(document: dict[str, object]) -> None:
    error = told_by_the_codec(document)
    assert error is not None
    assert beyond_a_schema(error)
    assert told_by_the_schema(document)


def test_every_key_says_what_it_is_about_and_what_it_is_without_you() -> None:
    properties: Any = policy_schema()["properties"]
    assert properties["attempts"] == {
        "description": "How many tries in all, the first included.",
        "anyOf": [{"type": "integer", "minimum": 1}, {"const": "unlimited"}],
        "default": 5,
    }
    assert properties["version"] == {
        "description": "The version of this format.",
        "type": "integer",
        "const": 1,
        "default": 1,
    }
    linear = properties["backoff"]["oneOf"][1]
    assert linear == {
        "description": "A wait that grows by a step with every failed attempt.",
        "type": "object",
        "properties": {
            "kind": {"const": "linear"},
            "step": {
                "description": "The first wait, and what each adds.",
                "type": "number",
                "minimum": 0,
                "maximum": 1e9,
            },
            "cap": {
                "description": "The longest wait there can be, in seconds.",
                "type": "number",
                "minimum": 0,
                "maximum": 1e9,
                "default": 60.0,
            },
        },
        "required": ["kind", "step"],
        "additionalProperties": False,
    }
    assert properties["jitter"]["default"] == {"kind": "smooth"}
    never = properties["statuses"]["properties"]["never"]
    assert never["default"] == [400, 401, 403, 404, 410, 422]
    assert properties["statuses"]["required"] == []
