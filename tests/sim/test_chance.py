"""Seeded chance: the same key gives the same numbers, and no key leans on another."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.sim.chance import BLOCK, Chance

keys = st.tuples(
    st.integers(0, 2**64), st.integers(0, 10_000), st.text(max_size=8), st.integers(0, 100)
)


def first(seed: int, run: int, name: str, number: int) -> list[float]:
    drawn: list[float] = Chance(seed, run).stream(name, number).random(4).tolist()
    return drawn


def test_the_numbers_of_a_seed_are_written_in_stone() -> None:
    assert Chance(1).stream("policy").random(3).tolist() == pytest.approx(
        [0.15736693151588466, 0.6269362711470943, 0.6154845761786177], abs=1e-15
    )


@given(keys)
def test_the_same_key_always_gives_the_same_stream(key: tuple[int, int, str, int]) -> None:
    assert first(*key) == first(*key)


@given(st.lists(keys, min_size=2, max_size=6, unique=True))
def test_another_seed_run_name_or_number_is_another_stream(
    some: list[tuple[int, int, str, int]],
) -> None:
    assert len({tuple(first(*key)) for key in some}) == len(some)


def test_a_stream_that_is_used_more_changes_no_other() -> None:
    chance = Chance(seed=7)
    chance.stream("policy").random(1_000)
    assert chance.stream("arrivals").random() == Chance(seed=7).stream("arrivals").random()


def test_draws_are_the_stream_one_by_one_across_blocks() -> None:
    draw = Chance(3, 2).draws("policy", 5)
    drawn = [draw() for _ in range(BLOCK + 10)]
    assert all(type(one) is float for one in drawn)
    assert drawn == Chance(3, 2).stream("policy", 5).random(BLOCK + 10).tolist()


def test_draws_are_spread_evenly_from_0_to_1() -> None:
    draw = Chance(11).draws("policy")
    drawn = np.array(list(islice(iter(draw, None), 50_000)))
    assert 0 <= drawn.min() < 0.001
    assert 0.999 < drawn.max() < 1
    assert np.histogram(drawn, 10, (0, 1))[0] == pytest.approx(5_000, rel=0.06)


def test_streams_of_neighbouring_keys_have_nothing_in_common() -> None:
    streams = [Chance(1, run).stream("policy", number) for run in range(4) for number in range(4)]
    likeness = np.corrcoef([stream.random(20_000) for stream in streams]) - np.eye(16)
    assert np.abs(likeness).max() < 0.035
