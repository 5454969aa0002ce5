"""A worker that was stopped past its lease and goes on: what it says then changes nothing."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tarry.testing.receiver import Receiver
from tests.faults.conftest import Databases
from tests.faults.nursery import Nursery
from tests.faults.scene import PostgresBase, Scene, until

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("TARRY_TEST_ZOMBIES", "3"))
LEASES = "SELECT number, epoch, worker FROM tarry.shard WHERE worker IS NOT NULL ORDER BY number"


@pytest.fixture
def scene(databases: Databases, receiver: Receiver, nursery: Nursery, tmp_path: Path) -> Scene:
    scene = Scene(PostgresBase(databases.new()), receiver, nursery, tmp_path)
    scene.lease = 1.0
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
        zombie.send(signal.SIGSTOP)
        scene.died(alone=False)  # what it had sent may come once more
        owners = {row[2] for row in scene.base.ask(LEASES)}
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


def both_at_work(scene: Scene) -> bool:
    counts: dict[str, int] = {}
    for _, _, worker in scene.base.ask(LEASES):
        counts[worker] = counts.get(worker, 0) + 1
    return sorted(counts.values()) == [32, 32]


def taken_over(scene: Scene, before: set[str]) -> bool:
    owners = {row[2] for row in scene.base.ask(LEASES)}
    return len(owners) == 1 and owners < before


def finished(scene: Scene) -> dict[str, tuple[object, ...]]:
    rows = scene.base.deliveries()
    return {row.message: row for row in rows if row.state not in {"ready", "waiting"}}
