"""The waits of many against the waits of one: the core is the judge."""

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Backoff, Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, Memory, NoJitter, Percent, Smooth
from tarry.core.policy import Policy, waits
from tarry.sim.run import Floats
from tarry.sim.waits import Waits, no_memory

seconds = st.one_of(
    st.floats(0.001, 100),
    st.floats(0, 1e9),
    st.integers(0, 100).map(float),
    st.sampled_from([0.0, 5e-324, 1e-300, 1e9]),
)
first_and_cap = st.tuples(seconds, seconds).map(sorted)
backoffs: st.SearchStrategy[Backoff] = st.one_of(
    st.builds(Fixed, seconds),
    first_and_cap.map(lambda two: Linear(*two)),
    st.builds(
        lambda two, factor: Exponential(two[0], factor, two[1]),
        first_and_cap,
        st.floats(1, 10) | st.sampled_from([1.0, 2.0, 1e300]),
    ),
    first_and_cap.map(lambda two: Fibonacci(*two)),
    st.builds(Schedule, st.lists(seconds, min_size=1, max_size=6)),
)
draws = st.floats(0, 1 - 2**-53) | st.sampled_from([0.0, 5e-324, 0.5, 1 - 2**-53])
numbers = st.integers(1, 12) | st.integers(1, 2_000)
exact_jitters: st.SearchStrategy[Jitter] = st.one_of(
    st.sampled_from(
        [NoJitter(), Full(), Equal(), Decorrelated(), Decorrelated("outside"), Percent(0.2)]
    ),
    st.builds(Percent, st.floats(0, 1)),
)
JITTERS: list[Jitter] = [
    NoJitter(),
    Full(),
    Equal(),
    Percent(0.2),
    Decorrelated(),
    Decorrelated("outside"),
    Smooth(),
]


def clients(attempts: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[int, Memory, float]]]:
    """Some clients: failed attempts, memory of the jitter, draw."""
    return st.lists(st.tuples(attempts, st.none() | seconds, draws), min_size=1, max_size=8)


def as_array(memories: list[Memory]) -> Floats:
    return np.array([math.nan if memory is None else memory for memory in memories])


def as_list(memories: Floats) -> list[Memory]:
    return [None if math.isnan(memory) else memory for memory in memories.tolist()]


def drawn(policy: Policy, some: list[tuple[int, Memory, float]]) -> list[tuple[float, Memory]]:
    attempts, memories, lots = (list(column) for column in zip(*some, strict=True))
    found, after = Waits(policy).draw(np.array(attempts), as_array(memories), np.array(lots))
    return list(zip(found.tolist(), as_list(after), strict=True))


# --- One step: the same as the core's -----------------------------------------------------------


@given(backoffs, exact_jitters, clients(numbers))
def test_many_wait_to_the_last_bit_as_each_of_them_would(
    backoff: Backoff, jitter: Jitter, some: list[tuple[int, Memory, float]]
) -> None:
    policy = Policy(backoff=backoff, jitter=jitter)
    assert drawn(policy, some) == [policy.wait(*client) for client in some]


@given(backoffs, clients(numbers))
def test_many_wait_smoothly_as_each_of_them_would(
    backoff: Backoff, some: list[tuple[int, Memory, float]]
) -> None:
    policy = Policy(backoff=backoff, jitter=Smooth())
    for client, (wait, memory) in zip(some, drawn(policy, some), strict=True):
        expected, point = policy.wait(*client)
        assert point is not None
        assert memory == pytest.approx(point, rel=1e-12, abs=1e-300)
        # A wait is the way between two points: it is as exact as they are.
        assert wait == pytest.approx(expected, rel=1e-12, abs=max(1e-12 * point, 1e-300))


@given(backoffs, st.sampled_from(JITTERS), numbers, clients(st.just(0)))
def test_one_number_of_attempts_may_stand_for_all(
    backoff: Backoff, jitter: Jitter, attempts: int, some: list[tuple[int, Memory, float]]
) -> None:
    memories, lots = (
        as_array([memory for _, memory, _ in some]),
        np.array([lot for *_, lot in some]),
    )
    waits = Waits(Policy(backoff=backoff, jitter=jitter))
    one = waits.draw(attempts, memories, lots)
    each = waits.draw(np.full(len(some), attempts), memories, lots)
    for same, own in zip(one, each, strict=True):
        np.testing.assert_allclose(same, own, rtol=1e-12, atol=1e-300)


# --- Many steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize("jitter", JITTERS, ids=str)
@pytest.mark.parametrize(
    "backoff",
    [
        Fixed(0),
        Fixed(2),
        Linear(1, 10),
        Exponential(1, cap=60),
        Fibonacci(1, 10),
        Schedule([0, 0, 5, 2]),
    ],
    ids=str,
)
def test_a_client_among_many_takes_the_waits_of_the_policy(
    backoff: Backoff, jitter: Jitter
) -> None:
    policy = Policy(backoff=backoff, jitter=jitter)
    lots = np.random.default_rng(7).random((40, 5))
    many, memory, rounds = Waits(policy), no_memory(5), []
    for attempts, row in enumerate(lots, start=1):
        found, memory = many.draw(attempts, memory, row)
        rounds.append(found)
    for client, column in enumerate(lots.T):
        expected = list(waits(policy, column.tolist()))
        assert [found[client] for found in rounds] == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("jitter", JITTERS, ids=str)
def test_clients_at_different_attempts_keep_their_own_curve(jitter: Jitter) -> None:
    policy = Policy(backoff=Exponential(1, cap=60), jitter=jitter)
    found, _ = Waits(policy).draw(np.array([1, 500, 3]), no_memory(3), np.full(3, 0.5))
    expected = [policy.wait(attempts, None, 0.5)[0] for attempts in (1, 500, 3)]
    assert found.tolist() == pytest.approx(expected, rel=1e-10)


def test_nobody_is_a_number_of_clients_too() -> None:
    found, memory = Waits(Policy()).draw(np.array([], dtype=np.int64), no_memory(0), no_memory(0))
    assert found.size == memory.size == 0


@pytest.mark.parametrize("clamp", ["inside", "outside"])
def test_the_clamp_decides_what_piles_up_on_the_cap(clamp: Literal["inside", "outside"]) -> None:
    policy = Policy(backoff=Exponential(1, cap=10), jitter=Decorrelated(clamp))
    found, _ = Waits(policy).draw(9, np.full(1_000, 9.0), np.linspace(0, 1, 1_000, endpoint=False))
    assert np.count_nonzero(found == 10) == (0 if clamp == "inside" else 653)


def test_what_is_not_remembered_cannot_be_written_to() -> None:
    _, memory = Waits(Policy(jitter=Full())).draw(1, no_memory(3), np.zeros(3))
    assert np.isnan(memory).all()
    with pytest.raises(ValueError, match="read-only"):
        memory[0] = 1.0
