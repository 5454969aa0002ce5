import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.api.http.surrogates import MOST_BYTES, decode, stand_ins

TEXTS = st.text(st.characters() | st.sampled_from("\ud83d\ude00\\u\ue000"), max_size=20)
"""With halves, whole pairs, what looks like an escape, and what could be a stand-in."""


@given(st.recursive(TEXTS, lambda inside: st.lists(inside) | st.dictionaries(TEXTS, inside)))
def test_whatever_can_be_written_is_read_and_comes_back_as_it_was(value: object) -> None:
    text = json.dumps(value).encode()
    plain = json.dumps(json.loads(text), ensure_ascii=False)
    assert decode(text, Any) == json.loads(re.sub("[\ud800-\udfff]", "\ufffd", plain))
    stand = stand_ins(text)
    if stand is None:
        assert msgspec.json.decode(text) == json.loads(plain)
    else:
        msgspec.json.decode(stand.text)
        assert stand.back(stand.text) == (text, len(stand.halves))


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        (rb'{"a": "\ud83d"}', 1),
        (rb'{"a": "\udE00"}', 1),
        (rb'{"\uD83D": "\ude00\ud83d"}', 3),
        (rb'{"a": "\ud83d\ud83d\ude00"}', 1),
        (rb'{"a": "\ud83d\ue000\uE001"}', 1),
        (rb'{"a": "\\ud83d"}', None),
        (rb'{"a": "\ud83d\ude00"}', None),
        (rb'{"a": "\\\\n"}', None),
        (rb'{"a": 1', None),
        (rb'{"a": "\ud83', None),
    ],
)
def test_halves_are_found_and_nothing_else(text: bytes, halves: int | None) -> None:
    stand = stand_ins(text)
    assert (None if stand is None else len(stand.halves)) == halves


def test_a_part_comes_back_with_its_own_halves() -> None:
    stand = stand_ins(rb'["\ud800", {"a": "\udfff\ud800"}]')
    assert stand is not None
    _, second = msgspec.json.decode(stand.text, type=tuple[msgspec.Raw, msgspec.Raw])
    assert stand.back(bytes(second)) == (rb'{"a": "\udfff\ud800"}', 2)


def test_too_much_is_left_alone() -> None:
    assert stand_ins(rb'"\ud800' + b" " * MOST_BYTES + b'"') is None
    many = stand_ins(b'"' + rb"\ud800" * 7000 + b'"')
    assert many is not None
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(many.text)


@pytest.mark.parametrize("number", ["1.5", "-2e3", "0." + "3" * 5000, "1e-999", "123456789012.5"])
def test_numbers_are_the_ones_that_python_reads(number: str) -> None:
    assert decode(number.encode(), float) == json.loads(number)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1.e5"])
def test_numbers_out_of_range_are_refused(number: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(number.encode(), float)
