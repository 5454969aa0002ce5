"""Tasks are done in pieces and in turns. One that cannot be done is given up."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise

import pytest
from msgspec.structs import replace

from tarry.errors import NotFound, StoreError, StoreUnavailable
from tarry.service.dispatch.clock import Clock
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.upkeep.tasks import (
    MOST_TRIES,
    PAUSE_AFTER_TRY,
    RECENT,
    ROWS_OF_A_PIECE,
    Tasks,
    TaskTrials,
    TaskTurns,
    TenantPauses,
)
from tarry.service.model.application import SHARDS
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import LaneRow, Lease
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.settings import Limits
from tarry.service.model.task import IN_PIECES, STATISTICS, Task, Work
from tarry.service.store import kinds
from tarry.service.store.contract import Store
from tarry.service.store.kinds import AllTasksOf, Messages
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import ENVIRONMENT, NOON, a_task
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# --- Whose task is next -------------------------------------------------------------------------


class Calls(MemoryStore):
    """Counts how often the next task is asked for."""

    asked = 0

    async def next_task(self, *args: object, **named: object) -> Task | None:
        self.asked += 1
        return await super().next_task(*args, **named)  # type: ignore[arg-type]  # handed on


@pytest.fixture
async def store() -> Calls:
    return Calls()


@pytest.fixture
async def shards(store: Calls) -> Shards:
    shards = Shards(store, "worker-1", Limits(), Clock((await store.server()).now))
    while len(shards.owned) < SHARDS:
        await shards.take()
    return shards


async def put(store: MemoryStore, application: str, number: int) -> Task:
    return await store.add_task(
        Task(
            id=f"qtask_{application}_{number}",
            work=Work.PURGE_CONTENT,
            environment=ENVIRONMENT,
            application=application,
            created_at=NOON + number,
        )
    )


async def test_tenants_take_turns_with_their_oldest_tasks(store: Calls, shards: Shards) -> None:
    tasks = {name: [await put(store, name, at) for at in range(3)] for name in ("b", "a", "c")}
    turns = TaskTurns(store, shards, IN_PIECES)
    served = [await turns.next() for _ in range(6)]
    assert served == [tasks[name][0] for name in "abcabc"]
    first = await put(store, "aa", 0)
    assert await turns.next() == tasks["a"][0]
    assert await turns.next() == first


async def test_without_a_task_the_store_is_asked_once(store: Calls, shards: Shards) -> None:
    await put(store, "a", 0)
    turns = TaskTurns(store, shards, STATISTICS)
    for _ in range(3):
        assert await turns.next() is None
    assert store.asked == 3
    turns = TaskTurns(store, shards, IN_PIECES)
    assert await turns.next() is not None
    store._data.tasks.clear()  # noqa: SLF001  they are done
    store.asked = 0
    assert await turns.next() is None
    assert await turns.next() is None
    assert store.asked == 3, "once more to see that nobody is before the last one"


async def test_only_tasks_of_owned_shards_are_given(store: Calls, shards: Shards) -> None:
    await put(store, "a", 0)
    shards.owned.clear()
    assert await TaskTurns(store, shards, IN_PIECES).next() is None


# --- Tries --------------------------------------------------------------------------------------


async def scene(service: VirtualService) -> tuple[TaskTrials, Task]:
    """TaskTrials, and a task that its dispatcher does not see."""
    endpoint = await service.add_endpoint("a.example")
    trials = TaskTrials(service.store, service.dispatcher.context, service.dispatcher.shards)
    return trials, a_task(endpoint, Work.APP_STATS, lane=0)


def fails(error: Exception) -> Callable[[Task, Lease], Awaitable[Task]]:
    async def do(_task: Task, _lease: Lease) -> Task:
        raise error

    return do


async def works(task: Task, lease: Lease) -> Task:
    assert lease.worker
    return replace(task, cursor="1")


async def idle(task: Task, _lease: Lease) -> Task:
    return task


@virtually
async def test_a_task_that_works_is_returned() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        assert await trials.attempt(task, works) == replace(task, cursor="1")
        assert not trials.paused(task.tenant)


@virtually
async def test_a_task_that_fails_every_time_is_given_up() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        await service.store.add_task(task)
        for _ in range(MOST_TRIES - 1):
            assert await trials.attempt(task, fails(StoreError("no"))) is None
        given_up = await trials.attempt(task, fails(KeyError()))
        assert given_up is not None
        assert given_up.failed == "KeyError"
        assert await service.store.get(kinds.Tasks(ENVIRONMENT), task.id) == given_up
        await service.store.add_task(task)
        assert await trials.attempt(task, fails(StoreError("no"))) is None, "it counts anew"


@virtually
async def test_what_works_in_between_makes_the_failures_count_anew() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        for _ in range(MOST_TRIES):
            assert await trials.attempt(task, fails(StoreError("no"))) is None
            assert await trials.attempt(task, works) is not None


@pytest.mark.parametrize("do", [fails(StoreError("no")), idle])
def test_a_tenant_pauses_when_a_try_came_to_nothing(
    do: Callable[[Task, Lease], Awaitable[Task]],
) -> None:
    @virtually
    async def story() -> None:
        async with virtual_service() as service:
            trials, task = await scene(service)
            assert await trials.attempt(task, do) is None
            assert trials.paused(task.tenant)
            assert not trials.paused(("app_other", ""))
            await asyncio.sleep(PAUSE_AFTER_TRY - 0.01)
            assert trials.paused(task.tenant)
            await asyncio.sleep(0.01)
            assert not trials.paused(task.tenant)

    story()


@virtually
async def test_a_task_of_a_shard_that_is_not_owned_any_more_is_not_tried() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        service.dispatcher.shards.owned.clear()
        assert await trials.attempt(task, works) is None
        assert trials.paused(task.tenant)


@virtually
async def test_a_database_that_is_away_is_no_failure_of_the_task() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        for _ in range(MOST_TRIES + 1):
            with pytest.raises(StoreUnavailable):
                await trials.attempt(task, fails(StoreUnavailable("away")))
        assert not trials.paused(task.tenant)


# --- Pauses -------------------------------------------------------------------------------------


class Endless(Shaky):
    """Each piece of a task takes a tenth of a second, and no task ends."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.pieces: list[tuple[float, str]] = []
        """When each piece began, and whose it was."""

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        assert limit
        assert lease.worker
        self.pieces.append((now, task.application))
        await asyncio.sleep(0.1)
        return replace(task, cursor=f"{task.cursor}x")


async def add_task_of_another(service: VirtualService) -> str:
    """Add a task of a new application, and return the application's id."""
    application = await service.add_application()
    endpoint = await service.add_endpoint("a.example", application=application)
    await service.store.add_task(a_task(endpoint, Work.DISCARD))
    return application.id


@pytest.mark.parametrize("offset", [0.01, 0.05, 0.09, 0.13, 0.17])
def test_a_tenant_whose_task_is_new_waits_only_for_the_piece_that_is_being_done(
    offset: float,
) -> None:
    @virtually
    async def story() -> None:
        between = Between(Endless)
        async with virtual_service(through=between) as service:
            await add_task_of_another(service)
            await asyncio.sleep(5 + offset)
            asked_at = service.now()
            piece_ends_at = between.shaky.pieces[-1][0] + 0.1
            application = await add_task_of_another(service)
            await asyncio.sleep(1)
            (first, *_) = (at for at, whose in between.shaky.pieces if whose == application)
            assert first <= max(asked_at, piece_ends_at) + 0.01, "a pause does not delay it"

    story()


@pytest.mark.parametrize(("tenants", "seconds"), [(1, 20), (2, 20), (5, 20), (120, 48)])
def test_tasks_of_all_tenants_together_take_half_of_the_time(tenants: int, seconds: int) -> None:
    @virtually
    async def story() -> None:
        between = Between(Endless)
        async with virtual_service(through=between) as service:
            applications = {await add_task_of_another(service) for _ in range(tenants)}
            await asyncio.sleep(5 + 0.3 * tenants)
            between.shaky.pieces.clear()
            await asyncio.sleep(seconds)
            counts = Counter(whose for _, whose in between.shaky.pieces)
            assert counts.keys() == applications
            assert 0.42 <= 0.1 * counts.total() / seconds <= 0.51
            assert max(counts.values()) - min(counts.values()) <= 2

    story()


def test_a_piece_of_a_tenant_counts_in_the_pauses_of_others_for_a_while() -> None:
    now = NOON
    pauses = TenantPauses(lambda: now)
    first, second = ("env", "a"), ("env", "b")
    assert pauses.left(first) == 0
    pauses.add(first, 0.2)
    assert pauses.left(first) == pytest.approx(0.2, abs=1e-6)
    assert pauses.left(second) == 0
    now += 1
    pauses.add(second, 0.3)
    assert pauses.left(first) == 0
    assert pauses.left(second) == pytest.approx(0.7, abs=1e-6)
    now += RECENT
    pauses.add(second, 0.3)
    assert pauses.left(second) == pytest.approx(0.3, abs=1e-6)


# --- Pieces -------------------------------------------------------------------------------------


def tasks_of(service: VirtualService) -> Tasks:
    """Those of a dispatcher, done by hand."""
    store, dispatcher = service.store, service.dispatcher
    trials = TaskTrials(store, dispatcher.context, dispatcher.shards)
    return Tasks(store, dispatcher.context, dispatcher.shards, dispatcher.loader, trials)


@virtually
async def test_a_task_is_done_in_pieces_until_there_is_nothing_left() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(2 * ROWS_OF_A_PIECE + 1)
        await asyncio.sleep(1)
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        await asyncio.sleep(2)
        assert await service.counts(endpoint) == {State.DISCARDED: 2 * ROWS_OF_A_PIECE + 1}
        (task,) = await service.store.read(AllTasksOf(service.application.id))
        assert task.finished_at is not None


@virtually
async def test_a_task_that_cannot_be_advanced_is_left_alone_for_now() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(3)
        await asyncio.sleep(1)
        shards = service.dispatcher.shards
        held = shards.owned[service.application.shard].held
        held.lease = Lease(held.lease.shard, held.lease.epoch - 1, held.lease.worker)
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        for _ in range(MOST_TRIES + 1):
            assert await tasks_of(service).advance() is None
        assert await service.counts(endpoint) == {State.READY: 3}
        assert not [
            task
            for task in await service.store.read(AllTasksOf(endpoint.application))
            if task.failed
        ]


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
        between = Between(lambda store: Stubborn(store, error))
        async with virtual_service(through=between) as service:
            endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
            await service.add(3)
            await asyncio.sleep(1)
            hard = a_task(endpoint, Work.RECOVER, id="qtask_hard", created_at=NOON)
            easy = a_task(endpoint, Work.DISCARD, created_at=NOON + 1)
            for task in (hard, easy):
                await service.store.add_task(task)
            await asyncio.sleep(MOST_TRIES + 5)
            left = await service.store.get(kinds.Tasks(ENVIRONMENT), hard.id)
            assert left.finished_at is not None
            assert left.failed == str(error)
            assert between.shaky.asked == MOST_TRIES
            assert (await service.store.get(kinds.Tasks(ENVIRONMENT), easy.id)).failed is None
            assert await service.counts(endpoint) == {State.DISCARDED: 3}

    story()


@virtually
async def test_a_task_is_not_given_up_because_the_database_is_away() -> None:
    away = StoreUnavailable("nobody is there")
    async with virtual_service(through=lambda store: Stubborn(store, away).store) as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.store.add_task(a_task(endpoint, Work.RECOVER, id="qtask_hard"))
        await asyncio.sleep(60)
        assert (await service.store.get(kinds.Tasks(ENVIRONMENT), "qtask_hard")).finished_at is None


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
        assert (await service.store.get(kinds.Tasks(ENVIRONMENT), "qtask_purge")).data == {
            "messagesPurged": 1
        }
        assert (await service.store.get(Messages(service.application.id), message)).payload is None


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
        assert (await service.store.get(kinds.Tasks(ENVIRONMENT), task.id)).data == {
            "messagesSent": 600
        }
        assert Counter(Counter(one.message for one in service.sender.sent).values()) == {2: 600}


class SlowLoads(Shaky):
    """Takes a tenth of a second to read a lane, so that it is read again while it is loaded."""

    async def lanes(self, numbers: Sequence[int]) -> list[LaneRow]:
        await asyncio.sleep(0.1)
        return await self._store.lanes(numbers)


@pytest.mark.parametrize("work", [Work.REPLAY_MISSING, Work.BULK_REPLAY])
@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1])
def test_a_replay_is_sent_at_a_pace_whoever_reads_it_first(work: Work, delay: float) -> None:
    @virtually
    async def story() -> None:
        async with virtual_service(through=Between(SlowLoads)) as service:
            await service.add(6)
            endpoint = await service.add_endpoint("a.example")
            if work is Work.BULK_REPLAY:
                await service.add(6)
                await service.until_delivered(endpoint, within=60)
                await asyncio.sleep(60)
            started_at = service.now()
            await asyncio.sleep(delay)
            await service.store.add_task(a_task(endpoint, work))
            await asyncio.sleep(10)
            sent_at = [sent.at for sent in service.sender.sent if sent.at >= started_at]
            assert len(sent_at) >= 6
            assert all(later - earlier > 0.01 for earlier, later in pairwise(sent_at[:6]))

    story()


@virtually
async def test_without_a_task_there_is_nothing_to_advance() -> None:
    async with virtual_service() as service:
        assert not await tasks_of(service).advance()


class Slow(Shaky):
    """Takes a tenth of a second for a piece of a task, and has tasks that cannot be done."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.pieces: list[str] = []

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        self.pieces.append(task.application)
        await asyncio.sleep(0.1)
        if task.id.startswith("qtask_hard"):
            raise StoreError("no")
        return await self._store.advance(task, now=now, limit=limit, lease=lease)


def slow_pieces() -> Between[Slow]:
    return Between(Slow)


async def finished(service: VirtualService, task: Task) -> float:
    """How many seconds it takes until a task is done."""
    asked_at = service.now()
    while (await service.store.get(kinds.Tasks(ENVIRONMENT), task.id)).finished_at is None:  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0.01)
    return service.now() - asked_at


@virtually
async def test_200_replays_of_one_tenant_delay_another_by_one_piece() -> None:
    async with virtual_service(through=slow_pieces()) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(3 * ROWS_OF_A_PIECE)
        await service.until_delivered(endpoint, within=600)
        other = await service.add_application()
        late = await service.add_endpoint("b.example", application=other)
        await service.add(application=other)
        await service.until_delivered(late, within=60)
        alone = await service.store.add_task(a_task(late, Work.BULK_REPLAY))
        took_alone = await finished(service, alone)
        for _ in range(200):
            await service.store.add_task(a_task(endpoint, Work.BULK_REPLAY))
        await asyncio.sleep(5)
        task = await service.store.add_task(a_task(late, Work.BULK_REPLAY))
        assert await finished(service, task) <= took_alone + 0.2
        left = [
            one
            for one in await service.store.read(AllTasksOf(endpoint.application))
            if one.finished_at is None
        ]
        assert len(left) > 150


@virtually
async def test_every_tenant_has_a_piece_done_in_turn() -> None:
    between = slow_pieces()
    async with virtual_service(through=between) as service:
        owners = [await service.add_application() for _ in range(3)]
        for many, owner in enumerate(owners):
            endpoint = await service.add_endpoint("a.example", application=owner)
            for _ in range(2 + many):
                await service.store.add_task(a_task(endpoint, Work.RECOVER))
        await asyncio.sleep(5)
        first, second, third = sorted(owner.id for owner in owners)
        done = between.shaky.pieces
        assert len(done) == 9
        for start in (0, 3):
            assert sorted(done[start : start + 3]) == [first, second, third], done


@virtually
async def test_tasks_of_one_tenant_that_cannot_be_done_keep_no_other_waiting() -> None:
    between = slow_pieces()
    async with virtual_service(through=between) as service:
        bad = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        for number in range(50):
            hard = a_task(bad, Work.RECOVER, id=f"qtask_hard{number:02}", created_at=NOON)
            await service.store.add_task(hard)
        await asyncio.sleep(3)
        other = await service.add_application()
        endpoint = await service.add_endpoint("b.example", application=other)
        await service.add(5 * ROWS_OF_A_PIECE, application=other)
        await service.until_delivered(endpoint, within=600)
        task = await service.store.add_task(a_task(endpoint, Work.BULK_REPLAY))
        assert await finished(service, task) <= 2.5
        asked = between.shaky.pieces.count(bad.application)
        assert asked <= service.now() - NOON + 1, "it is tried once a second"
