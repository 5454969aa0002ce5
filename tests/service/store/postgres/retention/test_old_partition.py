import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from tarry.errors import NotFound
from tarry.service.model.delivery import State
from tarry.service.model.settings import DAY
from tarry.service.model.task import Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import AllAttemptsOf
from tarry.testing.samples import a_task, failed
from tests.service.store.postgres.ages import Ages, ages
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


@pytest.fixture
async def scene(database_url: str) -> AsyncIterator[Ages]:
    async with ages(database_url) as scene:
        yield scene


async def test_what_leaves_is_not_brought_back(scene: Ages) -> None:
    ended = await scene.put(scene.old_at + 1)
    await scene.settle(*map(failed, await scene.due()))
    waits = await scene.put(scene.old_at + 2)
    await scene.store.sweep(scene.quarter, limit=1)
    assert scene.rows("leaving") == 1
    with pytest.raises(NotFound):
        await scene.store.resend(scene.endpoint, ended.id, resend="r1")
    for work in (Work.RECOVER, Work.REPLAY_MISSING):
        task = a_task(scene.endpoint, work)
        await scene.store.add_task(task)
        done = await scene.store.advance(task, now=scene.now, limit=10, lease=scene.lease)
        assert (done.done, done.finished_at) == (0, scene.now), work
    await scene.sweep()
    assert [due.message for due in await scene.due()] == [waits.id]
    assert scene.rows("message") == 1


async def test_what_waits_for_a_deleted_endpoint_is_discarded_all_the_same(scene: Ages) -> None:
    await scene.put(scene.old_at + 1)
    await scene.store.sweep(scene.quarter, limit=1)
    assert scene.rows("leaving") == 1
    task = await scene.delete_endpoint()
    done = await scene.store.advance(task, now=scene.now, limit=10, lease=scene.lease)
    assert done.done == 1


async def test_what_is_just_brought_back_is_waited_for(scene: Ages) -> None:
    message = await scene.put(scene.old_at + 1)
    await scene.settle(*map(failed, await scene.due()))
    task = a_task(scene.endpoint, Work.RECOVER)
    await scene.store.add_task(task)
    with psycopg.connect(scene.url) as busy:
        busy.execute("SELECT FROM tarry.lane FOR UPDATE")  # the task will wait for it
        recovering = asyncio.create_task(
            scene.store.advance(task, now=scene.now, limit=10, lease=scene.lease)
        )
        await someone_waits(scene.url)
        sweeping = asyncio.create_task(scene.sweep())
        await asyncio.wait({sweeping}, timeout=0.3)
        assert scene.rows("leaving") == 0
        busy.rollback()
    assert (await recovering).done == 1
    await sweeping
    await scene.sweep()
    (due,) = await scene.due()
    assert (due.message, due.payload) == (message.id, message.payload)


async def test_what_comes_in_late_is_kept_wherever_it_belongs(scene: Ages) -> None:
    for number in range(3):
        await scene.put(scene.old_at + 10 + number)
    await scene.deliver(scene.old_at + 60)
    await scene.store.sweep(scene.quarter, limit=2)
    before = await scene.put(scene.old_at + 1)
    behind = await scene.put(scene.old_at + 20, accepted_at=scene.now)
    await scene.sweep()
    assert scene.rows("message_default") == 2
    assert {due.message for due in await scene.due()} == {before.id, behind.id}


async def test_attempts_of_a_later_time_go_with_their_messages(scene: Ages) -> None:
    later = scene.old_at + 7 * DAY
    await scene.age(later, later + 7 * DAY)
    message = await scene.put(scene.old_at + 1)
    await scene.deliver(later + DAY)
    other = await scene.put(later + DAY)
    await scene.deliver(later + DAY)
    await scene.sweep(Retention(messages_before=later + DAY / 2))
    assert await scene.store.read(AllAttemptsOf(message.id)) == []
    assert len(await scene.store.read(AllAttemptsOf(other.id))) == scene.rows("attempt") == 1
    assert (await scene.delivery(other)).state is State.DELIVERED
