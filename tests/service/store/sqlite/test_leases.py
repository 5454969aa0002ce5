"""One process sends at a time, and the next one need not wait for a dead one's leases."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tarry.errors import StoreOwned
from tarry.service.model.application import SHARDS
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.samples import delivered
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

OWN = """
import asyncio, pathlib, sys
from tarry.service.store.sqlite.store import open_sqlite

async def own():
    store = await open_sqlite(pathlib.Path(sys.argv[1]))
    leases = await store.lease("worker-of-the-child", most=64, length=3600)
    print(len(leases), flush=True)
    sys.stdin.read()

asyncio.run(own())
"""


async def test_a_second_dispatcher_is_refused_and_may_still_add_and_read(
    scene: Scene, other: SqliteStore
) -> None:
    with pytest.raises(StoreOwned, match=f"process {os.getpid()}, worker worker-1"):
        await other.lease("worker-2", most=1, length=10)
    assert await other.workers() == 1
    await Scene(other, scene.application, scene.endpoint, []).add()
    assert len(await scene.due()) == 1


async def test_the_role_goes_with_the_last_shard_that_is_given_back(
    scene: Scene, other: SqliteStore
) -> None:
    await scene.store.release(scene.leases[1:])
    with pytest.raises(StoreOwned):
        await other.lease("worker-2", most=1, length=10)
    await scene.store.release(scene.leases[:1])
    leases = await other.lease("worker-2", most=SHARDS, length=10)
    assert len(leases) == SHARDS
    assert all(lease.clean for lease in leases)


async def test_the_leases_of_a_process_that_was_killed_are_over_at_once(path: Path) -> None:
    store = await open_sqlite(path)
    child = start(path)
    with pytest.raises(StoreOwned, match=f"process {child.pid}, worker worker-of-the-child"):
        await store.lease("worker-1", most=1, length=10)
    kill(child)
    leases = await store.lease("worker-1", most=SHARDS, length=10)
    assert {(lease.epoch, lease.clean) for lease in leases} == {(2, False)}
    assert await store.workers() == 1
    await store.close()


async def test_what_a_store_leased_that_was_only_closed_is_not_clean(
    scene: Scene, other: SqliteStore, store: SqliteStore
) -> None:
    await scene.add()
    (due,) = await scene.due()
    await store.close()
    leases = await other.lease("worker-2", most=SHARDS, length=10)
    assert {lease.clean for lease in leases} == {False}
    assert await other.settle([delivered(due)], [], scene.leases) == [False]
    assert await other.settle([delivered(due)], [], leases) == [False], "it was sent before"
    assert await other.settle([delivered(due, epoch=2)], [], leases) == [True]


async def test_leases_are_kept_while_every_reader_is_busy(scene: Scene, store: SqliteStore) -> None:
    free = threading.Event()
    threads = store._threads  # noqa: SLF001  what reads
    readers = (threads.read, threads.browse, threads.survey)
    reads = [asyncio.create_task(read(lambda _: free.wait())) for read in readers]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert await store.renew(scene.lease.worker, scene.leases, length=10) == scene.leases
    assert not any(read.done() for read in reads)
    free.set()
    await asyncio.gather(*reads)


def start(path: Path) -> "subprocess.Popen[bytes]":
    """Let another process own every shard."""
    child = subprocess.Popen(
        [sys.executable, "-c", OWN, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout
    assert json.loads(child.stdout.readline()) == SHARDS
    return child


def kill(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        assert pipe
        pipe.close()
