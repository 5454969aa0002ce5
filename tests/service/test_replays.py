"""What people ask to be done again, or forgotten: on a file, with a real receiver."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from tarry.errors import NotFound, SettingsError, TooManyReplays
from tarry.service.hooks import Hooks
from tarry.service.model.application import Application
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.listing import MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.task import MOST_PENDING, Task, Work
from tarry.service.store.kinds import Messages, Tasks
from tarry.testing.receiver import Receiver

pytestmark = pytest.mark.anyio


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
async def endpoint(hooks: Hooks, shop: Application, receiver: Receiver) -> Endpoint:
    return await hooks.add_endpoint(shop, receiver.url)


async def ended(hooks: Hooks, message: Message) -> tuple[State, Reason]:
    async with asyncio.timeout(120):
        while True:
            ((_, delivery),) = await hooks.deliveries(message)
            if delivery.ended_at is not None:
                return delivery.state, delivery.reason
            await asyncio.sleep(0.01)


async def finished(hooks: Hooks, task: Task) -> Task:
    kind = Tasks(task.environment)
    async with asyncio.timeout(120):
        while (found := await hooks.store.get(kind, task.id)).finished_at is None:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)
    return found


async def test_what_was_delivered_is_delivered_again_if_it_is_wanted(
    hooks: Hooks, shop: Application, endpoint: Endpoint, receiver: Receiver
) -> None:
    paid = (await hooks.send(shop, "paid", {})).message
    lost = (await hooks.send(shop, "lost", {})).message
    async with hooks.dispatching():
        for message in (paid, lost):
            assert await ended(hooks, message) == (State.DELIVERED, Reason.DELIVERED)
        wanted = ReplayFilter(message=MessageFilter(event_types=("paid",)), fate=Fate.SUCCESS)
        task = await hooks.bulk_replay(endpoint, wanted, since=0.0)
        assert (task.work, task.environment) == (Work.BULK_REPLAY, hooks.environment)
        assert (await finished(hooks, task)).data == {"messagesSent": 1}
        assert await ended(hooks, paid) == (State.DELIVERED, Reason.DELIVERED)
    assert Counter(arrival.id for arrival in receiver.arrivals) == {paid.id: 2, lost.id: 1}


async def test_payloads_are_forgotten_of_all_that_came_before(
    hooks: Hooks, shop: Application, endpoint: Endpoint, receiver: Receiver
) -> None:
    await hooks.change_endpoint(endpoint, standing=Standing.PAUSED)
    old = (await hooks.send(shop, "paid", {})).message
    task = await hooks.purge(shop)
    assert (task.work, task.lane, task.endpoint) == (Work.PURGE_CONTENT, 0, "")
    new = (await hooks.send(shop, "paid", {})).message
    async with hooks.dispatching():
        assert (await finished(hooks, task)).data == {"messagesPurged": 1}
        await hooks.change_endpoint(endpoint, standing=Standing.ENABLED)
        assert await ended(hooks, old) == (State.FAILED, Reason.EXPUNGED)
        assert await ended(hooks, new) == (State.DELIVERED, Reason.DELIVERED)
    assert [arrival.id for arrival in receiver.arrivals] == [new.id]
    assert (await hooks.store.get(Messages(shop.id), old.id)).payload is None


async def test_a_task_says_whose_it_is(hooks: Hooks, shop: Application, endpoint: Endpoint) -> None:
    tasks = [
        await hooks.recover(endpoint, since=1.0, until=2.0),
        await hooks.replay_missing(endpoint, since=1.0),
        await hooks.purge(shop),
    ]
    for task in tasks:
        assert (task.environment, task.application) == (hooks.environment, shop.id)
        assert await hooks.store.get(Tasks(task.environment), task.id) == task
    assert (tasks[0].since, tasks[0].until) == (1.0, 2.0)


async def test_times_and_endpoints_that_cannot_be_are_refused(
    hooks: Hooks, endpoint: Endpoint
) -> None:
    for ask in (hooks.recover, hooks.replay_missing):
        with pytest.raises(SettingsError, match="since"):
            await ask(endpoint, since=float("nan"))
    with pytest.raises(SettingsError, match="until"):
        await hooks.bulk_replay(endpoint, ReplayFilter(), since=0.0, until=float("inf"))
    await hooks.delete_endpoint(endpoint)
    with pytest.raises(NotFound):
        await hooks.bulk_replay(endpoint, ReplayFilter(), since=0.0)


async def test_a_replay_that_is_asked_for_twice_is_done_once(
    hooks: Hooks, endpoint: Endpoint
) -> None:
    for ask in (hooks.recover, hooks.replay_missing):
        task = await ask(endpoint, since=1.0)
        assert await ask(endpoint, since=2.0) == task
        assert await ask(endpoint, since=0.5) != task
    wanted = ReplayFilter(fate=Fate.FAIL)
    task = await hooks.bulk_replay(endpoint, wanted, since=1.0)
    assert await hooks.bulk_replay(endpoint, wanted, since=1.0) == task
    assert await hooks.bulk_replay(endpoint, ReplayFilter(), since=1.0) != task


async def test_an_endpoint_has_so_many_replays_pending_and_no_more(
    hooks: Hooks, endpoint: Endpoint
) -> None:
    for at in range(MOST_PENDING):
        await hooks.recover(endpoint, since=at, until=at + 1)
    with pytest.raises(TooManyReplays):
        await hooks.replay_missing(endpoint, since=1.0)
