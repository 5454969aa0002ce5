"""Where an application's lanes are, and its share of places."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.application import SHARDS, Shares, shard_of
from tarry.service.model.ids import APPLICATION, CHANCE, make
from tarry.testing.samples import an_application


def test_every_process_and_version_agrees_on_a_shard() -> None:
    known = ["app_1", "app_2", "app_0VgmOYqX0000000000000000000", "Bär"]
    assert [shard_of(application) for application in known] == [13, 55, 10, 14]


@given(application=st.text())
def test_every_application_is_in_one_of_the_shards(application: str) -> None:
    assert 0 <= shard_of(application) < SHARDS


def test_applications_spread_over_the_shards() -> None:
    made = [make(APPLICATION, now=1.8e9, entropy=number.to_bytes(CHANCE)) for number in range(6400)]
    counts = Counter(map(shard_of, made))
    assert len(counts) == SHARDS
    assert max(counts.values()) < 200


def test_an_application_knows_its_shard() -> None:
    application = an_application()
    assert application.shard == shard_of(application.id)


def filled(shares: Shares, owner: str) -> int:
    """Take all places that an owner may have, and return how many it holds."""
    while shares.allows(owner):
        shares.take(owner)
    return shares.held(owner)


@pytest.mark.parametrize(("places", "alone"), [(1, 1), (2, 1), (3, 2), (10, 5), (32, 16)])
def test_one_owner_alone_may_have_half(places: int, alone: int) -> None:
    shares = Shares(places)
    assert filled(shares, "a") == alone
    assert shares.free == places - alone


def test_two_owners_that_take_turns_have_a_third_each() -> None:
    shares = Shares(30)
    while shares.allows("a") or shares.allows("b"):
        for owner in ("a", "b"):
            if shares.allows(owner):
                shares.take(owner)
    assert [shares.held("a"), shares.held("b"), shares.free] == [10, 10, 10]


def test_a_newcomer_finds_places_although_another_has_all_it_may() -> None:
    shares = Shares(32)
    assert [filled(shares, owner) for owner in "abc"] == [16, 8, 4]


def test_places_held_elsewhere_count() -> None:
    shares = Shares(4)
    assert shares.allows("a", 3)
    assert not shares.allows("a", 4)
    shares.take("a")
    assert shares.allows("a", 1)
    assert not shares.allows("a", 2)


def test_a_place_that_is_given_back_is_free_again() -> None:
    shares = Shares(2)
    shares.take("a")
    shares.take("a")
    assert (shares.free, shares.held("a"), shares.held("b")) == (0, 2, 0)
    shares.give_back("a")
    assert (shares.free, shares.held("a")) == (1, 1)
    shares.give_back("a")
    assert (shares.free, shares.held("a")) == (2, 0)
    with pytest.raises(KeyError):
        shares.give_back("a")
