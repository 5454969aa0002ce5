"""Kill -9 at random times, of who accepts and of who delivers: nothing that was accepted is lost.

`TARRY_TEST_KILLS=200` makes so many kills per database, `TARRY_TEST_SEED` repeats a run.
"""

import os
import random
import time

import pytest

from tests.faults.scene import PostgresBase, Scene, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

KILLS = int(os.environ.get("TARRY_TEST_KILLS", "20"))


def test_no_message_is_lost_and_each_duplicate_is_explained(
    scene: Scene, chance: random.Random
) -> None:
    scene.prepare()
    scene.receiver.latency = 0.005
    several = isinstance(scene.base, PostgresBase)
    workers = [scene.worker() for _ in range(1 + several)]
    accepting = scene.ingest()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.05, 0.5))
        match chance.choice(("accepting", "worker", "worker", "all")):
            case "accepting":
                accepting.kill()
                accepting = scene.ingest()
            case "worker":
                place = chance.randrange(len(workers))
                workers[place].kill()
                scene.died(alone=not several)
                workers[place] = scene.worker()
            case _:
                for child in (accepting, *workers):
                    child.kill()
                scene.died()
                workers = [scene.worker() for _ in workers]
                accepting = scene.ingest()
    before = len(scene.accepted())
    until(lambda: len(scene.accepted()) > before, "messages are accepted again")
    assert accepting.end() == 0, accepting.said
    scene.settle_down()
    for worker in workers:
        scene.end(worker)
    scene.check()
    told = f"{KILLS} kills, {len(scene.accepted())} acknowledged, 0 lost"
    print(f"{told}, {scene.duplicates().total()} duplicates of {scene.explained.total()} explained")  # noqa: T201  the figures
