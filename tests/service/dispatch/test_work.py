"""The lists of what lanes want done, and who is woken when something is put on one."""

import logging
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tarry.service.dispatch.lane.attempt import settlement
from tarry.service.dispatch.outcomes.judge import Ruling
from tarry.service.dispatch.work import Signals, Work
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Known
from tarry.testing.samples import NOON, a_due, a_notice, an_endpoint


class FakeLane:
    """As much of a lane as a list knows."""

    def tick(self, now: float) -> bool:
        return now > NOON


def finish(work: Work[FakeLane], lane: FakeLane) -> None:
    due = a_due()
    ruling = Ruling(State.DELIVERED, Reason.DELIVERED, 1)
    work.finish(lane, due, settlement(due, ruling, None, epoch=1, now=NOON))


Put = Callable[[Work[FakeLane], FakeLane], None]
PUT: dict[str, tuple[str, Put]] = {
    "finished": ("settle", finish),
    "changes": (
        "settle",
        lambda work, lane: work.change(lane, Change(lane=id(lane), epoch=1, at=NOON)),
    ),
    "need_rows": ("read_rows", Work.request_rows),
    "resting": ("settle", Work.let_rest),
    "ticking": ("tick", Work.tick),
    "to_load": ("load", lambda work, lane: work.load([id(lane)])),
}


def set_ones(signals: Signals) -> list[str]:
    """Which signals are set; they are cleared."""
    found = [name for name, signal in vars(signals).items() if signal.is_set()]
    for name in found:
        getattr(signals, name).clear()
    return found


@pytest.mark.parametrize("name", PUT)
def test_the_first_on_a_list_wakes_the_loop_that_works_it_off(name: str) -> None:
    signals = Signals()
    work = Work[FakeLane](signals)
    loop, put = PUT[name]
    lanes = [FakeLane() for _ in range(3)]
    for lane in lanes:
        put(work, lane)
    assert set_ones(signals) == [loop]
    assert len(getattr(work, name)) == 3
    getattr(work, name).clear()
    put(work, FakeLane())
    assert set_ones(signals) == [loop]


@pytest.mark.parametrize("name", ["need_rows", "resting", "ticking", "to_load"])
def test_a_lane_is_on_a_list_once(name: str) -> None:
    work, lane = Work[FakeLane](Signals()), FakeLane()
    for _ in range(3):
        PUT[name][1](work, lane)
    assert len(getattr(work, name)) == 1


def test_outcomes_count_until_they_are_written_also_those_that_were_put_back() -> None:
    work = Work[FakeLane](Signals())
    one, other = FakeLane(), FakeLane()
    for lane in (one, one, other):
        finish(work, lane)
    batch = work.take_finished(2)
    assert [lane for lane, _, _ in batch] == [one, one]
    finish(work, one)
    work.put_back_finished(batch)
    assert [lane for lane, _, _ in work.finished] == [one, one, other, one]
    assert work.unsettled == 4
    work.wrote(3)
    assert work.unsettled == 1


def test_what_could_not_be_written_wakes_the_loop_that_writes_it() -> None:
    signals = Signals()
    work = Work[FakeLane](signals)
    work.put_back_change(FakeLane(), Change(lane=7, epoch=1, at=NOON))
    assert set_ones(signals) == ["settle"]
    finish(work, FakeLane())
    batch = work.take_finished(1)
    assert set_ones(signals) == ["settle"]
    work.put_back_finished(batch)
    assert set_ones(signals) == ["settle"]


def test_who_has_waited_longest_is_fed_first() -> None:
    work = Work[FakeLane](Signals())
    lanes = [FakeLane() for _ in range(3)]
    for lane in (*lanes, lanes[0]):
        work.request_rows(lane)
    assert work.take_lanes_that_need_rows(2) == lanes[:2]
    assert work.take_lanes_that_need_rows(2) == lanes[2:]


def test_what_is_taken_out_is_on_the_list_no_more() -> None:
    work, lane = Work[FakeLane](Signals()), FakeLane()
    work.let_rest(lane)
    work.load([7, 8, 9])
    assert work.take_resting() == [lane]
    assert work.take_resting() == []
    assert work.take_to_load(2) == [7, 8]
    assert work.take_to_load(2) == [9]


def test_who_loads_lanes_now_need_not_be_woken_for_them() -> None:
    signals = Signals()
    work = Work[FakeLane](signals)
    work.add_to_load([7])
    work.load([])
    assert set_ones(signals) == ["load"]
    work.take_to_load(1)
    work.add_to_load([8])
    assert set_ones(signals) == []


def test_a_lane_that_is_forgotten_is_on_no_list_but_its_outcomes_are_written_still() -> None:
    work = Work[FakeLane](Signals())
    lane, other = FakeLane(), FakeLane()
    for one in (lane, other):
        finish(work, one)
        work.request_rows(one)
        work.let_rest(one)
        work.tick(one)
    work.forget(lane)
    assert work.take_lanes_that_need_rows(9) == work.take_resting() == [other]
    assert list(work.ticking) == [other]
    assert [one for one, _, _ in work.finished] == [lane, other]


def test_a_lane_that_was_never_on_a_list_can_be_forgotten() -> None:
    signals = Signals()
    Work[FakeLane](signals).forget(FakeLane())
    assert set_ones(signals) == []


def test_a_settlement_that_the_store_did_not_take_has_the_leases_checked() -> None:
    signals = Signals()
    Work[FakeLane](signals).check_leases()
    assert set_ones(signals) == ["renew"]


def test_what_is_new_of_an_origin_wakes_the_loop_that_shares_it() -> None:
    signals = Signals()
    Work[FakeLane](signals).write_origins()
    assert set_ones(signals) == ["share"]


def test_changes_of_one_lane_are_written_as_one() -> None:
    work = Work[FakeLane](Signals())
    told = a_notice(an_endpoint("app_1"))
    old, new, other = FakeLane(), FakeLane(), FakeLane()  # the second is the same, loaded anew
    work.change(old, Change(lane=7, epoch=1, at=1.0, known=Known(failures=1), notices=(told,)))
    work.change(new, Change(lane=7, epoch=1, at=2.0, known=Known(failures=2)))
    work.change(other, Change(lane=8, epoch=1, at=3.0))
    joined = Change(lane=7, epoch=1, at=2.0, known=Known(failures=2), notices=(told,))
    assert work.take_changes() == [(new, joined), (other, Change(lane=8, epoch=1, at=3.0))]
    assert work.take_changes() == []


def test_a_change_that_could_not_be_written_is_kept_but_later_ones_count_more() -> None:
    work = Work[FakeLane](Signals())
    first, second = (a_notice(an_endpoint("app_1")) for _ in range(2))
    old = Change(
        lane=7, epoch=1, at=1.0, known=Known(failures=1), standing=Standing.PARKED, notices=(first,)
    )
    before, after = FakeLane(), FakeLane()
    work.put_back_change(before, old)
    assert work.take_changes() == [(before, old)]
    work.change(after, Change(lane=7, epoch=1, at=2.0, known=Known(failures=2), notices=(second,)))
    work.put_back_change(before, old)
    later = replace(old, at=2.0, known=Known(failures=2), notices=(first, second))
    assert work.take_changes() == [(after, later)]


@pytest.mark.parametrize(
    ("kind", "level"), [("endpoint.disabled", "WARNING"), ("message.attempt.exhausted", "INFO")]
)
def test_a_notice_is_logged_with_its_facts(
    kind: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = an_endpoint("app_1")
    notice = a_notice(endpoint, kind=kind, facts={"since": NOON, "why": "too many failures"})
    change = Change(lane=7, epoch=1, at=NOON, notices=(notice,))
    with caplog.at_level(logging.INFO):
        Work[FakeLane](Signals()).change(FakeLane(), change)
    facts = 'since=2027-01-15T08:00:00.000Z why="too many failures"'
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (level, f"{kind}: {endpoint.id} {facts}")
    ]
