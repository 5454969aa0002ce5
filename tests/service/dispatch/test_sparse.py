"""Many dicts that are empty are one, and nobody can write into what is shared."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tarry.service.dispatch.sparse import EMPTY_DICT, Single, put, put_one, without, without_one


def test_what_is_put_into_nothing_is_ones_own() -> None:
    mine = put(EMPTY_DICT, "a", 1)
    yours = put(EMPTY_DICT, "b", 2)
    assert (mine, yours, EMPTY_DICT) == ({"a": 1}, {"b": 2}, {})


def test_more_is_put_into_the_same_dict_in_order() -> None:
    first = put(EMPTY_DICT, "a", 1)
    assert put(put(first, "b", 2), "a", 3) is first
    assert list(first.items()) == [("a", 3), ("b", 2)]


def test_the_last_that_is_taken_out_leaves_nothing() -> None:
    kept = put(put(EMPTY_DICT, "a", 1), "b", 2)
    assert without(kept, "a") == {"b": 2}
    assert without(kept, "x") is kept
    assert without(kept, "b") is EMPTY_DICT
    assert without(EMPTY_DICT, "b") is EMPTY_DICT


@pytest.mark.parametrize(
    "write",
    [
        lambda kept: kept.__setitem__("a", 1),
        lambda kept: kept.setdefault("a", 1),
        lambda kept: kept.update(a=1),
        lambda kept: kept.__ior__({"a": 1}),
    ],
    ids=["setitem", "setdefault", "update", "ior"],
)
def test_writing_into_the_shared_dict_is_refused(write: Callable[[dict[str, int]], Any]) -> None:
    with pytest.raises(TypeError, match="shared"):
        write(EMPTY_DICT)
    assert EMPTY_DICT == {}


def test_a_single_item_takes_less_memory_than_a_dict_and_reads_like_one() -> None:
    kept = put_one(EMPTY_DICT, 5, "a")
    assert isinstance(kept, Single)
    assert sys.getsizeof(kept) < sys.getsizeof({5: "a"}) / 4
    assert dict(kept) == {5: "a"}
    assert (list(kept), list(kept.values()), len(kept)) == ([5], ["a"], 1)
    assert (5 in kept, 6 in kept) == (True, False)
    assert (kept.get(5), kept.get(6), kept.get(6, "b")) == ("a", None, "b")


def test_the_same_key_replaces_a_single_item() -> None:
    kept = put_one(put_one(EMPTY_DICT, 5, "a"), 5, "b")
    assert isinstance(kept, Single)
    assert dict(kept) == {5: "b"}
    more = put_one(put_one(kept, 6, "c"), 6, "d")
    assert dict(put_one({6: "c"}, 6, "d")) == {6: "d"}
    assert more == {5: "b", 6: "d"}


def test_a_second_item_makes_it_a_dict_and_later_ones_go_into_the_same_dict() -> None:
    two = put_one(put_one(EMPTY_DICT, 5, "a"), 6, "b")
    assert isinstance(two, dict)
    assert put_one(two, 7, "c") is two
    assert list(two.items()) == [(5, "a"), (6, "b"), (7, "c")]


def test_the_last_item_of_a_single_or_a_dict_leaves_nothing() -> None:
    one = put_one(EMPTY_DICT, 5, "a")
    assert without_one(one, 6) is one
    assert without_one(one, 5) is EMPTY_DICT
    assert without_one(EMPTY_DICT, 5) is EMPTY_DICT
    two = put_one(put_one(EMPTY_DICT, 5, "a"), 6, "b")
    assert without_one(two, 5) == {6: "b"}
    assert without_one(two, 6) is EMPTY_DICT
