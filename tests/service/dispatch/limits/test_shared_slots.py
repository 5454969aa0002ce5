"""Slots: nobody has more than are free, those that come free go round, nobody is forgotten."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.dispatch.clock import Timer
from tarry.service.dispatch.limits.shared import MOST_IN_A_TURN, Slots


class FakeLane:
    """A lane that wants to send so many, and sends whenever it may."""

    def __init__(self, slots: Slots, tenant: str, wanted: int = 10**9) -> None:
        self.slots, self.tenant, self.wanted = slots, tenant, wanted
        self.in_flight = self.pumped = 0

    def pump(self) -> None:
        self.pumped += 1
        while self.wanted and self.slots.take(self):
            self.wanted -= 1
            self.in_flight += 1

    def answered(self) -> None:
        self.in_flight -= 1
        self.slots.give_back(self)
        self.slots.serve()
        self.pump()


def pumped(slots: Slots, *tenants: str) -> list[FakeLane]:
    """Lanes of these tenants, which have taken what they could in this order."""
    lanes = [FakeLane(slots, tenant) for tenant in tenants]
    for lane in lanes:
        lane.pump()
    return lanes


@pytest.mark.parametrize(("most", "taken"), [(1, 1), (2, 1), (3, 2), (10, 5), (1000, 500)])
def test_one_alone_may_have_half(most: int, taken: int) -> None:
    slots = Slots(most)
    (lane,) = pumped(slots, "a")
    assert (lane.in_flight, slots.free) == (taken, most - taken)


def test_lanes_of_one_tenant_share_what_a_tenant_may_have() -> None:
    slots = Slots(100)
    lanes = pumped(slots, "a", "a", "a")
    assert sum(lane.in_flight for lane in lanes) == 50


def test_who_comes_new_finds_some_although_another_has_all_it_may() -> None:
    lanes = pumped(Slots(100), "a", "b", "c")
    assert [lane.in_flight for lane in lanes] == [50, 25, 13]


@pytest.mark.parametrize("tenants", [2, 3, 5])
def test_in_the_long_run_busy_tenants_have_the_same(tenants: int) -> None:
    slots = Slots(120)
    lanes = pumped(slots, *map(str, range(tenants)))
    chance = Random(7)
    for _ in range(3000):
        chance.choices(lanes, [lane.in_flight for lane in lanes])[0].answered()
    share = 120 // (tenants + 1)
    assert all(abs(lane.in_flight - share) <= 1 for lane in lanes)
    assert abs(slots.free - share) <= tenants


def test_a_tenant_with_many_lanes_gets_no_more_than_one_with_a_single_lane() -> None:
    slots = Slots(90)
    lanes = pumped(slots, *["many"] * 20, "one")
    chance = Random(7)
    for _ in range(3000):
        chance.choices(lanes, [lane.in_flight for lane in lanes])[0].answered()
    assert lanes[-1].in_flight == pytest.approx(30, abs=1)
    assert sum(lane.in_flight for lane in lanes[:-1]) == pytest.approx(30, abs=1)


def test_a_slot_that_comes_free_goes_to_the_tenant_that_waits_longest() -> None:
    slots = Slots(2)
    first, second, third, fourth = pumped(slots, "a", "b", "c", "d")
    assert [lane.in_flight for lane in (first, second, third, fourth)] == [1, 1, 0, 0]
    second.wanted = 0
    second.answered()
    assert (third.in_flight, fourth.in_flight) == (1, 0)


@pytest.mark.parametrize("others", [7, 8, 30])
def test_a_free_slot_goes_to_a_tenant_without_any_however_many_have_their_share(
    others: int,
) -> None:
    slots = Slots(2 * others)
    hanging = [FakeLane(slots, f"hanging {number}") for number in range(others)]
    for lane in hanging:
        for _ in range(2):
            slots.take_anyway(lane)
    for lane in hanging:
        lane.pump()
    (healthy,) = pumped(slots, "healthy")
    hanging[0].wanted = 0
    hanging[0].answered()
    assert (healthy.in_flight, slots.free) == (1, 0)


def test_lanes_of_a_tenant_are_let_in_one_after_the_other() -> None:
    slots = Slots(2)
    holder, *waiting = pumped(slots, "a", "a", "a", "a")
    for lane in waiting:
        lane.wanted = 1
    holder.wanted = 0
    order = []
    working = holder
    for _ in waiting:
        working.answered()
        working = next(lane for lane in waiting if lane.in_flight)
        order.append(waiting.index(working))
    assert order == [0, 1, 2]


def test_nobody_is_served_while_nothing_is_free_for_them() -> None:
    slots = Slots(10)
    (lane,) = pumped(slots, "a")
    slots.serve()
    assert lane.pumped == 1


def test_a_lane_waits_once_however_often_it_asks() -> None:
    slots = Slots(2)
    lane, other = pumped(slots, "a", "a")
    for _ in range(5):
        assert not slots.take(other)
    other.wanted = 0
    lane.wanted = 0
    lane.answered()
    slots.serve()
    assert other.pumped == 2


def test_one_that_does_not_want_any_more_is_passed_by() -> None:
    slots = Slots(2)
    lane, other, third = pumped(slots, "a", "a", "a")
    slots.forget(other)
    slots.forget(other)
    lane.wanted = 0
    lane.answered()
    assert (other.in_flight, third.in_flight) == (0, 1)


def test_a_tenant_whose_only_lane_that_waited_is_forgotten_does_not_wait_any_more() -> None:
    slots = Slots(1)
    first, gone, third = pumped(slots, "a", "b", "c")
    slots.forget(gone)
    first.wanted = 0
    first.answered()
    assert (gone.in_flight, third.in_flight, slots.free) == (0, 1, 0)


def test_one_that_never_waited_can_be_forgotten() -> None:
    Slots(2).forget(FakeLane(Slots(2), "a"))


def test_what_cannot_wait_counts_as_well() -> None:
    slots = Slots(2)
    lane, other = FakeLane(slots, "a"), FakeLane(slots, "b")
    for _ in range(3):
        slots.take_anyway(lane)
    other.pump()
    assert (other.in_flight, slots.free) == (0, -1)
    slots.give_back(lane)
    slots.serve()
    assert other.in_flight == 0
    slots.give_back(lane)
    slots.serve()
    assert (other.in_flight, slots.free) == (1, 0)


def test_the_room_is_what_could_be_had_now() -> None:
    slots = Slots(10)
    lane, other = FakeLane(slots, "a"), FakeLane(slots, "a")
    assert slots.room(lane) == 10
    lane.pump()
    assert (slots.room(lane), slots.room(other)) == (0, 0)
    assert slots.room(FakeLane(slots, "b")) == 5


@given(
    most=st.integers(1, 40),
    lanes=st.lists(st.tuples(st.sampled_from("abcdefghijklmno"), st.integers(0, 30)), max_size=40),
    chance=st.randoms(use_true_random=False),
)
def test_whoever_wants_to_send_gets_to_it(
    most: int, lanes: list[tuple[str, int]], chance: Random
) -> None:
    slots = Slots(most)
    fakes = [FakeLane(slots, tenant, wanted) for tenant, wanted in lanes]
    for lane in fakes:
        lane.pump()
    while flying := [lane for lane in fakes if lane.in_flight]:
        assert sum(lane.in_flight for lane in fakes) + slots.free == most
        assert slots.free >= 0
        chance.choice(flying).answered()
    assert [lane.wanted for lane in fakes] == [0] * len(fakes)
    assert slots.free == most


# --- Turns of the event loop --------------------------------------------------------------------


class Loop:
    """An event loop whose turns a test ends."""

    def __init__(self) -> None:
        self.ready: list[Callable[[], None]] = []

    def later(self, delay: float, callback: Callable[[], None]) -> Timer:
        assert delay == 0
        self.ready.append(callback)
        return NEVER_CANCELLED

    def end_turn(self) -> None:
        ready, self.ready = self.ready, []
        for callback in ready:
            callback()


class NeverCancelled:
    def cancel(self) -> None:
        raise AssertionError


NEVER_CANCELLED = NeverCancelled()


def test_one_turn_of_the_event_loop_takes_only_so_many() -> None:
    loop = Loop()
    (lane,) = pumped(Slots(1000, loop.later), "a")
    assert lane.in_flight == MOST_IN_A_TURN
    loop.end_turn()
    assert lane.in_flight == 2 * MOST_IN_A_TURN
    for _ in range(20):
        loop.end_turn()
    assert lane.in_flight == 500


def test_tenants_share_a_turn() -> None:
    loop = Loop()
    lanes = pumped(Slots(1000, loop.later), "a", "b", "c", "d")
    assert [lane.in_flight for lane in lanes] == [MOST_IN_A_TURN, 0, 0, 0]
    loop.end_turn()
    assert [lane.in_flight - MOST_IN_A_TURN * (lane is lanes[0]) for lane in lanes] == [8, 8, 8, 8]


def test_what_some_tenants_leave_of_a_turn_others_may_take() -> None:
    loop = Loop()
    _, *others = pumped(Slots(1000, loop.later), "a", "b", "c", "d")
    for lane in others[1:]:
        lane.wanted = 2
    loop.end_turn()
    sent = [lane.in_flight for lane in others]
    assert sent[1:] == [2, 2]
    assert sum(sent) >= MOST_IN_A_TURN // 2


def test_a_loop_with_nothing_to_send_is_not_woken() -> None:
    loop = Loop()
    (lane,) = pumped(Slots(1000, loop.later), "a")
    lane.wanted = 0
    loop.end_turn()
    assert loop.ready == []
