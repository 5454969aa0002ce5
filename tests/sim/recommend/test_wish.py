import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import ScenarioError
from tarry.sim.recommend.wish import Wish

PLAIN = Wish(clients=10_000, capacity=200, outage=600, latency=120)


def test_an_endpoint_is_brittle_unless_said_otherwise() -> None:
    assert PLAIN.endpoint == "brittle"


def test_the_drain_limit_is_what_the_capacity_needs_for_all() -> None:
    assert PLAIN.drain == 50
    assert PLAIN.unit == 50


@pytest.mark.parametrize(
    ("outage", "latency", "unit"),
    [(60, 60, 1), (3600, 60, 3.6), (3600, 8, 2), (3600, 1, 1), (86_400, 3600, 86.4)],
)
def test_waits_are_no_shorter_than_a_second_or_a_thousandth_of_the_outage_if_there_is_time(
    outage: float, latency: float, unit: float
) -> None:
    wish = Wish(clients=10, capacity=200, outage=outage, latency=latency)
    assert wish.unit == pytest.approx(unit)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("clients", 0, "a whole number, 1 or more"),
        ("clients", 1.5, "a whole number, 1 or more"),
        ("clients", 10_000_001, "at most 10,000,000"),
        ("capacity", 0.5, "a number, 1 or more: an endpoint feels overload by the second"),
        ("capacity", math.nan, "a number, 1 or more: an endpoint feels overload by the second"),
        ("outage", 0, "a number of seconds above 0, up to 1,000,000,000"),
        ("outage", -1, "a number of seconds above 0, up to 1,000,000,000"),
        ("outage", 2e8, "at most 100,000,000"),
        ("latency", 0, "a number of seconds above 0, up to 1,000,000,000"),
        ("latency", math.inf, "a number of seconds above 0, up to 1,000,000,000"),
        ("endpoint", "glass", "one of shed, brittle, degrade"),
    ],
)
def test_nonsense_is_refused_with_its_name(field: str, value: object, wanted: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        PLAIN.replace(**{field: value})
    assert caught.value.field == field
    assert caught.value.value is value
    assert caught.value.wanted == wanted


def test_a_drain_of_weeks_is_refused() -> None:
    with pytest.raises(ScenarioError, match="at least 5 for 5,000,000 clients"):
        Wish(clients=5_000_000, capacity=4, outage=60, latency=60)


@given(
    clients=st.integers(1, 1_000_000),
    capacity=st.floats(1, 1e6),
    outage=st.floats(0.1, 1e6),
    latency=st.floats(0.1, 1e6),
)
def test_the_unit_is_never_below_the_drain_limit(
    clients: int, capacity: float, outage: float, latency: float
) -> None:
    wish = Wish(clients=clients, capacity=capacity, outage=outage, latency=latency)
    assert wish.unit >= max(1.0, wish.drain)
