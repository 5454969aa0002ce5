"""Settlements are written together, and stay on the list until they are.

What the store refuses is halved until the one at fault is alone, and then made simpler.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.dispatch.gauges import gauges
from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.dispatch.settling.writer import MOST_AT_ONCE, NOT_KEPT, REFUSED_AGAIN_AFTER, Part
from tarry.service.model.application import SHARDS
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Known, Lease
from tarry.service.model.settings import Limits
from tarry.service.store.contract import Store
from tarry.service.store.kinds import AllAttemptsOf, Lanes
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import (
    NOON,
    a_due,
    a_notice,
    an_attempt,
    an_endpoint,
    delivered,
    failed,
    postponed,
)
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, status, virtual_service

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane

# --- What is written in one commit --------------------------------------------------------------

LANE = cast("Lane", object())
DUE = a_due(lane=7, seq=3)
CHANGE = Change(lane=7, epoch=1, at=NOON, known=Known(failures=2))


def a_part(settlement: Settlement | Resent) -> Part:
    return Part(((LANE, DUE, settlement),))


@given(settled=st.integers(0, 9), changed=st.integers(0, 9))
def test_halves_have_everything_in_order_and_each_has_something(settled: int, changed: int) -> None:
    finished = tuple(
        (LANE, due, delivered(due)) for due in (a_due(seq=number) for number in range(settled))
    )
    part = Part(finished, tuple((LANE, replace(CHANGE, lane=number)) for number in range(changed)))
    halves = part.halves()
    assert bool(halves) is (settled + changed > 1)
    assert all(half.finished or half.changes for half in halves)
    if halves:
        assert sum((half.finished for half in halves), ()) == part.finished
        assert sum((half.changes for half in halves), ()) == part.changes


@pytest.mark.parametrize("settlement", [delivered(DUE), failed(DUE), postponed(DUE, NOON + 9)])
def test_a_settlement_loses_its_texts_and_then_its_attempt_but_not_its_outcome(
    settlement: Settlement,
) -> None:
    bare, alone = a_part(settlement).simpler_forms()
    ((lane, due, kept),) = bare.finished
    assert (lane, due) == (LANE, DUE)
    assert settlement.attempt
    attempt = replace(settlement.attempt, detail=NOT_KEPT, body=b"", decision="")
    assert kept == replace(settlement, attempt=attempt)
    assert alone.settlements == [replace(settlement, attempt=None)]


def test_a_resend_keeps_an_attempt() -> None:
    attempt = an_attempt(DUE, detail="odd", body=b"odd", decision="odd")
    resent = Resent(7, "r1", attempt, 1)
    (bare,) = a_part(resent).simpler_forms()
    ((_, _, kept),) = bare.finished
    assert isinstance(kept, Resent)
    assert kept.resend == "r1"
    assert kept.attempt == replace(attempt, detail=NOT_KEPT, body=b"", decision="")


def test_of_a_settlement_without_an_attempt_there_is_nothing_simpler() -> None:
    assert list(a_part(failed(DUE, attempt=None)).simpler_forms()) == []


def test_a_change_loses_its_notices() -> None:
    assert list(Part((), ((LANE, CHANGE),)).simpler_forms()) == []
    told = replace(CHANGE, notices=(a_notice(an_endpoint("app_1")),))
    assert list(Part((), ((LANE, told),)).simpler_forms()) == [Part((), ((LANE, CHANGE),))]


def test_a_part_is_written_under_the_leases_of_its_lanes_each_once() -> None:
    first, second = (HeldLease(Lease(number, 1, "here"), until=NOON) for number in (1, 2))
    lanes = [cast("Lane", SimpleNamespace(held=held)) for held in (first, first, second)]
    part = Part(((lanes[0], DUE, delivered(DUE)),), ((lanes[1], CHANGE), (lanes[2], CHANGE)))
    assert part.leases == [first.lease, second.lease]
    assert part.changed == [CHANGE, CHANGE]


def test_a_part_says_what_it_is_about() -> None:
    part = Part(((LANE, DUE, delivered(DUE)),), ((LANE, CHANGE),))
    assert str(part) == "delivery 3 of lane 7 (msg_sample), change of lane 7"


# --- Writing it ---------------------------------------------------------------------------------


class Commits(Shaky):
    """Keeps in mind how much each commit settled."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.made: list[int] = []

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Sequence[Lease],
    ) -> list[bool]:
        self._before_call("settle")
        self.made.append(len(settlements))
        return await self._store.settle(settlements, changes, leases)


@virtually
async def test_what_ended_while_the_database_was_away_is_settled_together_and_was_sent_once() -> (
    None
):
    between = Between(Commits)
    many = MOST_AT_ONCE + 100
    async with virtual_service(through=between, limits=Limits(in_flight=3 * many)) as service:
        endpoints = [
            await service.add_endpoint(f"{n}.example", lambda _r, _n: Answer(5.0, status=200))
            for n in range(many)
        ]
        await service.add()
        await asyncio.sleep(2)
        between.shaky.away = True
        await asyncio.sleep(5)
        assert service.dispatcher.work.unsettled == many
        between.shaky.made.clear()
        between.shaky.away = False
        await asyncio.sleep(5)
        assert between.shaky.made[:2] == [MOST_AT_ONCE, 100]
        assert service.dispatcher.work.unsettled == 0
        assert [await service.waiting(endpoint) for endpoint in endpoints] == [0] * many
        assert len(service.sender.sent) == many


@virtually
async def test_a_late_failure_of_an_earlier_lease_does_not_undo_the_success_of_the_next() -> None:
    between = Between(Shaky)
    answers = [Answer(13.0, status=500), Answer(5.0, status=200), OK]
    limits = Limits(lease=10, look=1, keep_up=20)
    async with virtual_service(through=between, limits=limits) as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: answers.pop(0))
        await service.add()
        await asyncio.sleep(0.5)
        between.shaky.away = True  # until its lease is over
        await asyncio.sleep(11)
        await service.store.lease("another", most=SHARDS, length=0)  # which dies at once
        between.shaky.away = False  # the next lease sends the message again
        await service.until_delivered(endpoint, within=30)
        assert len(service.sender.sent) == 2, "the success was written"
        assert service.dispatcher.context.counters.stale == 1, "the failure was not"


class Choosy(Shaky):
    """Refuses every commit with a settlement or a change that is not to its taste."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.refuses: Callable[[Settlement | Resent | Change], bool] = lambda _: False
        self.unavailable_after = 1_000_000
        """So many commits, refused ones too."""

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Sequence[Lease],
    ) -> list[bool]:
        self.unavailable_after -= 1
        self._before_call("settle")
        if self.unavailable_after < 0:
            raise StoreUnavailable("just now")
        if any(map(self.refuses, [*settlements, *changes])):
            raise StoreError("not to my taste")
        return await self._store.settle(settlements, changes, leases)


def of(message: str) -> Callable[[Settlement | Resent | Change], bool]:
    return lambda one: isinstance(one, Settlement) and one.message == message


Taste = Callable[[Settlement | Resent | Change], bool]
TASTES: dict[str, Callable[[str], Taste]] = {
    "its texts": lambda message: (
        lambda one: (
            of(message)(one)
            and isinstance(one, Settlement)
            and bool(one.attempt and one.attempt.body)
        )
    ),
    "its attempt": lambda message: (
        lambda one: of(message)(one) and isinstance(one, Settlement) and one.attempt is not None
    ),
}


@pytest.mark.parametrize(("taste", "attempts"), [("its texts", 1), ("its attempt", 0)])
@virtually
async def test_one_settlement_that_cannot_be_written_is_written_without_its_details(
    taste: str, attempts: int, caplog: pytest.LogCaptureFixture
) -> None:
    between = Between(Choosy)
    answer = Answer(1.0, status=200, body=b"odd")
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: answer)
        messages = await service.add(6)
        between.shaky.refuses = TASTES[taste](messages[3])
        await service.until_delivered(endpoint, within=2)
        assert len(service.sender.sent) == 6, "nothing was sent again"
        kept = [await service.store.read(AllAttemptsOf(message)) for message in messages]
        assert [len(some) for some in kept] == [1, 1, 1, attempts, 1, 1]
        assert gauges(service.dispatcher).unwritable == 1
        (defect,) = [
            record.getMessage() for record in caplog.records if record.levelname == "ERROR"
        ]
        assert messages[3] in defect
        assert "not to my taste" in defect


@pytest.mark.parametrize("fifo", [False, True])
@virtually
async def test_one_that_cannot_be_written_at_all_holds_up_nobody_and_is_not_sent_again(
    *, fifo: bool
) -> None:
    between = Between(Choosy)
    async with virtual_service(through=between) as service:
        other = await service.add_endpoint("a.example")
        endpoint = await service.add_endpoint("b.example", fifo=fifo)
        (message,) = await service.add()
        between.shaky.refuses = of(message)
        await asyncio.sleep(1)
        for _ in range(20):
            await service.add()
            await asyncio.sleep(30)
        assert await service.waiting(endpoint) == (21 if fifo else 1)
        sent = Counter((one.host, one.message) for one in service.sender.sent)
        assert set(sent.values()) == {1}
        between.shaky.refuses = lambda _: False
        for one in (endpoint, other):
            await service.until_delivered(one, within=REFUSED_AGAIN_AFTER + 2)
        sent = Counter((one.host, one.message) for one in service.sender.sent)
        assert len(sent) == 42
        assert set(sent.values()) == {1}
        assert service.dispatcher.work.unsettled == 0


@virtually
async def test_while_the_store_refuses_everything_nothing_is_lost_or_sent_twice() -> None:
    between = Between(Choosy)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(20)
        await asyncio.sleep(0.5)
        between.shaky.refuses = lambda _: True
        await asyncio.sleep(300)
        assert await service.waiting(endpoint) == 20
        between.shaky.refuses = lambda _: False
        await service.until_delivered(endpoint, within=REFUSED_AGAIN_AFTER + 60)
        assert set(Counter(one.message for one in service.sender.sent).values()) == {1}


@virtually
async def test_a_tenant_whose_outcomes_are_all_refused_stops_at_its_share_and_no_neighbour() -> (
    None
):
    between = Between(Choosy)
    limits = Limits(in_flight=8, unsettled=8)
    async with virtual_service(through=between, limits=limits) as service:
        refused = await service.add_endpoint("a.example", concurrency=1)
        neighbour = await service.add_application()
        other = await service.add_endpoint("b.example", application=neighbour)
        between.shaky.refuses = lambda one: one.lane == refused.lane
        await service.add(50)
        await service.add(50, application=neighbour)
        await service.until_delivered(other, within=5)
        await asyncio.sleep(5 * REFUSED_AGAIN_AFTER)
        assert Counter(one.host for one in service.sender.sent) == {"a.example": 8, "b.example": 50}
        between.shaky.refuses = lambda _: False
        await service.until_delivered(refused, within=REFUSED_AGAIN_AFTER + 5)
        assert service.dispatcher.context.unwritten.free == 16


@virtually
async def test_what_was_written_before_the_database_went_away_is_not_written_again() -> None:
    between = Between(Choosy)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(8)
        ended: list[Settlement | Resent | Change] = []

        def refuses(one: Settlement | Resent | Change) -> bool:
            """The one that is looked at last of all when there are eight."""
            ended.append(one)
            return one is ended[min(7, len(ended) - 1)] and len(ended) >= 8

        between.shaky.refuses = refuses
        between.shaky.unavailable_after = 2  # the whole, the first half
        await asyncio.sleep(1.2)
        assert await service.waiting(endpoint) == 4
        between.shaky.refuses = lambda _: False
        between.shaky.unavailable_after = 1_000_000
        await service.until_delivered(endpoint, within=10)
        assert len(service.sender.sent) == 8
        assert service.dispatcher.context.counters.stale == 0


@virtually
async def test_a_refused_settlement_keeps_its_details_if_the_database_goes_away_meanwhile() -> None:
    between = Between(Choosy)
    answer = Answer(1.0, status=200, body=b"odd")
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: answer)
        (message,) = await service.add()
        between.shaky.refuses = of(message)
        between.shaky.unavailable_after = 2  # it with a change of its lane, and it alone
        await asyncio.sleep(1.1)
        assert gauges(service.dispatcher).unwritable == 1
        between.shaky.refuses = lambda _: False
        between.shaky.unavailable_after = 1_000_000
        await service.until_delivered(endpoint, within=10)
        (attempt,) = await service.store.read(AllAttemptsOf(message))
        assert attempt.body == b"odd"
        assert len(service.sender.sent) == 1


@pytest.mark.parametrize("notices", [True, False])
@virtually
async def test_a_change_that_cannot_be_written_holds_up_no_settlement(*, notices: bool) -> None:
    between = Between(Choosy)
    async with virtual_service(through=between) as service:
        gone = await service.add_endpoint("a.example", lambda _r, _n: status(410))
        other = await service.add_endpoint("b.example")
        between.shaky.refuses = lambda one: (
            isinstance(one, Change) and bool(one.notices if notices else one.standing)
        )
        await service.add(3)
        await service.until_delivered(other, within=2)
        row = await service.store.get(Lanes(gone.application), gone.id)
        assert row.endpoint.standing is (Standing.DISABLED if notices else Standing.ENABLED)
        between.shaky.refuses = lambda _: False
        await asyncio.sleep(REFUSED_AGAIN_AFTER + 5)
        row = await service.store.get(Lanes(gone.application), gone.id)
        assert row.endpoint.standing is Standing.DISABLED


@virtually
async def test_a_shard_changes_hands_although_the_store_refuses_a_settlement_of_it() -> None:
    between = Between(Choosy)
    async with virtual_service(through=between) as service:
        await service.add_endpoint("a.example")
        between.shaky.refuses = lambda one: not isinstance(one, Change)
        await service.add()
        await asyncio.sleep(5)
        (lane,) = service.dispatcher.shards.lanes()
        assert (lane.unsettled, lane.is_quiet) == (1, True)
        await asyncio.sleep(REFUSED_AGAIN_AFTER)
        assert (lane.unsettled, lane.is_quiet) == (1, True), "it was refused once more"
        between.shaky.refuses = lambda _: False
        await asyncio.sleep(REFUSED_AGAIN_AFTER)
        assert list(service.dispatcher.shards.lanes()) == []
        assert len(service.sender.sent) == 1


@pytest.mark.parametrize(("code", "loaded"), [(410, True), (500, False)])
@virtually
async def test_a_lane_is_read_again_once_its_endpoint_was_disabled(
    code: int,
    loaded: bool,  # noqa: FBT001  a parameter
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: status(code))
        lanes: list[int] = []
        work = service.dispatcher.work
        monkeypatch.setattr(work, "load", lanes.extend)
        await service.add()
        await asyncio.sleep(1)
        assert (endpoint.lane in lanes) is loaded
