"""Many dicts that are empty are one, and nobody can write into what is everybody's."""

from collections.abc import Callable
from typing import Any

import pytest

from tarry.service.dispatch.sparse import NOTHING, put, without


def test_what_is_put_into_nothing_is_ones_own() -> None:
    mine = put(NOTHING, "a", 1)
    yours = put(NOTHING, "b", 2)
    assert (mine, yours, NOTHING) == ({"a": 1}, {"b": 2}, {})


def test_more_is_put_into_the_same_dict_in_order() -> None:
    first = put(NOTHING, "a", 1)
    assert put(put(first, "b", 2), "a", 3) is first
    assert list(first.items()) == [("a", 3), ("b", 2)]


def test_the_last_that_is_taken_out_leaves_nothing() -> None:
    kept = put(put(NOTHING, "a", 1), "b", 2)
    assert without(kept, "a") == {"b": 2}
    assert without(kept, "x") is kept
    assert without(kept, "b") is NOTHING
    assert without(NOTHING, "b") is NOTHING


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
def test_nobody_writes_into_what_is_everybodys(write: Callable[[dict[str, int]], Any]) -> None:
    with pytest.raises(TypeError, match="everybody"):
        write(NOTHING)
    assert NOTHING == {}
