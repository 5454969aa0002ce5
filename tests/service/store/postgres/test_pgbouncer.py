"""The whole store works through a real PgBouncer, as it does through the imitation."""

import asyncio
from collections.abc import Iterator

import pytest

from tarry.service.store.postgres.database import address
from tarry.service.store.postgres.database.pool import connect
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.postgres import throw_away_cluster
from tarry.testing.samples import delivered, new_message
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.pgbouncer import NoPgBouncerError, command, pgbouncer_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def through() -> Iterator[str]:
    """The URL of a server behind a PgBouncer."""
    try:
        command()
    except NoPgBouncerError as error:
        pytest.skip(str(error))
    with throw_away_cluster() as cluster, pgbouncer_of(cluster) as url:
        yield url


async def test_a_real_pgbouncer_is_noticed(through: str) -> None:
    connection = await connect(address.read(through), pooler=None)
    assert connection.pooler is True
    await connection.close()


async def test_messages_are_accepted_and_settled_through_a_real_pgbouncer(through: str) -> None:
    store = await PostgresStore.open(through, migrate=True)
    scene = await Scene.set_up(store)
    for many in (1, 50):
        calls = [store.add([new_message(scene.application)]) for _ in range(many)]
        await asyncio.gather(*calls)
    due = await scene.due()
    assert len(due) == 51
    assert all(await scene.settle(*map(delivered, due)))
    assert await store.counts(scene.lane) == {"delivered": 51}
    await store.close()
