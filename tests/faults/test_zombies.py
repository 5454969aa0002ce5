"""A worker that was stopped past its lease and goes on: what it says then changes nothing."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from tarry.errors import StoreUnavailable
from tarry.service.store.postgres.database import pool
from tarry.service.store.postgres.queue import queue
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.receiver import Receiver
from tests.faults.conftest import Databases
from tests.faults.nursery import Nursery
from tests.faults.scene import PostgresBase, Scene, until

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("TARRY_TEST_ZOMBIES", "3"))
LEASES = "SELECT number, epoch, worker FROM tarry.shard WHERE worker IS NOT NULL ORDER BY number"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def scene(databases: Databases, receiver: Receiver, nursery: Nursery, tmp_path: Path) -> Scene:
    scene = Scene(PostgresBase(databases.new()), receiver, nursery, tmp_path)
    scene.lease = 2.0
    return scene


def test_late_settlements_change_nothing(scene: Scene) -> None:
    scene.prepare(apps=8)
    scene.receiver.latency = 0.1  # so that there is always something in the air
    accepting = scene.ingest(pause=0.02)
    workers = [scene.worker(), scene.worker()]
    for turn in range(ROUNDS):
        zombie, other = workers[turn % 2], workers[1 - turn % 2]
        until(lambda: both_at_work(scene), "each has half of the shards")
        until(lambda: len(scene.receiver.connections) > 2, "something is in the air")
        owners = {row[2] for row in scene.base.ask(LEASES)}
        zombie.send(signal.SIGSTOP)
        scene.died(alone=False, stopped=True)  # what it had sent may come once more
        until(partial(taken_over, scene, owners), "the other has all shards")
        others = finished(scene)
        zombie.send(signal.SIGCONT)
        time.sleep(0.3)
        # What had ended before it woke ended as it was, and once.
        now = finished(scene)
        assert others.items() <= now.items()
        assert zombie.alive, zombie.said
        assert other.alive, other.said
    assert accepting.end() == 0, accepting.said
    scene.settle_down()
    for worker in workers:
        scene.end(worker)
    scene.check()


@pytest.mark.anyio
async def test_a_transaction_that_is_left_alone_gives_its_locks_back(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(pool.SETTINGS, pool.ABANDONED, "200")

    async def settle(connection: pool.Connection, goes_on: asyncio.Event) -> None:
        await goes_on.wait()  # stopped between two statements, as if by SIGSTOP
        await connection.execute("SELECT 1")

    await is_taken_over(databases, settle)


@pytest.mark.anyio
async def test_a_transaction_that_is_left_in_the_middle_of_a_statement_gives_its_locks_back(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "LOCKED_TOO_LONG", 0.2)

    async def settle(connection: pool.Connection, goes_on: asyncio.Event) -> None:
        async def row() -> AsyncIterator[bytes]:
            yield b"worker_"
            await goes_on.wait()  # stopped while it sends the row
            yield b"zombie\t2030-01-01\n"

        await connection.copy_to_table("worker", source=row(), schema_name="tarry")

    await is_taken_over(databases, settle)


async def is_taken_over(
    databases: Databases,
    settle: Callable[[pool.Connection, asyncio.Event], Awaitable[None]],
) -> None:
    """Check that the shard of a worker that stops while it settles can be taken over."""
    zombie = await PostgresStore.open(databases.new())
    other = await PostgresStore.open(zombie._database.address.url)  # noqa: SLF001  the same one
    (lease,) = await zombie.lease("zombie", most=1, length=0.1)
    goes_on = asyncio.Event()

    async def hold_and_settle(connection: pool.Connection) -> None:
        held = "SELECT FROM tarry.shard WHERE number = $1 FOR KEY SHARE"
        await connection.execute(held, lease.shard)
        await settle(connection, goes_on)

    settling = asyncio.create_task(zombie._database.run(hold_and_settle))  # noqa: SLF001  to stop it
    async with asyncio.timeout(60):
        taken: set[int] = set()
        while lease.shard not in taken:
            taken.update(new.shard for new in await other.lease("other", most=64, length=10))
            await asyncio.sleep(0.02)
    goes_on.set()
    with pytest.raises(StoreUnavailable):
        await settling
    await zombie.close()
    await other.close()


def both_at_work(scene: Scene) -> bool:
    counts: dict[str, int] = {}
    for _, _, worker in scene.base.ask(LEASES):
        counts[worker] = counts.get(worker, 0) + 1
    return sorted(counts.values()) == [32, 32]


def taken_over(scene: Scene, before: set[str]) -> bool:
    owners = {row[2] for row in scene.base.ask(LEASES)}
    return len(owners) == 1 and owners <= before


def finished(scene: Scene) -> dict[str, tuple[object, ...]]:
    rows = scene.base.deliveries()
    return {row.message: row for row in rows if row.state not in {"ready", "waiting"}}
