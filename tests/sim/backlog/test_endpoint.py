"""An endpoint against the definitions of its manners, and its capacity against integration."""

import math
from bisect import bisect_right

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tarry.sim.backlog.endpoint import BURST, Capacity, Endpoint, Manner
from tarry.sim.chance import Chance


def steady(level: float) -> Capacity:
    return Capacity(((0.0, level),))


def endpoint(manner: Manner, capacity: float = 200.0, queue: float = 0.0) -> Endpoint:
    return Endpoint(manner, steady(capacity), Chance(1).draws("endpoint"), queue)


# --- Capacity -----------------------------------------------------------------------------------


def test_capacity_goes_by_steps() -> None:
    capacity = Capacity(((0.0, 200.0), (25.0, 100.0), (40.0, 300.0)))
    found = [capacity.at(now) for now in (-1, 0, 24.9, 25, 39.9, 40, 1e6)]
    assert found == [200, 200, 200, 100, 100, 300, 300]


def test_a_cold_start_grows_from_a_tenth() -> None:
    capacity = Capacity(((0.0, 200.0), (15.0, 100.0)), cold_start=30.0)
    assert [capacity.at(now) for now in (-1, 0, 10, 30)] == [20, 20, pytest.approx(80), 100]
    assert capacity.at(15) == pytest.approx(55)
    assert capacity.given(0) == 200


@pytest.mark.parametrize(
    ("capacity", "waiting", "arrivals", "wanted"),
    [
        (steady(200), 10_000, 0, 50),
        (steady(200), 10_000, 100, 100),
        (steady(200), 10_000, 200, None),
        (Capacity(((0, 200), (25, 100))), 10_000, 0, 75),
        (Capacity(((0, 200), (25, 400))), 10_000, 0, 37.5),
        (Capacity(((0, 200), (25, 100))), 10_000, 150, None),
        (Capacity(((0, 100), (25, 200))), 10_000, 150, 25 + 11_250 / 50),
        (Capacity(((0, 200),), cold_start=30), 10_000, 0, 63.5),
        # 20 t + 0.9 t² = 2,000
        (Capacity(((0, 200),), cold_start=100), 2_000, 0, (math.sqrt(7_600) - 20) / 1.8),
    ],
)
def test_the_drain_of_known_worlds(
    capacity: Capacity, waiting: int, arrivals: float, wanted: float | None
) -> None:
    found = capacity.drained_at(waiting, arrivals)
    assert found == (None if wanted is None else pytest.approx(wanted, rel=1e-6))


capacities = st.builds(
    lambda gaps, levels, cold: Capacity(
        tuple(zip(np.cumsum([0.0, *gaps]).tolist(), levels, strict=False)), cold
    ),
    st.lists(st.floats(0.5, 40), max_size=4),
    st.lists(st.floats(1, 500), min_size=5, max_size=5),
    st.just(0.0) | st.floats(0.5, 60),
)


@pytest.mark.slow
@given(capacities, st.integers(1, 20_000), st.floats(0, 400))
def test_the_drain_agrees_with_numeric_integration(
    capacity: Capacity, waiting: int, arrivals: float
) -> None:
    found = capacity.drained_at(waiting, arrivals)
    end = max(capacity.steps[-1][0], capacity.cold_start)
    final = capacity.at(end)
    assume(abs(final - arrivals) > 1)
    if found is None:
        assert final < arrivals
        return
    assume(found < 2_000)
    # The middle of each sliver; bends are sampled well enough at this many.
    edges = np.linspace(0, found, 20_001)
    middles = (edges[1:] + edges[:-1]) / 2
    spare = np.array([capacity.at(now) for now in middles]) - arrivals
    done = np.cumsum(spare) * (found / 20_000)
    coarse = 500 * found / 20_000 * 6 + 1e-6 * waiting
    assert done[-1] == pytest.approx(waiting, abs=coarse)
    assert done[:-1].max(initial=0.0) <= waiting + coarse  # and never before


# --- Shed ---------------------------------------------------------------------------------------


def test_a_shedding_endpoint_serves_its_capacity_and_refuses_the_rest() -> None:
    shed = endpoint("shed")
    times = np.arange(0, 10, 1 / 500)  # two and a half times what it can do
    served = [float(now) for now in times if shed.accepts(float(now), 1)]
    assert len(served) == pytest.approx(2_000, abs=200 * BURST + 2)
    for second in range(9):
        within = bisect_right(served, second + 1) - bisect_right(served, second)
        assert within == pytest.approx(200, abs=200 * BURST + 2)


def test_a_shedding_endpoint_refuses_nothing_below_its_capacity() -> None:
    shed = endpoint("shed")
    assert all(shed.accepts(number / 199, 1) for number in range(2_000))


def test_a_shedding_endpoint_takes_no_more_than_a_burst_at_once() -> None:
    assert endpoint("shed").accepts(0.0, 10_000) == 1 + 200 * BURST
    assert endpoint("shed", capacity=0.5).accepts(0.0, 10) == 2


def test_a_queue_lets_so_many_seconds_of_work_wait_and_answers_later() -> None:
    queueing = endpoint("shed", queue=3.0)
    assert queueing.accepts(0.0, 10_000) == 601
    assert queueing.delay(0.0) == pytest.approx(3.0, abs=0.01)
    assert queueing.accepts(1.0, 10_000) == 200
    assert endpoint("shed").delay(0.0) == 0.0


# --- Brittle ------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(0, 0.3), min_size=1, max_size=80),
    st.integers(1, 12),
)
def test_a_brittle_endpoint_fails_whenever_the_last_second_had_more_than_it_can_do(
    gaps: list[float], capacity: int
) -> None:
    brittle = endpoint("brittle", capacity=capacity)
    times = np.cumsum(gaps)
    for place, now in enumerate(times):
        within = sum(now - 1 < time for time in times[: place + 1])
        assert brittle.accepts(float(now), 1) == (1 if within <= capacity else 0)


def test_a_brittle_endpoint_is_well_again_a_second_later() -> None:
    brittle = endpoint("brittle", capacity=10)
    assert [brittle.accepts(now, 11) for now in (0.0, 0.5)] == [0, 0]
    assert brittle.accepts(1.5, 10) == 10


# --- Degrade ------------------------------------------------------------------------------------


@pytest.mark.parametrize("offered", [100, 200, 250, 400, 800])
def test_what_gets_through_a_degrading_endpoint_falls_with_the_offer(offered: int) -> None:
    degrade = endpoint("degrade")
    times = np.arange(0, 40, 1 / offered)
    through = sum(degrade.accepts(float(now), 1) for now in times)
    goodput = min(offered, 200**2 / offered)
    first = min(offered, 400 - goodput)  # in the first second the offer is yet to be felt
    wanted = first + 39 * goodput
    assert through == pytest.approx(wanted, rel=0.05)


# --- Ticks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("manner", ["shed", "brittle", "degrade"])
@pytest.mark.parametrize("offered", [100, 180, 300, 600])
def test_ticks_and_single_attempts_agree(manner: Manner, offered: int) -> None:
    alone, in_ticks = endpoint(manner), endpoint(manner)
    times = (np.arange(30 * offered) + 0.5) / offered
    one_by_one = sum(alone.accepts(float(now), 1) for now in times)
    counts = np.bincount((times * 10).astype(int))
    together = sum(
        in_ticks.accepts((tick + 1) / 10, int(count), 0.1) for tick, count in enumerate(counts)
    )
    assert together == pytest.approx(one_by_one, rel=0.05, abs=offered * 0.2)
