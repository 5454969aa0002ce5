"""Which messages an endpoint wants, how old they are to it, and how it comes to stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.endpoint import Parking, Secret, Standing, Subscriber
from tarry.testing.samples import an_application, an_endpoint


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


@pytest.mark.parametrize(
    ("parked", "standing", "after"),
    [
        ((), Standing.PAUSED, ()),
        ((), Standing.PARKED, ((9.0, None),)),
        (((1.0, 2.0),), Standing.PARKED, ((1.0, 2.0), (9.0, None))),
        (((1.0, None),), Standing.PARKED, ((1.0, None),)),
        (((1.0, 2.0), (3.0, None)), Standing.ENABLED, ((1.0, 2.0), (3.0, 9.0))),
        (((1.0, None),), Standing.DELETED, ((1.0, 9.0),)),
        (((10.0, None),), Standing.ENABLED, ((10.0, 10.0),)),  # by another clock
    ],
)
def test_a_parking_begins_and_ends_with_the_standing(
    parked: tuple[Parking, ...], standing: Standing, after: tuple[Parking, ...]
) -> None:
    found = an_endpoint("app_1", parked=parked).stand(standing, 9.0)
    assert (found.standing, found.parked, found.updated_at) == (standing, after, 9.0)


def test_a_deleted_endpoint_stays_so_and_has_no_secrets_any_more() -> None:
    endpoint = an_endpoint("app_1", secrets=(Secret(b"x"),), headers=b"x")
    assert endpoint.stand(Standing.DISABLED, 9.0).secrets == endpoint.secrets
    gone = endpoint.stand(Standing.DELETED, 9.0)
    assert (gone.secrets, gone.headers) == ((), None)
    assert gone.stand(Standing.ENABLED, 10.0) == gone


def test_who_follows_a_stored_endpoint_keeps_its_place_and_its_parkings() -> None:
    stored = an_endpoint("app_1", lane=3, standing=Standing.PARKED, parked=((1.0, None),))
    old = an_endpoint("app_2", lane=4, url="https://new.example", parked=(), updated_at=9.0)
    found = old.following(stored)
    assert (found.id, found.application, found.lane) == (stored.id, "app_1", 3)
    assert (found.standing, found.parked) == (Standing.ENABLED, ((1.0, 9.0),))
    assert (found.url, found.updated_at) == ("https://new.example", 9.0)


@pytest.mark.parametrize("event_types", [None, ("a",), ("b", "c")])
@pytest.mark.parametrize("channels", [None, ("x",), ("y", "z")])
@pytest.mark.parametrize("sent", [("a", ()), ("a", ("x",)), ("b", ("z", "x")), ("d", ("x",))])
def test_a_subscriber_wants_what_its_endpoint_wants(
    event_types: tuple[str, ...] | None,
    channels: tuple[str, ...] | None,
    sent: tuple[str, tuple[str, ...]],
) -> None:
    endpoint = an_endpoint(an_application(), event_types=event_types, channels=channels)
    subscriber = Subscriber(
        id=endpoint.id,
        lane=1,
        standing=endpoint.standing,
        event_types=event_types,
        channels=channels,
    )
    assert subscriber.wants(*sent) == endpoint.wants(*sent)


def test_only_deliveries_to_a_disabled_endpoint_are_skipped() -> None:
    skipping = {
        standing for standing in Standing if Subscriber(id="a", lane=1, standing=standing).skips
    }
    assert skipping == {Standing.DISABLED}
