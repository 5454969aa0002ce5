from hypothesis import given
from hypothesis import strategies as st

from tarry.sim.front import dominates, front

prices = st.tuples(*[st.integers(0, 5).map(float)] * 3)


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
