"""Which messages an endpoint wants, and how old they are to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.endpoint import Parking
from tarry.testing.samples import an_endpoint


@pytest.mark.parametrize(
    ("chosen", "event_type", "wanted"),
    [
        (None, "invoice.paid", True),
        (("invoice.paid", "invoice.void"), "invoice.void", True),
        (("invoice.paid",), "invoice", False),
        (("invoice",), "invoice.paid", False),
        ((), "invoice.paid", False),
    ],
)
def test_an_endpoint_chooses_by_event_type(
    chosen: tuple[str, ...] | None, event_type: str, *, wanted: bool
) -> None:
    assert an_endpoint("app_1", event_types=chosen).wants(event_type, ()) is wanted


@pytest.mark.parametrize(
    ("chosen", "channels", "wanted"),
    [
        (None, (), True),
        (None, ("eu",), True),
        (("eu", "uk"), ("us", "uk"), True),
        (("eu",), ("us",), False),
        (("eu",), (), False),
        ((), ("eu",), False),
    ],
)
def test_an_endpoint_chooses_by_channel(
    chosen: tuple[str, ...] | None, channels: tuple[str, ...], *, wanted: bool
) -> None:
    assert an_endpoint("app_1", channels=chosen).wants("invoice.paid", channels) is wanted


def test_both_choices_must_agree() -> None:
    endpoint = an_endpoint("app_1", event_types=("a",), channels=("eu",))
    assert endpoint.wants("a", ("eu",))
    assert not endpoint.wants("b", ("eu",))
    assert not endpoint.wants("a", ("us",))


@pytest.mark.parametrize(
    ("parked", "age"),
    [
        ((), 100.0),
        (((0.0, 500.0),), 100.0),  # before it was accepted
        (((1010.0, 1030.0),), 80.0),
        (((990.0, 1030.0),), 70.0),
        (((1090.0, 1200.0),), 90.0),  # it ends later: what is left does not count yet
        (((1040.0, None),), 40.0),
        (((900.0, None),), 0.0),
        (((1010.0, 1020.0), (1050.0, 1060.0)), 80.0),
        (((1200.0, None),), 100.0),  # not parked yet
    ],
)
def test_the_time_it_was_parked_makes_nothing_older(
    parked: tuple[Parking, ...], age: float
) -> None:
    assert an_endpoint("app_1", parked=parked).age(1000.0, 1100.0) == age


def test_nothing_is_younger_than_new() -> None:
    assert an_endpoint("app_1").age(1000.0, 900.0) == 0.0


@given(
    spans=st.lists(st.integers(0, 50), min_size=2, max_size=8),
    moments=st.lists(st.integers(0, 300), min_size=2, max_size=5),
)
def test_an_age_never_goes_back(spans: list[int], moments: list[int]) -> None:
    edges = [float(sum(spans[: place + 1])) for place in range(len(spans))]
    parked = tuple(zip(edges[::2], [*edges[1::2], None], strict=False))
    endpoint = an_endpoint("app_1", parked=parked)
    first, *later = sorted(map(float, moments))
    ages = [endpoint.age(first, now) for now in later]
    assert ages == sorted(ages)
    assert all(0.0 <= age <= now - first for age, now in zip(ages, later, strict=True))
