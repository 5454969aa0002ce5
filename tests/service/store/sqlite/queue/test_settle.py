"""Each settlement of a large batch gets its own result."""

from pathlib import Path
from typing import Any

import pytest

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Stream
from tarry.service.store.kinds import AllAttemptsOf
from tarry.testing.samples import NOON, delivered, failed, new_message, put_back
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_each_of_a_large_batch_gets_its_own_answer_and_attempt(scene: Scene) -> None:
    messages = [new_message(scene.application) for _ in range(300)]
    await scene.store.add(messages)
    due = (await scene.fetch(limit=300)).due
    kinds = (delivered, failed, put_back)
    settlements = [kinds[index % 3](delivery) for index, delivery in enumerate(due)]
    stale = [delivered(delivery) for delivery in due[::10]]
    assert await scene.settle(*settlements, *stale) == [True] * 300 + [False] * 30
    assert await scene.store.counts(scene.lane) == {
        State.DELIVERED: 100,
        State.FAILED: 100,
        State.READY: 100,
    }
    assert (await scene.row()).waiting == 100
    for settlement in settlements[::50]:
        assert settlement.attempt
        assert await scene.store.read(AllAttemptsOf(settlement.attempt.message)) == [
            settlement.attempt
        ]


async def test_what_waits_for_no_time_is_due(scene: Scene) -> None:
    await scene.add()
    (due,) = await scene.due()
    await scene.settle(delivered(due, state=State.WAITING, ended_at=None))
    assert [delivery.seq for delivery in await scene.due(Stream.WAITING)] == [due.seq]


async def test_a_change_of_standing_is_seen_by_the_next_message(scene: Scene) -> None:
    await scene.add()
    await scene.settle(
        changes=[Change(lane=scene.lane, epoch=1, at=NOON, standing=Standing.DISABLED)]
    )
    message = await scene.add()
    assert (await scene.delivery(message)).state is State.SKIPPED


async def test_a_look_for_what_is_too_old_writes_nothing(scene: Scene, path: Path) -> None:
    await scene.add()
    log = path.with_name(f"{path.name}-wal").stat
    before = log().st_size
    bounds: dict[str, Any] = {"now": NOON + 99, "limit": 9, "lease": scene.lease}
    assert await scene.store.expire(scene.lane, accepted_before=NOON - 1, **bounds) == 0
    assert log().st_size == before
    assert await scene.store.expire(scene.lane, accepted_before=NOON + 1, **bounds) == 1
    assert log().st_size > before
