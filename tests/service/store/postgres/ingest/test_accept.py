import asyncio

import psycopg
import pytest
from msgspec.structs import replace

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.store.kinds import AllDeliveriesOf
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import new_message
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


async def test_an_endpoint_that_changes_while_a_message_comes_is_looked_at_again(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    await scene.add()  # from now on its endpoint is remembered
    with psycopg.connect(tarry_url) as changing:
        changing.execute("UPDATE tarry.application SET version = version + 1")
        changing.execute("UPDATE tarry.lane SET version = version + 1")
        changing.execute("UPDATE tarry.endpoint SET standing = 'disabled'")
        adding = asyncio.create_task(scene.add())
        await someone_waits(tarry_url)
        changing.commit()
    message = await adding
    ((_, delivery),) = await store.read(AllDeliveriesOf(message.id))
    assert delivery.state is State.SKIPPED


async def test_what_another_process_changed_counts_for_the_next_message(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    await scene.add()
    other = await PostgresStore.open(tarry_url)
    await other.put(replace(scene.endpoint, standing=Standing.DISABLED))
    await other.close()
    message = await scene.add()
    ((_, delivery),) = await store.read(AllDeliveriesOf(message.id))
    assert delivery.state is State.SKIPPED
    assert (await scene.row()).waiting == 1


async def test_numbers_are_given_in_the_order_of_commits(scene: Scene, tarry_url: str) -> None:
    with psycopg.connect(tarry_url) as first:
        first.execute("UPDATE tarry.lane SET added = added + 1")
        adding = asyncio.create_task(scene.add())
        await someone_waits(tarry_url)
        assert await scene.messages() == []
        first.rollback()
    await adding
    assert [due.seq for due in await scene.due()] == [1]


@pytest.mark.parametrize("many", [1, 30])
async def test_few_and_many_are_kept_in_the_same_way(
    scene: Scene, store: PostgresStore, many: int
) -> None:
    new = [
        new_message(scene.application, channels=("a", "b"), tags=(), payload=bytes([number]))
        for number in range(many)
    ]
    await store.add(new)
    assert await scene.messages() == [added.message for added in new]
    assert [due.payload for due in await scene.due()] == [added.message.payload for added in new]


@pytest.mark.parametrize("most", [1, 3, 5, 20_000])
async def test_a_large_batch_is_written_in_pieces_and_in_one_transaction(
    scene: Scene, store: PostgresStore, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("tarry.service.store.postgres.ingest.accept.MOST_ROWS", most)
    monkeypatch.setattr("tarry.service.store.postgres.ingest.accept.ROWS_IN_A_PIECE", most)
    second = await scene.add_endpoint()
    batch = [new_message(scene.application) for _ in range(7)]
    await store.add(batch)
    for number, new in enumerate(batch, start=1):
        found = await store.read(AllDeliveriesOf(new.message.id))
        assert [delivery.seq for _, delivery in found] == [number] * 2
        assert {endpoint.id for endpoint, _ in found} >= {second.id}
