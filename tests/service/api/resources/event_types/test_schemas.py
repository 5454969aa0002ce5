import json
from threading import current_thread
from typing import Any

import msgspec
import pytest

from tarry.service.api.http.problem import Invalid
from tarry.service.api.resources.event_types.schema_weight import MOST_BYTES
from tarry.service.api.resources.event_types.schemas import (
    MOST_COMPILED_PATTERNS,
    MOST_PATTERN_LENGTH,
    MOST_PATTERNS,
    MOST_SCHEMAS,
    ValidatorCache,
    check_payload,
    check_weight,
    example,
    newest,
    read_schemas,
    validate,
)


def text(**schemas: Any) -> str:  # noqa: ANN401  any JSON
    return msgspec.json.encode(
        {name.strip("_"): schema for name, schema in schemas.items()}
    ).decode()


def test_schemas_are_kept_as_they_came() -> None:
    raw = b'{"1":{"type" : "object", "default":1.0,"z":1.50}}'
    assert read_schemas(msgspec.json.decode(raw, type=dict[str, msgspec.Raw])) == raw.decode()


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (b'{"readOnly": 15}', ["readOnly"]),
        (b'{"properties": {"a": {"type": "obj"}}}', ["properties", "a", "type"]),
        (b'{"pattern": "("}', ["pattern"]),
        (b"5", []),
        (b'{"$ref": "http://127.0.0.1:1/x.json"}', []),
        (b'{"$ref": "file:///etc/hostname"}', []),
        (b'{"$schema": "http://127.0.0.1:1/x.json"}', []),
        (b'{"not":' * 1500 + b"{}" + b"}" * 1500, []),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: bytes, path: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        read_schemas({"2": msgspec.Raw(schema)})
    assert refused.value.place == ["body", "schemas", "2", *path]


def test_a_schema_may_refer_to_itself_as_long_as_nothing_is_held_against_it() -> None:
    schema = b'{"properties": {"a": {"$ref": "#"}}, "type": "object"}'
    stored = read_schemas({"1": msgspec.Raw(schema)})
    with pytest.raises(Invalid, match="it refers to itself; write it out") as refused:
        check_weight(stored)
    assert refused.value.place == ["body", "schemas", "1"]
    with pytest.raises(Invalid, match="it refers to itself"):
        validate(schema.decode(), b"{}", ["body"])


def test_a_schema_that_is_checked_with_is_not_too_long() -> None:
    check_weight(text(_1={"title": "a" * (MOST_BYTES - 100)}))
    check_weight(text(_1={"title": "a" * MOST_BYTES}, _2={}))
    check_weight("{}")
    with pytest.raises(Invalid, match=f"at most {MOST_BYTES} are allowed"):
        check_weight(text(_1={"title": "a" * MOST_BYTES}))


def test_older_drafts_are_the_usual_ones() -> None:
    schema = '{"properties": {"a": {"items": [{"type": "null"}]}}}'
    validate(schema, b'{"a": [null, 1]}', ["body"])
    with pytest.raises(Invalid) as refused:
        validate(schema, b'{"a": [1]}', ["body"])
    assert refused.value.place == ["body", "a", "0"]


def test_of_a_long_payload_it_is_not_said_where_it_does_not_fit() -> None:
    schema = '{"properties": {"a": {"items": {"type": "integer"}}}}'
    fits = msgspec.json.encode({"a": [1] * 30_000})
    validate(schema, fits, ["body"])
    with pytest.raises(Invalid, match="does not match its schema; it is too large") as refused:
        validate(schema, fits.replace(b"1", b'"1"'), ["body"])
    assert refused.value.place == ["body"]


def test_a_payload_that_would_take_too_long_is_refused() -> None:
    schema = msgspec.json.encode({"enum": list(range(4000))}).decode()
    with pytest.raises(Invalid, match="at most 10000000 are allowed"):
        validate(schema, msgspec.json.encode({"a": [1] * 6000}), ["body"])


@pytest.mark.parametrize(
    ("schemas", "expected"),
    [
        (text(_1="a", _2="b"), ("2", b'"b"')),
        (text(_9="a", _10="b"), ("10", b'"b"')),
        (text(v1="a", v2="b"), ("v2", b'"b"')),
        (text(_1="b", draft="a"), ("1", b'"b"')),
        ("{}", None),
    ],
)
def test_the_newest_schema_is_the_one_of_the_highest_version(
    schemas: str, expected: tuple[str, bytes] | None
) -> None:
    chosen = newest(schemas)
    assert expected == (None if chosen is None else (chosen[0], bytes(chosen[1])))


def test_numbers_that_look_alike_are_not_compared_without_end() -> None:
    payload = msgspec.json.encode({"a": [2**62 + number for number in range(2000)]})
    validate('{"maxProperties": 9}', payload, ["body"])
    with pytest.raises(Invalid, match="steps; at most 10000000 are allowed"):
        validate(r'{"properties": {"a": {"unique\u0049tems": true}}}', payload, ["body"])


@pytest.mark.parametrize("pattern", ["^((?=a)a+)+b$", r"^(a+)+\1b$", "((a{99}){99}){99}"])
def test_a_pattern_that_might_take_for_ever_is_not_checked_with(pattern: str) -> None:
    schema = {"properties": {"a": {"pattern": pattern}}}
    if "99" not in pattern:  # that one is no use to anybody
        read_schemas({"1": msgspec.Raw(msgspec.json.encode(schema))})
    with pytest.raises(Invalid, match="uses look-around or is too large; use a simpler"):
        check_weight(text(_1=schema))
    with pytest.raises(Invalid, match="uses look-around"):
        validate(msgspec.json.encode(schema).decode(), b"{}", ["body"])


def test_patterns_are_checked_with() -> None:
    schema = r'{"properties": {"a": {"pattern": "^[\\w.+-]+@[\\w-]+\\.[\\w.-]{1,64}$"}}}'
    check_weight(f'{{"1":{schema}}}')
    validate(schema, b'{"a": "jane@example.com"}', ["body"])
    with pytest.raises(Invalid) as refused:
        validate(schema, b'{"a": "jane"}', ["body"])
    assert refused.value.place == ["body", "a"]


def with_patterns(number: int, of: str = "a") -> msgspec.Raw:
    parts = [{"pattern": f"{of}{each}"} for each in range(number)]
    return msgspec.Raw(msgspec.json.encode({"anyOf": parts}))


def test_the_patterns_of_all_versions_are_limited_in_number_and_length() -> None:
    read_schemas({"1": with_patterns(MOST_PATTERNS - 1), "2": with_patterns(1)})
    detail = f"it has 2 patterns; all schemas of an event type may have at most {MOST_PATTERNS}"
    with pytest.raises(Invalid, match=detail) as refused:
        read_schemas({"1": with_patterns(MOST_PATTERNS - 1), "2": with_patterns(2)})
    assert refused.value.place == ["body", "schemas", "2"]
    longest = "a" * MOST_PATTERN_LENGTH
    read_schemas({"1": msgspec.Raw(msgspec.json.encode({"pattern": longest}))})
    detail = f"a pattern has {MOST_PATTERN_LENGTH + 1} characters; at most {MOST_PATTERN_LENGTH}"
    for schema in (b'{"pattern": "%b"}', b'{"patternProperties": {"%b": {}}}'):
        with pytest.raises(Invalid, match=detail):
            read_schemas({"1": msgspec.Raw(schema % (longest + "b").encode())})


def test_cached_validators_have_few_patterns_together() -> None:
    cache = ValidatorCache()
    schemas = [bytes(with_patterns(MOST_PATTERNS, of)).decode() for of in "abcdefg"]
    for schema in schemas[:5]:
        cache.get(schema)
    cache.get(schemas[0])
    assert MOST_COMPILED_PATTERNS == 5 * MOST_PATTERNS
    cache.get(schemas[5])
    assert [cache.known(schema) is not None for schema in schemas[:6]] == [
        True, False, True, True, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("payload", "detail"),
    [
        (b'{"pin": "12"}', "it does not match properties/pin/type of its schema"),
        (b'{"pin": %b}' % (b"9" * 400 + b".0"), "it cannot be validated against its schema"),
    ],
)
def test_an_error_shows_no_value_unless_it_may(payload: bytes, detail: str) -> None:
    schema = '{"properties": {"pin": {"type": "integer"}}}'
    with pytest.raises(Invalid) as shown:
        validate(schema, payload, ["body"])
    assert "12" in shown.value.message or "99" in shown.value.message
    with pytest.raises(Invalid) as hidden:
        validate(schema, payload, ["body"], show_values=False)
    assert hidden.value.message == detail


@pytest.mark.anyio
async def test_a_payload_with_little_work_is_checked_at_once_and_another_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []
    schema = '{"properties": {"at_once": {"type": "integer"}}}'

    def record(schema: str, payload: bytes, path: list[str], *, show_values: bool) -> None:
        threads.append(current_thread().name)
        validate(schema, payload, path, show_values=show_values)

    monkeypatch.setattr("tarry.service.api.resources.event_types.schemas.validate", record)
    little, much = b'{"at_once": 1}', b'{"at_once": 1, "b": [%b1]}' % (b"1," * 50_000)
    for payload in (little, little, much):
        await check_payload(schema, payload, ["body"])
    with pytest.raises(Invalid):
        await check_payload(schema, b'{"at_once": "x"}', ["body"])
    assert [name.startswith("tarry-long-work") for name in threads] == [True, False, True, False]


@pytest.mark.parametrize(
    ("schema", "index", "expected"),
    [
        ({"examples": [{"n": 1}, {"n": 2}]}, 0, b'{"n":1}'),
        ({"examples": [{"n": 1}, {"n": 2}]}, 1, b'{"n":2}'),
        ({"examples": [{"n": 1}, {"n": 2}]}, 7, b'{"n":1}'),
        ({"example": {"n": 3}}, 5, b'{"n":3}'),
        ({"examples": [], "example": {"n": 3}}, 0, b'{"n":3}'),
        ({"examples": ["no object"]}, 0, None),
        ({}, 0, None),
        (True, 0, None),
    ],
)
def test_an_example_is_chosen(schema: object, index: int, expected: bytes | None) -> None:
    assert example(text(_1=schema), index) == expected


def references(levels: int, last: object) -> dict[str, object]:
    """A schema that is compiled three times as often with each level."""
    inner: dict[str, object] = {f"a{levels}": last}
    for level in range(levels):
        again = [{"$ref": f"#/$defs/a{level + 1}"}] * 3
        inner[f"a{level}"] = {"unevaluatedProperties": False, "allOf": again}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "$defs": inner, "$ref": "#/$defs/a0"}


def test_a_schema_that_would_take_hours_to_compile_is_kept_but_not_checked_with() -> None:
    stored = read_schemas({"1": msgspec.Raw(msgspec.json.encode(references(40, {})))})
    with pytest.raises(Invalid, match="it has more than 5000 parts"):
        check_weight(stored)


def test_the_form_of_such_a_schema_is_checked_too() -> None:
    schema = references(40, {"minLength": "x"})
    with pytest.raises(Invalid, match="it is not a JSON Schema"):
        read_schemas({"1": msgspec.Raw(msgspec.json.encode(schema))})


def test_a_light_schema_is_compiled_with_its_unevaluated_properties() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "unevaluatedProperties": False,
    }
    stored = read_schemas({"1": msgspec.Raw(msgspec.json.encode(schema))})
    check_weight(stored)
    with pytest.raises(Invalid):
        validate(msgspec.json.encode(schema).decode(), b'{"a": 1}', ["body"])


@pytest.mark.parametrize("part", [{"type": "null"}, True])
def test_the_parts_of_all_schemas_together_are_limited(part: object) -> None:
    def alternatives(count: int) -> msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode({"anyOf": [part] * (count - 1)}))

    read_schemas({"1": alternatives(MOST_SCHEMAS)})
    read_schemas({"1": alternatives(MOST_SCHEMAS - 10), "2": alternatives(10)})
    for schemas in (
        {"1": alternatives(MOST_SCHEMAS + 1)},
        {"1": alternatives(MOST_SCHEMAS - 10), "2": alternatives(11)},
    ):
        with pytest.raises(Invalid, match="may have at most 10000 parts together"):
            read_schemas(schemas)


SLOW: dict[str, tuple[object, object]] = {
    "numbers": ({"items": {"not": {"anyOf": [{"const": n} for n in range(1000)]}}}, [-1] * 4000),
    "mixed lists": ({"items": {"not": {"enum": [*range(1500), "x"]}}}, [-1] * 4000),
    "fractions": ({"items": {"multipleOf": 0.0001}}, [1e300] * 50_000),
    "large integers": ({"items": {"allOf": [{"minimum": 0}] * 500}}, [10**300] * 1000),
    "long texts": ({"allOf": [{"pattern": f"^(a|b)*{n}?$"} for n in range(90)]}, "ab" * 400_000),
}


@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_payload_that_is_slow_to_check_is_refused(name: str) -> None:
    schema, payload = SLOW[name]
    text = msgspec.json.encode(schema).decode()
    check_weight(msgspec.json.encode({"1": schema}).decode())
    with pytest.raises(Invalid, match="at most 10000000 are allowed"):
        validate(text, json.dumps(payload).encode(), ["body"])
