"""What is done now and then: ages, retention, and what callers left."""

import asyncio
import gc
import weakref
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.errors import StoreError
from tarry.service.dispatch.upkeep.upkeep import CHUNK, Kept, oldest_kept, sweep
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Lease
from tarry.service.model.settings import DAY, HOUR, Limits
from tarry.service.model.task import Task, Work
from tarry.service.store.kinds import Undelivered
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import NOON, a_task, an_endpoint
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, virtual_service
from tests.service.dispatch.lane.test_lane import lane_of


def test_what_is_kept_for_ever_is_never_swept() -> None:
    kept = Kept(payloads=DAY, messages=None, keys=HOUR, notices=None)
    swept = kept.at(NOON)
    assert (swept.payloads_before, swept.messages_before) == (NOON - DAY, None)
    assert swept.expired_before == NOON
    assert (swept.keys_before, swept.notices_before) == (NOON - HOUR, None)


def test_each_kind_of_record_has_its_own_time() -> None:
    kept = Kept(
        tasks=1.0,
        refused=2.0,
        claims=3.0,
        portal_keys=4.0,
        messages=5.0,
        notices=6.0,
        audit=7.0,
    )
    swept = kept.at(NOON)
    assert swept.audit_before == NOON - 7
    assert Kept().at(NOON).audit_before == NOON - 365 * DAY
    assert (swept.tasks_before, swept.refused_before) == (NOON - 1, NOON - 2)
    assert (swept.claims_before, swept.portal_keys_before) == (NOON - 3, NOON - 4)
    assert (swept.messages_before, swept.notices_before) == (NOON - 5, NOON - 6)


def parkings() -> st.SearchStrategy[tuple[tuple[float, float | None], ...]]:
    """Times in which an endpoint was parked, one after the other, the last maybe until now."""

    def made(lengths: list[float], *, still: bool) -> tuple[tuple[float, float | None], ...]:
        found: list[tuple[float, float | None]] = []
        at = NOON - sum(lengths)
        for start, end in zip(lengths[::2], lengths[1::2], strict=False):
            found.append((at + start, at + start + end))
            at += start + end
        if found and still:
            found[-1] = (found[-1][0], None)
        return tuple(found)

    lengths = st.lists(st.floats(1.0, 30 * DAY), max_size=8)
    return st.builds(made, lengths, still=st.booleans())


@given(
    parked=parkings(),
    within=st.floats(1.0, 10 * DAY),
    ago=st.floats(0.0, 200 * DAY),
)
def test_the_oldest_that_may_still_wait_is_just_as_old_as_the_policy_allows(
    parked: tuple[tuple[float, float | None], ...], within: float, ago: float
) -> None:
    endpoint = an_endpoint("app", parked=parked)
    before = oldest_kept(endpoint, within, NOON)
    accepted_at = NOON - ago
    if abs(endpoint.age(accepted_at, NOON) - within) > 1e-3:
        assert (accepted_at < before) == (endpoint.age(accepted_at, NOON) > within)


@virtually
async def test_what_is_too_old_ends_in_pieces_and_what_is_parked_does_not() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "within": 3600, "backoff": {"kind": "fixed", "delay": 1}}'
        paused = await service.add_endpoint("a.example", standing=Standing.PAUSED, policy=policy)
        parked = await service.add_endpoint(
            "b.example", standing=Standing.PARKED, policy=policy, parked=((service.now(), None),)
        )
        await service.add(2 * CHUNK + 1)
        await asyncio.sleep(HOUR + 70)
        assert await service.counts(paused) == {State.FAILED: 2 * CHUNK + 1}
        assert await service.counts(parked) == {State.READY: 2 * CHUNK + 1}
        found = await service.store.read(Undelivered(service.application.id, limit=1))
        assert found[0][1].reason is Reason.AGED
        assert service.dispatcher.context.counters.failed == 2 * CHUNK + 1


@virtually
async def test_what_ended_by_its_age_is_not_sent_any_more() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "within": 90, "backoff": {"kind": "fixed", "delay": 1}}'
        endpoint = await service.add_endpoint("a.example", rate=0.01, policy=policy)
        await service.add(3)
        await asyncio.sleep(110)
        lane = lane_of(service, endpoint)
        assert (len(service.sender.sent), lane.waiting()) == (1, 2)
        assert service.dispatcher.context.buffered.bytes > 0  # the others are at hand
        await asyncio.sleep(300)
        assert service.dispatcher.context.counters.failed == 2
        assert (len(service.sender.sent), lane.waiting()) == (1, 0)


@pytest.mark.slow
@virtually
async def test_an_open_lane_ends_what_is_too_old_and_goes_on_with_the_rest() -> None:
    async with virtual_service() as service:
        back_at = service.now() + 2 * HOUR
        policy = '{"version": 1, "within": 3600, "backoff": {"kind": "fixed", "delay": 1}}'
        endpoint = await service.add_endpoint(
            "a.example", lambda _request, now: DOWN if now < back_at else OK, policy=policy
        )
        await service.add(10)
        await asyncio.sleep(1.5 * HOUR)
        await service.add(10)
        await asyncio.sleep(HOUR)
        assert await service.counts(endpoint) == {State.FAILED: 10, State.DELIVERED: 10}


@virtually
async def test_the_rate_of_an_application_without_lanes_at_work_is_forgotten() -> None:
    async with virtual_service() as service:
        answer = Answer(1.0, status=200)
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: answer)
        await service.add()
        await asyncio.sleep(0.5)
        rate = weakref.ref(lane_of(service, endpoint).tenant_rate)
        await asyncio.sleep(300)
        gc.collect()
        assert rate() is None


@virtually
async def test_an_origin_without_lanes_at_work_is_forgotten() -> None:
    async with virtual_service() as service:
        answer = Answer(1.0, status=200)
        await service.add_endpoint("a.example", lambda _request, _now: answer)
        await service.add()
        await asyncio.sleep(0.5)
        origins = service.dispatcher.loader.origins
        assert [origin.place for origin in origins] == ["https://a.example:443"]
        await asyncio.sleep(300)
        assert list(origins) == []


@virtually
async def test_what_need_not_be_kept_is_swept_in_pieces() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(CHUNK + 10)
        await service.until_delivered(endpoint, within=60)
        await asyncio.sleep(60)
        kept = Kept(messages=30.0)
        swept = await sweep(service.store, kept, service.now())
        assert swept >= CHUNK + 10
        assert await service.counts(endpoint) == {}
        assert await sweep(service.store, kept, service.now()) == 0


class Left(Shaky):
    """Callers left something in its outbox, and a task never ends, or never works."""

    left = 0
    fails = False
    pieces = 0

    async def collect(self, *, now: float, limit: int) -> int:
        assert now
        taken = min(self.left, limit)
        self.left -= taken
        return taken

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        assert now
        assert limit
        assert lease.worker
        await asyncio.sleep(0.1)
        self.pieces += 1
        if self.fails:
            raise StoreError("it cannot be done")
        return replace(task, cursor=f"{task.cursor}x")


@virtually
@pytest.mark.parametrize("fails", [True, False])
async def test_a_task_does_not_hold_up_what_callers_left(fails: bool) -> None:  # noqa: FBT001  a parameter
    between = Between(Left)
    async with virtual_service(through=between) as service:
        left = between.shaky
        left.fails = fails
        endpoint = await service.add_endpoint("a.example")
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        await asyncio.sleep(5)
        left.left = 2000
        await asyncio.sleep(5)
        assert left.left == 0


@virtually
async def test_a_database_that_is_away_is_reported_after_tasks_had_their_turn() -> None:
    between = Between(Left)
    async with virtual_service(through=between, limits=Limits(look=300, keep_up=600)) as service:
        upkeep = service.dispatcher._upkeep  # noqa: SLF001  one of its loops, done by hand
        await upkeep.upkeep_once()
        between.shaky.away = True
        with pytest.raises(StoreError):
            await upkeep.upkeep_once()
        between.shaky.away = False


class Deaf(Shaky):
    """All reports of lanes that wake are lost."""

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        await self._store.woken(leases)
        return []


@virtually
async def test_a_lane_whose_waking_was_not_reported_is_found_by_the_upkeep() -> None:
    limits = Limits(look=1, keep_up=60)
    async with virtual_service(through=Between(Deaf), limits=limits) as service:
        endpoint = await service.add_endpoint("a.example")
        await asyncio.sleep(5)
        await service.add()
        await service.until_delivered(endpoint, within=61)


@virtually
async def test_the_upkeep_deletes_what_need_not_be_kept() -> None:
    kept = Kept(messages=30.0)
    async with virtual_service(kept=kept, limits=Limits(keep_up=60)) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(3)
        await service.until_delivered(endpoint, within=1)
        await asyncio.sleep(130)
        assert await service.counts(endpoint) == {}


@virtually
async def test_all_that_callers_left_is_collected_at_once_in_pieces() -> None:
    between = Between(Left)
    async with virtual_service(through=between, limits=Limits(look=300, keep_up=600)) as service:
        between.shaky.left = 3 * CHUNK
        await service.dispatcher._upkeep.upkeep_once()  # noqa: SLF001  likewise
        assert between.shaky.left == 0


@virtually
async def test_a_task_takes_at_most_half_of_the_time_also_while_callers_leave_something() -> None:
    between = Between(Left)
    async with virtual_service(through=between) as service:
        left = between.shaky
        endpoint = await service.add_endpoint("a.example")
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        await asyncio.sleep(5)
        before = left.pieces
        await asyncio.sleep(10)
        assert 48 <= left.pieces - before <= 52
        before, left.left = left.pieces, 1_000_000
        await asyncio.sleep(10)
        assert 48 <= left.pieces - before <= 52
        assert left.left < 1_000_000


@virtually
async def test_news_of_the_store_do_not_shorten_the_pause_after_a_piece() -> None:
    between = Between(Left)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        await asyncio.sleep(5)
        before = between.shaky.pieces
        for _ in range(1000):
            await asyncio.sleep(0.01)
            service.dispatcher._signals.store_has_news()  # noqa: SLF001  as the store would
        assert 48 <= between.shaky.pieces - before <= 52
