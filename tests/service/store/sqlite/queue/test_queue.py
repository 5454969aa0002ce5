"""The work of a fetch depends only on its result, however many other deliveries there are."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tarry.errors import StoreOwned
from tarry.service.model.application import SHARDS
from tarry.service.model.lane import Fetched, Stream, Want
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.migrate import schema
from tarry.service.store.sqlite.queue.queue import fetch_from
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.samples import NOON, delivered
from tarry.testing.store_contract.scene import PLENTY_OF_BYTES, Scene

SHORT_LANE, LONG_LANE = 1, 2
SIZES = {SHORT_LANE: 800, LONG_LANE: 40_000}
FILL = """
WITH RECURSIVE counted (n) AS (
    SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < :size
)
INSERT INTO delivery (lane, seq, message, state, reason, due_at, accepted_at)
SELECT :lane, n, 1,
       CASE WHEN n < :size / 2 THEN 'delivered' WHEN n % 2 THEN 'ready' ELSE 'waiting' END,
       CASE WHEN n % 4 = 0 THEN 'scheduled' ELSE 'backoff' END, :noon + n % 400, :noon
  FROM counted
"""
Work = tuple[Fetched, int]


@pytest.fixture
def fetch(path: Path) -> Iterator[Callable[[Want], Work]]:
    """Fetch from a short or a long lane, and count the steps of SQLite's machine."""
    db = connect(path, create=True)
    schema.bring_up(db)
    db.execute(
        "INSERT INTO message (id, application, event_type, channels, tags, accepted_at, payload)"
        " VALUES ('msg_1', 'app', 'type', '[]', '[]', 0, x'00')"
    )
    for lane, size in SIZES.items():
        db.execute("INSERT INTO lane (number, shard) VALUES (?, 0)", (lane,))
        db.execute(FILL, {"lane": lane, "size": size, "noon": NOON})

    def counted(want: Want) -> Work:
        steps = 0

        def step() -> bool:
            nonlocal steps
            steps += 1
            return False

        db.set_progress_handler(step, 1)
        return fetch_from(db, [want], NOON + 200, PLENTY_OF_BYTES), steps

    yield counted
    db.close()


@pytest.mark.parametrize(
    ("stream", "position"),
    [
        (Stream.READY, {"after": 0}),
        (Stream.READY, {"after": 500, "before": 700}),
        (Stream.WAITING, {"due_after": 0.0}),
        (Stream.WAITING, {"due_after": NOON + 100}),
        (Stream.EARLY, {"due_after": 0.0}),
        (Stream.EARLY, {"due_after": NOON + 300}),
        (Stream.RESEND, {}),
    ],
    ids=str,
)
def test_the_work_of_a_fetch_depends_on_what_it_brings_only(
    fetch: Callable[[Want], Work], stream: Stream, position: dict[str, float]
) -> None:
    few, work_for_few = fetch(_want(SHORT_LANE, stream, **position))
    many, work_for_many = fetch(_want(LONG_LANE, stream, **position))
    if "before" not in position and stream is not Stream.RESEND:
        assert len(few.due) == len(many.due) == 20
    assert work_for_many <= work_for_few * 1.1


def test_what_is_not_brought_for_its_size_is_not_read_either(
    fetch: Callable[[Want], Work],
) -> None:
    _, work_for_one = fetch(_want(LONG_LANE, Stream.READY, limit=1))
    _, work_for_all = fetch(_want(LONG_LANE, Stream.READY, limit=20))
    assert work_for_one * 5 < work_for_all


def test_a_want_for_a_lane_that_is_not_there_brings_nothing(path: Path) -> None:
    db = apsw.Connection(str(path))
    schema.bring_up(db)
    assert fetch_from(db, [_want(9, Stream.READY)], NOON, PLENTY_OF_BYTES) == Fetched(
        [], {}, {}, {}
    )
    db.close()


def _want(lane: int, stream: Stream, **values: Any) -> Want:  # noqa: ANN401  whatever the fields are
    return Want(**{"lane": lane, "stream": stream, "limit": 20, **values})


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
    assert (await other.server()).workers == 1
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
    assert (await store.server()).workers == 1
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
    async with asyncio.timeout(120):
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
