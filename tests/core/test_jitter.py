"""Each jitter against its closed form. Draws are seeded, so what holds once holds always."""

import math
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, stats

from tarry.core.backoff import Backoff, Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.jitter import (
    Decorrelated,
    Equal,
    Full,
    Jitter,
    Memory,
    NoJitter,
    Percent,
    Smooth,
)
from tarry.errors import PolicyError

CLIENTS = 20_000
TOP = 1 - 2**-53  # the largest draw
BACKOFFS: list[Backoff] = [
    Fixed(2),
    Linear(step=1, cap=10),
    Exponential(base=1, cap=10),
    Fibonacci(base=1, cap=10),
    Schedule([1, 5, 2, 10]),
]
JITTERS: list[Jitter] = [NoJitter(), Full(), Equal(), Percent(0.2), Decorrelated(), Smooth()]
PILING = Decorrelated(clamp="outside")

backoffs = st.one_of([st.from_type(kind) for kind in get_args(Backoff)])
jitters = st.one_of([st.from_type(kind) for kind in get_args(Jitter)])
draws = st.floats(0, TOP)


def draw_many(count: int, seed: int) -> list[float]:
    drawn: list[float] = np.random.default_rng(seed).random(count).tolist()
    return drawn


def walk(backoff: Backoff, jitter: Jitter, attempts: int, clients: int) -> list[list[float]]:
    """Draw the waits of many clients: one list per failed attempt."""
    memories: list[Memory] = [None] * clients
    rounds = []
    for failed in range(1, attempts + 1):
        pairs = [
            jitter.wait(backoff, failed, memory, draw)
            for memory, draw in zip(memories, draw_many(clients, failed), strict=True)
        ]
        rounds.append([wait for wait, _ in pairs])
        memories = [memory for _, memory in pairs]
    return rounds


def assert_follows(
    sample: list[float], cdf: Callable[[Any], Any], mean: float, variance: float
) -> None:
    assert stats.kstest(sample, cdf).pvalue > 0.01
    error = math.sqrt(variance / len(sample))
    assert abs(np.mean(sample) - mean) < 4 * error
    assert np.var(sample) == pytest.approx(variance, rel=0.05)


# --- Examples -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jitter", "draw", "wait"),
    [
        (NoJitter(), 0.25, 8.0),
        (Full(), 0.0, 0.0),
        (Full(), 0.25, 2.0),
        (Equal(), 0.0, 4.0),
        (Equal(), 0.25, 5.0),
        (Percent(0.5), 0.0, 4.0),
        (Percent(0.5), 0.25, 6.0),
        (Percent(0.5), 0.5, 8.0),
        (Percent(1), 0.75, 12.0),
        (Percent(0), 0.75, 8.0),
    ],
    ids=str,
)
def test_a_wait_is_drawn_around_the_curve(jitter: Jitter, draw: float, wait: float) -> None:
    backoff = Exponential(base=1, cap=10)
    assert jitter.wait(backoff, 4, None, draw) == (wait, None)
    assert jitter.wait(backoff, 4, 99.0, draw) == (wait, None)


@pytest.mark.parametrize(
    ("clamp", "memory", "draw", "wait"),
    [
        ("inside", None, 0.0, 1.0),
        ("inside", None, 0.5, 2.0),
        ("inside", 2.0, 0.5, 3.5),
        ("inside", 3.0, 0.5, 5.0),
        ("inside", 4.0, 0.5, 5.5),
        ("outside", None, 0.5, 2.0),
        ("outside", 2.0, 0.5, 3.5),
        ("outside", 4.0, 0.5, 6.5),
        ("outside", 9.0, 0.5, 10.0),
    ],
)
def test_a_decorrelated_wait_reaches_three_times_the_last(
    clamp: Literal["inside", "outside"], memory: float | None, draw: float, wait: float
) -> None:
    backoff = Exponential(base=1, cap=10)
    assert Decorrelated(clamp).wait(backoff, 7, memory, draw) == (wait, wait)


@pytest.mark.parametrize(
    ("backoff", "attempts", "wait"),
    [
        (Fixed(8), 3, 2.0),
        (Exponential(base=8, cap=8), 3, 2.0),
        (Schedule([8, 4]), 1, 2.0),
        (Schedule([8, 4]), 2, 1.0),
        (Schedule([0, 4, 8]), 1, 0.0),
        (Schedule([0, 4, 8]), 2, 1.0),
        (Schedule([0, 4, 8]), 3, 2.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("jitter", [Decorrelated(), PILING], ids=str)
def test_a_decorrelated_wait_without_room_to_grow_is_drawn_below_the_curve(
    jitter: Jitter, backoff: Backoff, attempts: int, wait: float
) -> None:
    assert jitter.wait(backoff, attempts, 5.0, 0.25) == (wait, None)


def line(t: float) -> float:
    """Where a retry falls with base 1: the shape Polly calls decorrelated jitter v2."""
    return 2**t * math.tanh(math.sqrt(4 * t)) / 1.4


@pytest.mark.parametrize("draw", [0.0, 0.25, 0.5, TOP])
def test_a_smooth_wait_is_the_way_between_two_points_of_one_line(draw: float) -> None:
    backoff = Exponential(base=3, cap=3_000)
    first, here = Smooth().wait(backoff, 1, None, draw)
    assert first == here == pytest.approx(3 * line(draw))
    second, there = Smooth().wait(backoff, 2, here, 0.75)
    assert there == pytest.approx(3 * line(1.75))
    assert first + second == pytest.approx(there)


def test_a_smooth_wait_without_memory_starts_from_the_middle_of_the_window_before() -> None:
    backoff = Exponential(base=1, cap=1_000)
    wait, here = Smooth().wait(backoff, 3, None, 0.5)
    assert here == pytest.approx(line(2.5))
    assert wait == pytest.approx(line(2.5) - line(1.5))


@pytest.mark.parametrize("memory", [line(2), line(2) + 1e-9, 1e6])
def test_a_smooth_memory_beyond_its_window_is_taken_for_the_window_s_end(memory: float) -> None:
    backoff = Exponential(base=1, cap=1_000)
    wait, _ = Smooth().wait(backoff, 3, memory, 0.5)
    assert wait == pytest.approx(line(2.5) - line(2))
    assert Smooth().wait(backoff, 3, memory, 0.0)[0] == pytest.approx(0, abs=1e-12)


def test_a_smooth_window_that_would_pass_the_ceiling_is_scaled_to_end_there() -> None:
    backoff = Exponential(base=1, cap=2.5)
    start, end = 4 / 1.4 * math.tanh(math.sqrt(8)), 6.5 / 1.4 * math.tanh(math.sqrt(12))
    here = math.sqrt(4 * 6.5) / 1.4 * math.tanh(math.sqrt(10))
    for last in (end - 2.5, start):  # fits, just so and with room to spare
        assert Smooth().wait(backoff, 3, last, 0.5) == pytest.approx((here - last, here))
    for last in (0.0, 1.0):
        scaled = (here - last) * 2.5 / (end - last)
        assert Smooth().wait(backoff, 3, last, 0.5) == pytest.approx((scaled, here))
        assert Smooth().wait(backoff, 3, last, 1.0)[0] == 2.5


def test_a_smooth_wait_on_a_flat_curve_is_spread_below_it() -> None:
    level_one, level_two = 4 / 1.4 * math.tanh(2), 6 / 1.4 * math.tanh(math.sqrt(8))
    wait, here = Smooth().wait(Fixed(2), 1, None, 0.5)
    middle = 2 / 1.4 * math.sqrt(2) * math.tanh(math.sqrt(2))
    assert here == pytest.approx(middle)
    assert wait == pytest.approx(middle * 2 / level_one)
    last = level_one
    wait, here = Smooth().wait(Fixed(2), 2, last, TOP)
    assert here == pytest.approx(level_two)
    assert wait == pytest.approx(level_two - level_one)


def test_a_smooth_wait_is_nothing_where_the_curve_is_nothing() -> None:
    backoff = Schedule([0, 0, 4])
    assert Smooth().wait(backoff, 1, None, 0.5) == (0.0, 0.0)
    assert Smooth().wait(backoff, 2, 0.0, 0.5) == (0.0, 0.0)
    wait, here = Smooth().wait(backoff, 3, 0.0, 0.5)
    assert wait == here == pytest.approx(4 / 1.4 / 2 * math.tanh(math.sqrt(10)))


def test_a_smooth_wait_after_next_to_nothing_is_spread_all_the_same() -> None:
    backoff = Schedule([5e-324, 1])
    wait, here = Smooth().wait(backoff, 2, 0.0, 0.5)
    assert wait == here == pytest.approx(0.5 / 1.4 * math.tanh(math.sqrt(6)))
    assert Smooth().wait(backoff, 2, 5e-324, 0.0)[0] == 0


@pytest.mark.parametrize("value", ["middle", None, [], {}])
def test_a_clamp_is_inside_or_outside(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        Decorrelated(clamp=value)  # type: ignore[arg-type]
    assert caught.value.args == ("jitter.clamp", value, "'inside' or 'outside'")
    assert Decorrelated().clamp == "inside"


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, True, "0.2"])
def test_a_percent_share_is_from_zero_to_one(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        Percent(value)  # type: ignore[arg-type]
    assert caught.value.args == ("jitter.share", value, "a number from 0 to 1")


# --- Bounds -------------------------------------------------------------------------------------


@given(backoff=backoffs, jitter=jitters, attempts=st.integers(1, 10_000), chance=st.data())
def test_every_wait_is_between_zero_and_the_ceiling(
    backoff: Backoff, jitter: Jitter, attempts: int, chance: st.DataObject
) -> None:
    most = backoff.ceiling * (1 + (jitter.share if isinstance(jitter, Percent) else 0))
    memory: Memory = chance.draw(st.none() | st.floats(0, 1e9)) if attempts > 1 else None
    for failed in (attempts, attempts + 1):
        wait, memory = jitter.wait(backoff, failed, memory, chance.draw(draws))
        assert 0 <= wait <= most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backoff", "jitter"), list(product(BACKOFFS, [*JITTERS, PILING])), ids=str
)
def test_ten_thousand_attempts_in_a_row_stay_in_bounds(backoff: Backoff, jitter: Jitter) -> None:
    most = backoff.ceiling * (1.2 if isinstance(jitter, Percent) else 1)
    memory: Memory = None
    low: Memory = None
    for failed, draw in enumerate(draw_many(10_000, seed=7), start=1):
        shortest, low = jitter.wait(backoff, failed, low, (0.0, TOP)[failed % 2])
        wait, following = jitter.wait(backoff, failed, memory, draw)
        longest, _ = jitter.wait(backoff, failed, memory, TOP)
        assert 0 <= shortest <= most
        assert 0 <= wait <= longest <= most
        memory = following


# --- Closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("attempts", [1, 4, 10_000])
@pytest.mark.parametrize(
    ("jitter", "least", "most"),
    [(Full(), 0.0, 1.0), (Equal(), 0.5, 1.0), (Percent(0.2), 0.8, 1.2), (Percent(1), 0.0, 2.0)],
    ids=str,
)
def test_a_wait_without_memory_is_even_between_its_bounds(
    jitter: Jitter, least: float, most: float, attempts: int
) -> None:
    backoff = Exponential(base=1, cap=10)
    curve = backoff.curve(attempts)
    sample = [
        jitter.wait(backoff, attempts, None, draw)[0] for draw in draw_many(CLIENTS, attempts)
    ]
    width = curve * (most - least)
    assert_follows(
        sample,
        stats.uniform(curve * least, width).cdf,
        mean=curve * (least + most) / 2,
        variance=width**2 / 12,
    )


def test_decorrelated_waits_have_the_moments_of_their_recursion() -> None:
    base = 0.5
    mean, square = base, base**2
    for sample in walk(Exponential(base=base, cap=1e6), Decorrelated(), 5, CLIENTS):
        square = (base**2 + 3 * base * mean + 9 * square) / 3
        mean = (base + 3 * mean) / 2
        variance = square - mean**2
        assert abs(np.mean(sample) - mean) < 4 * math.sqrt(variance / CLIENTS)
        assert np.var(sample) == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize("cap", [6.0, 1e6])
def test_decorrelated_waits_follow_their_distribution(cap: float) -> None:
    first, second = walk(Exponential(base=1, cap=cap), Decorrelated(), 2, CLIENTS)
    assert_follows(first, stats.uniform(1, 2).cdf, mean=2, variance=4 / 12)

    reach = np.minimum(cap, 3 * (1 + 2 * (np.arange(4_000) + 0.5) / 4_000))

    def cdf(waits: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = [np.clip((wait - 1) / (reach - 1), 0, 1).mean() for wait in waits]
        return np.array(shares)

    assert stats.kstest(second, cdf).pvalue > 0.01
    assert max(second) < min(cap, 9)


def smooth_line(t: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(2**t * np.tanh(np.sqrt(4 * t)) / 1.4, dtype=np.float64)


@pytest.mark.parametrize("base", [0.1, 1.0])
def test_smooth_sums_and_waits_follow_their_distribution(base: float) -> None:
    part = np.linspace(0, 1, 2_001)
    rounds = walk(Exponential(base=base, cap=1e6), Smooth(), 4, CLIENTS)
    sums = np.cumsum(np.array(rounds), axis=0) / base
    for window, (sample, waits) in enumerate(zip(sums, rounds, strict=True)):
        points = smooth_line(window + part)

        def sum_cdf(
            x: NDArray[np.float64], points: NDArray[np.float64] = points
        ) -> NDArray[np.float64]:
            return np.interp(x, points, part)

        mean = integrate.quad(lambda u, w=window: line(w + u), 0, 1)[0]
        square = integrate.quad(lambda u, w=window: line(w + u) ** 2, 0, 1)[0]
        assert_follows(sample.tolist(), sum_cdf, mean, square - mean**2)

        start = smooth_line(window - 1 + (part[:-1] + part[1:]) / 2) if window else np.zeros(1)
        grid = np.linspace(0, float(max(waits)) / base, 801)
        shares = np.array([sum_cdf(x + start).mean() for x in grid])
        wait_cdf = stats.kstest(
            np.array(waits) / base, lambda x, g=grid, s=shares: np.interp(x, g, s)
        )
        assert wait_cdf.pvalue > 0.01


# --- No value with mass, no sudden wave ---------------------------------------------------------


def late_sample(backoff: Backoff, jitter: Jitter, attempts: int) -> list[float]:
    """Draw many waits after so many attempts, with as much of a past as the jitter remembers."""
    past = {Decorrelated: 8, Smooth: 1}.get(type(jitter), 0)
    memories: list[Memory] = [None] * CLIENTS
    sample: list[float] = []
    for failed in range(max(1, attempts - past), attempts + 1):
        pairs = [
            jitter.wait(backoff, failed, memory, draw)
            for memory, draw in zip(memories, draw_many(CLIENTS, failed), strict=True)
        ]
        sample = [wait for wait, _ in pairs]
        memories = [memory for _, memory in pairs]
    return sample


@pytest.mark.slow
@pytest.mark.parametrize("attempts", [1, 3, 9, 10_000])
@pytest.mark.parametrize("backoff", BACKOFFS, ids=str)
@pytest.mark.parametrize("jitter", JITTERS[1:], ids=str)
def test_no_wait_is_drawn_more_often_than_another(
    jitter: Jitter, backoff: Backoff, attempts: int
) -> None:
    counts = Counter(late_sample(backoff, jitter, attempts))
    assert max(counts.values()) <= 2
    assert len(counts) >= CLIENTS - 5


def test_the_published_decorrelated_form_piles_up_on_the_cap() -> None:
    backoff = Exponential(base=0.1, cap=10)
    piled = Counter(late_sample(backoff, PILING, 9))[10.0] / CLIENTS
    assert 0.1 < piled < 0.3
    assert Counter(late_sample(backoff, Decorrelated(), 9))[10.0] == 0


def largest_step(jitter: Jitter, clients: int, attempts: int = 5) -> float:
    """Find the largest jump of arrivals between 100 ms buckets, per thousand clients."""
    rounds = np.array(walk(Exponential(base=1), jitter, attempts, clients))
    arrivals = np.cumsum(rounds, axis=0).ravel()
    buckets = np.bincount((arrivals * 10).astype(np.int64))
    return float(np.abs(np.diff(buckets, prepend=0, append=0)).max()) * 1_000 / clients


@pytest.mark.slow
def test_smooth_arrivals_have_no_edge() -> None:
    assert largest_step(Smooth(), clients=200_000) <= 20


@pytest.mark.slow
def test_full_jitter_begins_with_a_wall() -> None:
    assert largest_step(Full(), clients=200_000) == pytest.approx(100, abs=5)
