import asyncio
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tarry.errors import StoreError
from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.model.message import Accepted
from tarry.service.store.kinds import Messages
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import new_message
from tarry.testing.store_contract.scene import Scene

if TYPE_CHECKING:
    from tarry.service.store.contract import Store

    def is_a_store(store: PostgresStore) -> Store:
        """Let the type checker compare the store with the contract."""
        return store


pytestmark = pytest.mark.anyio


def commits(url: str) -> int:
    with psycopg.connect(url) as connection:
        (number,) = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone() or (
            0,
        )
        return int(number)


async def test_messages_that_come_at_the_same_time_share_commits(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    before = commits(tarry_url)
    answers = await asyncio.gather(
        *(store.add([new_message(scene.application)]) for _ in range(200))
    )
    assert all(isinstance(answer, Accepted) for (answer,) in answers)
    assert commits(tarry_url) - before < 20
    assert len(await scene.due(limit=1_000)) == 200


@pytest.mark.parametrize(
    "values",
    [{"event_type": "a\0"}, {"event_id": "\0"}, {"channels": ("\0",)}, {"tags": ("\0",)}],
)
async def test_a_nul_fails_its_own_call_before_it_reaches_the_database(
    scene: Scene, store: PostgresStore, values: dict[str, Any]
) -> None:
    adding = asyncio.create_task(store.add([new_message(scene.application)]))
    with pytest.raises(StoreError, match="NUL"):
        await store.add([new_message(scene.application, **values)])
    assert isinstance((await adding)[0], Accepted)


async def test_text_that_is_no_text_fails_its_own_call(scene: Scene, store: PostgresStore) -> None:
    calls = [new_message(scene.application, event_type=name) for name in ("a", "\ud800", "b")]
    answers = await asyncio.gather(*(store.add([call]) for call in calls), return_exceptions=True)
    assert [isinstance(answer, StoreError) for answer in answers] == [False, True, False]
    assert len(await scene.due()) == 2


async def test_what_was_asked_for_is_done_before_it_is_closed(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    calls = [asyncio.create_task(scene.add()) for _ in range(20)]
    await asyncio.sleep(0)
    await store.close()
    messages = await asyncio.gather(*calls)
    other = await PostgresStore.open(tarry_url)
    listed = (await other.page(Messages(scene.application.id, MessageFilter()), Cut())).entries
    assert {message.id for message in listed} == {message.id for message in messages}
    await other.close()
