import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.cli.output.json_text import elements, read, with_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_what_python_cannot_hold_is_kept_as_text() -> None:
    long = "9" * 5000
    assert read(f'[1, 1.5, {long}, -{long}, 1e400, "x"]') == [
        *(1, 1.5, long, f"-{long}", "1e400", "x")
    ]


def test_elements_are_as_they_are_written_but_on_one_line() -> None:
    odd = '{ "n": 1e400,\r\n "m": 1.10, "a": 1, "a": "x\\n]" }'
    text = f' {{"done":true , "data" : [ {odd}, 2 ] , "iterator": "data"}} '
    assert list(elements(text, "data")) == [odd.replace("\r\n", "  "), "2"]
    assert list(elements('{"data":[]}', "data")) == list(elements("{}", "data")) == []


def test_a_field_may_stay_as_it_is_written() -> None:
    text = '{"id": 1e400, "payload": {"a": 1,\n "a": 1e400}, "done": true}'
    kept = '{"a": 1,  "a": 1e400}'
    assert with_text(text, "payload") == {"id": "1e400", "payload": kept, "done": True}
    assert with_text(text, "other") == read(text)


@given(st.lists(VALUES), VALUES, st.sampled_from([None, 1]))
def test_elements_are_those_of_the_list(
    found: list[object], other: object, wide: int | None
) -> None:
    text = json.dumps({"a": other, "data": found, "z": other}, indent=wide)
    assert [json.loads(element) for element in elements(text, "data")] == found


@pytest.mark.parametrize("text", ["", "[", "{"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        read(text)
