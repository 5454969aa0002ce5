"""Adding counts what other processes changed, and a whole batch costs a handful of statements."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tarry.errors import BacklogFull, StoreError, StoreUnavailable
from tarry.service.model.endpoint import Standing
from tarry.service.model.message import Accepted
from tarry.service.store.kinds import Applications
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.samples import an_application, an_endpoint, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_an_endpoint_that_another_process_puts_gets_the_next_message(
    scene: Scene, other: SqliteStore
) -> None:
    await scene.add()
    late = await other.put(an_endpoint(scene.application))
    message = await scene.add()
    assert [due.message for due in await scene.due(lane=late.lane)] == [message.id]


async def test_an_endpoint_that_another_process_deletes_gets_no_more(
    scene: Scene, other: SqliteStore
) -> None:
    await scene.add()
    await other.put(an_endpoint(scene.application, id=scene.endpoint.id, lane=scene.lane))
    await other.delete(Applications(scene.application.environment), scene.application.id, now=1.0)
    (answer,) = await scene.store.add([new_message(scene.application)])
    assert not isinstance(answer, Accepted)


async def test_lanes_of_many_applications_are_numbered_in_one_call(scene: Scene) -> None:
    second = an_application()
    await scene.store.put(second)
    lanes = [
        (await scene.store.put(an_endpoint(second, standing=standing))).lane
        for standing in (Standing.ENABLED, Standing.DISABLED)
    ]
    mixed = [new_message((scene.application, second)[n % 2]) for n in range(10)]
    await scene.store.add(mixed)
    for lane in (scene.lane, *lanes[:1]):
        assert [due.seq for due in await scene.due(lane=lane)] == [1, 2, 3, 4, 5]
    (skipping,) = await scene.store.lanes(lanes[1:])
    assert (skipping.added, skipping.ended) == (5, 5)


async def test_who_has_no_limit_of_their_own_has_that_of_the_store(path: Path) -> None:
    store = await open_sqlite(path, most_waiting=2)
    scene = await Scene.set_up(store)
    roomier = an_application(id=scene.application.id, most_waiting=3)
    answers = await store.add([new_message(scene.application) for _ in range(3)])
    assert [type(answer) for answer in answers] == [Accepted, Accepted, BacklogFull]
    await store.put(roomier)
    answers = await store.add([new_message(scene.application) for _ in range(2)])
    assert [type(answer) for answer in answers] == [Accepted, BacklogFull]
    await store.close()


async def test_what_cannot_be_written_down_fails_alone(scene: Scene) -> None:
    good, bad = new_message(scene.application), new_message(scene.application, event_type="\ud800")
    answers = await asyncio.gather(
        scene.store.add([good]),
        scene.store.add([bad]),
        scene.store.add([new_message(scene.application)]),
        return_exceptions=True,
    )
    assert isinstance(answers[1], StoreError)
    assert "cannot be stored" in str(answers[1])
    assert [due.message for due in await scene.due()][:1] == [good.message.id]
    assert len(await scene.due()) == 2


async def test_nothing_is_kept_on_a_full_disk_and_all_goes_on_once_there_is_room(
    scene: Scene, full_disk: Callable[[], AbstractContextManager[None]]
) -> None:
    first = await scene.add()
    with full_disk():
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await scene.store.add([new_message(scene.application, payload=b"x" * 50_000)])
        assert [due.message for due in await scene.due()] == [first.id]
    last = await scene.add()
    assert [due.message for due in await scene.due()] == [first.id, last.id]
    assert [due.seq for due in await scene.due()] == [1, 2]
