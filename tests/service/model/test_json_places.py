"""Places in JSON texts, compared with what Python's own reader finds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.json_places import MOST_DEPTH, NotJsonError, places


class Named:
    """A search for fields of one name, at any depth."""

    start = 1

    def __init__(self, name: bytes) -> None:
        self._name = name

    def inside(self, reached: int, name: bytes | None) -> int:
        return 2 if name == self._name else min(reached, 1)

    def end(self, reached: int) -> bool:
        return reached == 2


def found(text: bytes, name: bytes = b"a") -> list[bytes]:
    return [text[begin:end] for begin, end in places(text, Named(name))]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b'{"a": 1}', [b"1"]),
        (b' { "b" : [ { "a" :\t-1.5e+3 } , 2 ] }\r\n', [b"-1.5e+3"]),
        (b'{"a": {"a": [1, {"b": []}]}, "c": 2}', [b'{"a": [1, {"b": []}]}']),
        (b'{"a": 1, "a": 2}', [b"1", b"2"]),
        (rb'{"\u0061": true, "b": "\"a\": 3", "\\a": 4}', [b"true"]),
        (b'[{"a": [ ]}, {"a": {}}, {"a": null}, {"a": ""}]', [b"[ ]", b"{}", b"null", b'""']),
        (b'{"a": ' + b"9" * 100_000 + b"}", [b"9" * 100_000]),
        (b'"a"', []),
        (b"[]", []),
    ],
)
def test_values_are_found_by_their_name(text: bytes, values: list[bytes]) -> None:
    assert found(text) == values


@pytest.mark.parametrize(
    "text", [rb'{"x\\": 1}', rb'{"x\\\"y": 1}', '{"ключ": 1}', r'{"\ud800": 1}']
)
def test_a_name_is_found_without_its_escapes(text: str | bytes) -> None:
    body = text if isinstance(text, bytes) else text.encode()
    (name,) = json.loads(body)
    assert found(body, name.encode(errors="surrogatepass")) == [b"1"]


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "[", '"', "}", "]", ",", ":", "1 2", "{}{}", "[1", "[1,", "[1,]", "[,1]"),
        *('{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{"a" 1}', "{a: 1}", '{"a":1]'),
        *('["a":1]', "[1}", '"a": 1', "[01]", "[1.]", "[.5]", "[+1]", "[nul]", "[NaN]", "'a'"),
        *(r'{"\q": 1}', '["\\"', r"[\"]", "\ufeff{}", '{"a": 1} x', "[1 2]", '[{"a": 1]]'),
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(NotJsonError):
        found(text.encode())


def test_the_nesting_is_limited() -> None:
    deepest = b"[" * MOST_DEPTH + b"1" + b"]" * MOST_DEPTH
    assert found(deepest) == []
    with pytest.raises(NotJsonError):
        found(b"[" + deepest + b"]")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from('abc\\"é') | st.text(), inner),
    max_leaves=20,
)


@given(value=VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 3]))
def test_each_value_is_found_as_it_was_written(
    *, value: object, ascii_only: bool, indent: int | None
) -> None:
    def under(part: object) -> list[object]:
        if isinstance(part, list):
            return [one for entry in part for one in under(entry)]
        if isinstance(part, dict):
            return [
                one
                for name, entry in part.items()
                for one in ([entry] if name == "a" else under(entry))
            ]
        return []

    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert [json.loads(part) for part in found(text.encode(errors="surrogatepass"))] == under(value)


@given(value=VALUES, cut=st.integers(1, 1000))
def test_the_beginning_of_a_text_is_refused_or_has_no_brackets(value: object, cut: int) -> None:
    text = json.dumps([value])[:-cut].encode()
    with pytest.raises(NotJsonError):
        found(text)
