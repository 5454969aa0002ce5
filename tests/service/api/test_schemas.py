from typing import Any

import msgspec
import pytest

from tarry.service.api.problem import Invalid
from tarry.service.api.schemas import check_payload, example, newest, read_schemas


def text(**schemas: Any) -> str:  # noqa: ANN401  any JSON
    return msgspec.json.encode({name.strip("_"): one for name, one in schemas.items()}).decode()


def test_schemas_are_kept_as_they_came() -> None:
    raw = b'{"1":{"type" : "object", "default":1.0,"z":1.50}}'
    assert read_schemas(msgspec.json.decode(raw, type=dict[str, msgspec.Raw])) == raw.decode()


@pytest.mark.parametrize(
    ("schema", "place"),
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
def test_what_is_no_schema_is_refused_with_its_place(schema: bytes, place: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        read_schemas({"2": msgspec.Raw(schema)})
    assert refused.value.place == ["body", "schemas", "2", *place]


def test_a_schema_may_refer_to_itself_without_end() -> None:
    kept = read_schemas(
        {"1": msgspec.Raw(b'{"properties": {"a": {"$ref": "#"}}, "type": "object"}')}
    )
    check_payload(kept, b'{"a": {"a": {}}}', ["body"])
    with pytest.raises(Invalid) as refused:
        check_payload(kept, b'{"a": {"a": 1}}', ["body"])
    assert refused.value.place == ["body", "a", "a"]


def test_older_drafts_are_the_usual_ones() -> None:
    kept = read_schemas({"1": msgspec.Raw(b'{"properties": {"a": {"items": [{"type": "null"}]}}}')})
    check_payload(kept, b'{"a": [null, 1]}', ["body"])
    with pytest.raises(Invalid):
        check_payload(kept, b'{"a": [1]}', ["body"])


@pytest.mark.parametrize(
    ("schemas", "wanted"),
    [
        (text(_1="a", _2="b"), "b"),
        (text(_9="a", _10="b"), "b"),
        (text(v1="a", v2="b"), "b"),
        (text(_1="b", draft="a"), "b"),
        ("{}", None),
    ],
)
def test_the_newest_schema_is_the_one_of_the_highest_version(
    schemas: str, wanted: str | None
) -> None:
    assert newest(schemas) == wanted


def test_without_a_schema_everything_fits() -> None:
    check_payload("{}", b'{"a": 1}', ["body"])


def test_a_pattern_that_would_take_for_ever_is_given_up() -> None:
    kept = read_schemas(
        {"1": msgspec.Raw(b'{"properties": {"a": {"pattern": "^(?=(a+)+$)(a+)+b$"}}}')}
    )
    payload = msgspec.json.encode({"a": "a" * 5000})
    with pytest.raises(Invalid):
        check_payload(kept, payload, ["body"])


@pytest.mark.parametrize(
    ("schema", "index", "wanted"),
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
def test_an_example_is_chosen(schema: object, index: int, wanted: bytes | None) -> None:
    assert example(text(_1=schema), index) == wanted
