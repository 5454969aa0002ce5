import pytest

from tarry.service.wire.fair_shares import FairQueue, Shares


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


def queue_of(*names: tuple[str, str], slow: tuple[tuple[str, str], ...] = ()) -> FairQueue:
    queue = FairQueue()
    for owner, name in names:
        queue.add(owner, name, slow=False)
    for owner, name in slow:
        queue.add(owner, name, slow=True)
    return queue


def drained(queue: FairQueue) -> list[tuple[str, str]]:
    """Take out all names, whatever they are."""
    taken = []
    while (chosen := queue.take(lambda _owner, _slow: True)) is not None:
        taken.append(chosen)
    return taken


def test_owners_take_turns_whoever_has_how_many_names() -> None:
    queue = queue_of(("a", "1"), ("a", "2"), ("a", "3"), ("b", "4"), ("b", "5"), ("c", "6"))
    order = [("a", "1"), ("b", "4"), ("c", "6"), ("a", "2"), ("b", "5"), ("a", "3")]
    assert drained(queue) == order
    assert drained(queue) == []


def test_an_owner_that_may_not_run_is_passed_over_and_not_forgotten() -> None:
    queue = queue_of(("a", "1"), ("b", "2"), ("b", "3"))
    assert queue.take(lambda owner, _slow: owner == "b") == ("b", "2")
    assert queue.take(lambda owner, _slow: owner == "b") == ("b", "3")
    assert queue.take(lambda owner, _slow: owner == "b") is None
    assert drained(queue) == [("a", "1")]


def test_slow_names_wait_behind_the_owners_other_names() -> None:
    queue = queue_of(("a", "2"), slow=(("a", "1"), ("b", "3")))
    assert drained(queue) == [("a", "2"), ("b", "3"), ("a", "1")]


def test_slow_names_may_be_passed_over_alone() -> None:
    queue = queue_of(("b", "2"), slow=(("a", "1"),))
    assert queue.take(lambda _owner, slow: not slow) == ("b", "2")
    assert queue.take(lambda _owner, slow: not slow) is None
    assert drained(queue) == [("a", "1")]


def test_two_owners_may_wait_for_one_name() -> None:
    queue = queue_of(("a", "1"), ("b", "1"))
    queue.discard("a", "1")
    assert drained(queue) == [("b", "1")]


def test_names_can_be_taken_out() -> None:
    queue = queue_of(("a", "1"), ("a", "2"), slow=(("a", "3"), ("b", "4")))
    queue.discard("a", "1")
    queue.discard("a", "3")
    queue.discard("a", "nothing")
    queue.discard("nobody", "1")
    assert drained(queue) == [("a", "2"), ("b", "4")]
    queue.add("a", "5", slow=True)
    queue.clear()
    assert drained(queue) == []
