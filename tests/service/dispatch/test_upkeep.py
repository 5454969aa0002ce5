"""What is done now and then: tasks, ages, retention."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import NotFound, StoreError, StoreUnavailable
from tarry.service.dispatch import upkeep
from tarry.service.dispatch.upkeep import Kept, oldest
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Lease
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.settings import DAY, HOUR
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Store
from tarry.testing.samples import ENVIRONMENT, NOON, a_task, an_endpoint
from tarry.testing.shaky_store import Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, virtual_service


def test_what_is_kept_for_ever_is_never_swept() -> None:
    kept = Kept(payloads=DAY, messages=None, keys=HOUR, notices=None)
    swept = kept.at(NOON)
    assert (swept.payloads_before, swept.messages_before) == (NOON - DAY, None)
    assert swept.expired_before == NOON
    assert (swept.keys_before, swept.notices_before) == (NOON - HOUR, None)


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
    before = oldest(endpoint, within, NOON)
    accepted_at = NOON - ago
    if abs(endpoint.age(accepted_at, NOON) - within) > 1e-3:
        assert (accepted_at < before) == (endpoint.age(accepted_at, NOON) > within)


@virtually
async def test_a_task_is_done_in_pieces_until_there_is_nothing_left() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(2 * upkeep.CHUNK + 1)
        await asyncio.sleep(1)
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        await asyncio.sleep(2)
        assert await service.counts(endpoint) == {State.DISCARDED: 2 * upkeep.CHUNK + 1}
        (task,) = await service.store.tasks(service.application.id)
        assert task.finished_at is not None


@virtually
async def test_a_task_that_cannot_be_advanced_is_left_alone_for_now() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(3)
        await asyncio.sleep(1)
        shards = service.dispatcher.shards
        held = shards.held[service.application.shard]
        held.lease = Lease(held.lease.shard, held.lease.epoch - 1, held.lease.worker)
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        desk, troubles = service.dispatcher.desk, Counter[str]()
        assert await upkeep.advance_once(service.store, desk, shards, troubles) is None
        assert not troubles
        assert await service.counts(endpoint) == {State.READY: 3}


class Stubborn(Shaky):
    """Has a task that cannot be done."""

    def __init__(self, store: Store, error: Exception) -> None:
        super().__init__(store)
        self.error = error
        self.asked = 0

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        if task.id == "qtask_hard":
            self.asked += 1
            raise self.error
        return await self._store.advance(task, now=now, limit=limit, lease=lease)


@pytest.mark.parametrize("error", [StoreError("no room"), KeyError("lane"), NotFound("task", "x")])
def test_a_task_that_cannot_be_done_is_given_up_and_others_go_on(error: Exception) -> None:
    @virtually
    async def story() -> None:
        async with virtual_service(through=lambda store: Stubborn(store, error).store) as service:
            endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
            await service.add(3)
            await asyncio.sleep(1)
            hard = a_task(endpoint, Work.RECOVER, id="qtask_hard", created_at=NOON)
            easy = a_task(endpoint, Work.DISCARD, created_at=NOON + 1)
            for task in (hard, easy):
                await service.store.add_task(task)
            await asyncio.sleep(upkeep.TRIES + 5)
            left = await service.store.get_task(hard.id)
            assert left.finished_at is not None
            assert left.failed == str(error)
            assert isinstance(service.seen, Stubborn)
            assert service.seen.asked == upkeep.TRIES
            assert (await service.store.get_task(easy.id)).failed is None
            assert await service.counts(endpoint) == {State.DISCARDED: 3}

    story()


@virtually
async def test_a_task_is_not_given_up_because_the_database_is_away() -> None:
    away = StoreUnavailable("nobody is there")
    async with virtual_service(through=lambda store: Stubborn(store, away).store) as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.store.add_task(a_task(endpoint, Work.RECOVER, id="qtask_hard"))
        await asyncio.sleep(60)
        assert (await service.store.get_task("qtask_hard")).finished_at is None


@virtually
async def test_a_purge_is_done_though_it_is_about_no_lane() -> None:
    async with virtual_service() as service:
        (message,) = await service.add()
        await service.store.add_task(
            Task(
                id="qtask_purge",
                work=Work.PURGE_CONTENT,
                environment=ENVIRONMENT,
                application=service.application.id,
                created_at=NOON,
            )
        )
        await asyncio.sleep(5)
        assert (await service.store.get_task("qtask_purge")).data == {"messagesPurged": 1}
        assert (await service.store.message(service.application.id, message)).payload is None


@virtually
async def test_what_was_delivered_is_replayed_at_a_pace() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(600)
        await service.until_delivered(endpoint, within=60)
        started_at = service.now()
        wanted = ReplayFilter(fate=Fate.SUCCESS)
        task = a_task(endpoint, Work.BULK_REPLAY, wanted=wanted)
        await service.store.add_task(task)
        await asyncio.sleep(1)
        soon = [one for one in service.sender.sent if one.at >= started_at]
        assert 0 < len(soon) < 300, "not all at once"
        await service.until_delivered(endpoint, within=300)
        assert (await service.store.get_task(task.id)).data == {"messagesSent": 600}
        assert Counter(Counter(one.message for one in service.sender.sent).values()) == {2: 600}


@virtually
async def test_without_a_task_there_is_nothing_to_advance() -> None:
    async with virtual_service() as service:
        desk, shards = service.dispatcher.desk, service.dispatcher.shards
        assert await upkeep.advance_once(service.store, desk, shards, Counter()) is None


@virtually
async def test_what_is_too_old_ends_in_pieces_and_what_is_parked_does_not() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "within": 3600, "backoff": {"kind": "fixed", "delay": 1}}'
        paused = await service.add_endpoint("a.example", standing=Standing.PAUSED, policy=policy)
        parked = await service.add_endpoint(
            "b.example", standing=Standing.PARKED, policy=policy, parked=((service.now(), None),)
        )
        await service.add(2 * upkeep.CHUNK + 1)
        await asyncio.sleep(HOUR + 70)
        assert await service.counts(paused) == {State.FAILED: 2 * upkeep.CHUNK + 1}
        assert await service.counts(parked) == {State.READY: 2 * upkeep.CHUNK + 1}
        found = await service.store.undelivered(service.application.id, limit=1)
        assert found[0][1].reason is Reason.AGED


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
async def test_what_need_not_be_kept_is_swept_in_pieces() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(upkeep.CHUNK + 10)
        await service.until_delivered(endpoint, within=60)
        await asyncio.sleep(60)
        kept = Kept(messages=30.0)
        swept = await upkeep.sweep(service.store, kept, service.now())
        assert swept >= upkeep.CHUNK + 10
        assert await service.counts(endpoint) == {}
        assert await upkeep.sweep(service.store, kept, service.now()) == 0
