"""What lanes share: the lists of what to do, and who is woken when something is put on one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from tarry.service.dispatch.alarms import Timer
from tarry.service.dispatch.context import Context, OwnedShard
from tarry.service.dispatch.lane.pending_attempt import settlement
from tarry.service.dispatch.outcomes.ruling import Ruling
from tarry.service.model import ids
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Known, Lease, Notice
from tarry.service.model.settings import Limits, Parking
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import NOON, a_due, a_notice, an_endpoint

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane


class FakeLane:
    """As much of a lane as its context knows."""

    tenant = "app_1"

    def __init__(self) -> None:
        self.unsettled = self.in_flight = self.pumped = 0

    def pump(self) -> None:
        self.pumped += 1

    def tick(self, now: float) -> bool:
        return now > NOON


class Nobody:
    """Makes no attempt."""

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


def never(_seconds: float, _then: Callable[[], None]) -> Timer:
    raise NotImplementedError


def a_desk(**limits: int) -> tuple[Context, list[str]]:
    """A context, and what it was woken for so far."""
    woken: list[str] = []
    context = Context(
        now=lambda: NOON,
        later=never,
        draw=lambda: 0.5,
        sender=Nobody(),
        limits=Limits(**limits),
        parking=Parking(),
    )
    context.wake = lambda: woken.append("woken")
    return context, woken


def a_lane() -> "Lane":
    return cast("Lane", FakeLane())


def finish(context: Context, lane: "Lane") -> None:
    due = a_due()
    ruling = Ruling(State.DELIVERED, Reason.DELIVERED, 1)
    context.finish(lane, due, settlement(due, ruling, None, epoch=1, now=NOON))


@pytest.mark.parametrize(("step", "earlier"), [(-5.0, NOON - 5), (0.0, NOON), (5.0, NOON)])
def test_ages_are_reckoned_with_the_earlier_clock(step: float, earlier: float) -> None:
    context, _ = a_desk()
    context.wall = lambda: NOON + step
    assert context.earlier_now() == earlier


def test_what_is_finished_counts_for_the_desk_and_for_its_lane_until_it_is_settled() -> None:
    context, _ = a_desk()
    one, other = a_lane(), a_lane()
    for lane in (one, one, other):
        finish(context, lane)
    assert (context.unsettled, one.unsettled, other.unsettled) == (3, 2, 1)
    assert [lane for lane, _, _ in context.finished] == [one, one, other]


PUT: dict[str, Callable[[Context, "Lane"], None]] = {
    "finished": finish,
    "hungry": Context.feed,
    "resting": Context.let_rest,
    "ticking": Context.tick,
    "changes": lambda context, lane: context.change(Change(lane=id(lane), epoch=1, at=NOON)),
}


@pytest.mark.parametrize("name", PUT)
def test_the_first_on_a_list_wakes_who_works_it_off(name: str) -> None:
    context, woken = a_desk()
    lanes = [a_lane() for _ in range(3)]
    for lane in lanes:
        PUT[name](context, lane)
    assert woken == ["woken"]
    assert len(getattr(context, name)) == 3
    getattr(context, name).clear()
    PUT[name](context, a_lane())
    assert woken == ["woken"] * 2


@pytest.mark.parametrize("name", ["hungry", "resting", "ticking"])
def test_a_lane_is_on_a_list_once(name: str) -> None:
    context, _ = a_desk()
    lane = a_lane()
    for _ in range(3):
        PUT[name](context, lane)
    assert list(getattr(context, name)) == [lane]


def test_who_has_waited_longest_is_first() -> None:
    context, _ = a_desk()
    lanes = [a_lane() for _ in range(3)]
    for lane in (*lanes, lanes[0]):
        context.feed(lane)
    assert list(context.hungry) == lanes


def test_one_that_is_forgotten_is_on_no_list_but_what_it_finished_is_settled_still() -> None:
    context, _ = a_desk(in_flight=1)
    lane, other = a_lane(), a_lane()
    for put in PUT.values():
        put(context, lane)
        put(context, other)
    context.stopped[lane] = None
    assert context.slots.take(other)
    assert not context.slots.take(lane)

    context.forget(lane)

    for name in ("hungry", "resting", "ticking"):
        assert list(getattr(context, name)) == [other]
    assert not context.stopped
    assert context.unsettled == len(context.finished) == 2
    context.slots.give_back(other)
    context.slots.serve()
    assert cast("FakeLane", lane).pumped == 0


def test_one_that_was_never_on_a_list_can_be_forgotten() -> None:
    context, woken = a_desk()
    context.forget(a_lane())
    assert woken == []


def test_changes_of_one_lane_are_written_down_as_one() -> None:
    context, _ = a_desk()
    told = a_notice(an_endpoint("app_1"))
    context.change(Change(lane=7, epoch=1, at=1.0, known=Known(failures=1), notices=(told,)))
    context.change(Change(lane=7, epoch=1, at=2.0, known=Known(failures=2)))
    context.change(Change(lane=8, epoch=1, at=3.0))
    joined = Change(lane=7, epoch=1, at=2.0, known=Known(failures=2), notices=(told,))
    assert context.changes == {7: joined, 8: Change(lane=8, epoch=1, at=3.0)}


def test_a_change_that_could_not_be_written_down_is_kept_but_later_ones_count_more() -> None:
    context, _ = a_desk()
    first, second = (a_notice(an_endpoint("app_1")) for _ in range(2))
    old = Change(
        lane=7, epoch=1, at=1.0, known=Known(failures=1), standing=Standing.PARKED, notices=(first,)
    )
    context.unwritten(old)
    assert context.changes == {7: old}
    context.changes = {
        7: Change(lane=7, epoch=1, at=2.0, known=Known(failures=2), notices=(second,))
    }
    context.unwritten(old)
    later = replace(old, at=2.0, known=Known(failures=2), notices=(first, second))
    assert context.changes == {7: later}


def test_ids_are_new_each_time_and_say_what_they_are_and_when() -> None:
    context, _ = a_desk()
    made = {context.id(ids.ATTEMPT, NOON) for _ in range(100)}
    assert len(made) == 100
    assert all(one.startswith(ids.ATTEMPT) and ids.made_at(one) == NOON for one in made)


def test_a_notice_says_what_happened_to_which_endpoint() -> None:
    context, _ = a_desk()
    facts: dict[str, str | float | None] = {"share": 0.5}
    notice = context.notice("app_1", "ep_1", "endpoint.failing", NOON, facts)
    facts["share"] = 0.9
    assert notice == Notice(
        id=notice.id,
        application="app_1",
        endpoint="ep_1",
        kind="endpoint.failing",
        facts={"share": 0.5},
        at=NOON,
    )
    assert notice.id.startswith(ids.NOTICE)


def test_there_are_as_many_slots_as_the_limits_say() -> None:
    context, _ = a_desk(in_flight=12)
    assert context.slots.free == 12


def test_a_shard_that_was_just_leased_is_not_known_yet_and_has_no_lanes() -> None:
    held = OwnedShard(Lease(3, 1, "worker_1"), NOON + 8)
    assert (held.lease.shard, held.until, held.lanes) == (3, NOON + 8, {})
    assert [held.leaving, held.known, held.overslept] == [False] * 3
