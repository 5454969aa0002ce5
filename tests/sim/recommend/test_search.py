import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fixed
from tarry.core.jitter import Equal, Full
from tarry.sim.chance import Chance
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.miniature import Size, Trial
from tarry.sim.recommend.search import (
    Measured,
    chosen,
    conditions,
    dominates,
    front,
    lasting,
    measure,
    recovered,
    shortlist,
)
from tarry.sim.recommend.wish import Wish

WISH = Wish(clients=2_000, capacity=100, outage=200, latency=120)
RISING = Candidate("rising", Exponential(base=1, cap=40), Equal())
FLAT = Candidate("flat", Fixed(40), Equal())
STORMY = Candidate("stormy", Fixed(20), Full())

prices = st.tuples(*[st.integers(0, 5).map(float)] * 3)


def measured(
    candidate: Candidate, *times: float | None, peak: float = 0.9, attempts: float = 5.0
) -> Measured:
    """Say what a candidate did: the first run is as wished for."""
    first, *others = (Trial(time, peak, attempts) for time in times)
    return Measured(candidate, (first,), tuple(others))


def test_worse_is_more_clients_or_a_longer_outage() -> None:
    wish, more, longer = conditions(WISH)
    assert wish == WISH
    assert more == WISH.replace(clients=2_200)
    assert longer == WISH.replace(outage=300)


def test_worse_stays_within_what_may_be_wished_for() -> None:
    for edge in (
        WISH.replace(clients=10_000_000),
        WISH.replace(clients=1_000_000, capacity=1),
        WISH.replace(outage=1e8),
    ):
        assert conditions(edge)[0] == edge
        assert conditions(edge)[1].clients >= edge.clients
        assert conditions(edge)[2].outage >= edge.outage


def test_everybody_is_played_in_all_conditions_under_the_same_chance() -> None:
    found: list[Measured] = []
    heard: list[None] = []
    chances = [Chance(1, 0), Chance(1, 1)]
    measure(
        [RISING, FLAT],
        WISH,
        Size(),
        chances,
        into=found,
        on_step=lambda: heard.append(None),
    )
    assert [one.candidate for one in found] == [RISING, FLAT]
    assert [(len(one.plain), len(one.worse)) for one in found] == [(2, 4), (2, 4)]
    assert len(heard) == 12
    again: list[Measured] = []
    measure([FLAT], WISH, Size(), chances, into=again, on_step=lambda: None)
    assert again == found[1:]


def test_who_is_far_behind_is_given_up_early_and_still_counted() -> None:
    found: list[Measured] = []
    heard: list[None] = []
    measure(
        [RISING, Candidate("slow", Fixed(400), Full())],
        WISH,
        Size(),
        [Chance(1)],
        into=found,
        on_step=lambda: heard.append(None),
    )
    quick, slow = found
    assert math.isfinite(quick.worst)
    assert math.isinf(slow.worst)
    assert len(slow.worse) == 0
    assert len(heard) == 6
    assert recovered(found) == [quick]


def test_if_nobody_recovers_all_are_kept() -> None:
    none = [measured(RISING, None), measured(FLAT, None)]
    assert recovered(none) == none


def test_the_worst_run_decides() -> None:
    brave = measured(RISING, 10.0, 90.0)
    steady = measured(FLAT, 30.0, 30.0)
    assert chosen(WISH, [brave, steady]) == steady


def test_close_to_the_best_a_rising_one_is_preferred() -> None:
    flat, rising = measured(FLAT, 30.0), measured(RISING, 32.0)
    assert chosen(WISH, [flat, rising]) == rising
    assert chosen(WISH, [flat, measured(RISING, 34.0)]) == flat


def test_close_to_the_best_one_that_never_overloads_is_preferred() -> None:
    calm, loud = measured(FLAT, 32.0), measured(RISING, 30.0, peak=1.2)
    assert chosen(WISH, [calm, loud]) == calm


def test_a_wild_peak_must_be_worth_it() -> None:
    wild = measured(RISING, 30.0, peak=50)
    assert chosen(WISH, [wild, measured(FLAT, 44.0)]).candidate == FLAT
    assert chosen(WISH, [wild, measured(FLAT, 46.0)]).candidate == RISING


def test_what_would_be_a_storm_in_a_longer_outage_is_not_chosen() -> None:
    assert not lasting(WISH, STORMY)
    assert lasting(WISH, FLAT)
    assert lasting(WISH.replace(endpoint="shed"), STORMY)
    assert chosen(WISH, [measured(STORMY, 22.0), measured(FLAT, 32.0)]).candidate == FLAT


def test_if_none_recovers_the_gentlest_is_chosen() -> None:
    assert chosen(WISH, [measured(STORMY, None), measured(FLAT, None)]).candidate == FLAT


def test_a_single_one_is_chosen_whatever_it_does() -> None:
    wild = measured(STORMY, 30.0, peak=50)
    assert chosen(WISH, [wild]) == wild


def test_the_short_list_has_the_soonest_and_both_ends_of_the_front() -> None:
    found = [
        measured(
            Candidate(f"{number}", Fixed(number), Full()),
            float(number),
            peak=1 / number,
            attempts=100 / number,
        )
        for number in range(10, 40)
    ]
    names = [candidate.name for candidate in shortlist(found)]
    assert names[:6] == ["10", "11", "12", "13", "14", "15"]
    assert names[-1] == "39"
    assert len(set(names)) == len(names) <= 12


@pytest.mark.parametrize("times", [(5.0,), (None,)])
def test_a_short_list_of_one_is_that_one(times: tuple[float | None]) -> None:
    assert shortlist([measured(FLAT, *times)]) == [FLAT]


def test_what_is_nowhere_better_and_somewhere_worse_is_dominated() -> None:
    assert dominates((1, 1, 1), (1, 1, 2))
    assert not dominates((1, 1, 1), (1, 1, 1))
    assert not dominates((1, 1, 2), (2, 1, 1))


def test_the_front_starts_with_the_cheapest_in_the_first_respect() -> None:
    found = [("slow", (3.0, 1.0)), ("bad", (3.0, 3.0)), ("quick", (1.0, 3.0)), ("mid", (2.0, 2.0))]
    assert front(found) == ["quick", "mid", "slow"]


@given(st.lists(prices, max_size=30))
def test_the_front_is_all_that_is_not_dominated(found: list[tuple[float, ...]]) -> None:
    kept = front([(price, price) for price in found])
    for price in found:
        better = [other for other in found if dominates(other, price)]
        assert (price in kept) == (not better)
    assert kept == sorted(kept)
    assert len(kept) == sum(price in kept for price in found)
