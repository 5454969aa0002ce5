"""An endpoint that wants its messages in order gets them so, whatever fails and whoever dies."""

import itertools
import random
import time

import pytest

from tarry.core.backoff import Exponential
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tests.faults.scene import PostgresBase, Scene
from tests.faults.test_random_kills import KILLS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

QUICK = Policy(
    backoff=Exponential(base=0.02, cap=0.1), attempts=None, within=None, attempt_timeout=15.0
)


def test_the_order_of_what_was_taken_is_the_lanes_order(
    scene: Scene, chance: random.Random
) -> None:
    scene.lease = 2.0
    scene.prepare(apps=6, fifo=True, policy=to_json(QUICK))
    scene.receiver.script(chance.choices((200, 500, 503), (18, 1, 1), k=100_000))
    several = isinstance(scene.base, PostgresBase)
    accepting = scene.ingest(pause=0.1)
    workers = [scene.worker() for _ in range(1 + several)]
    for turn in range(max(4, KILLS // 3)):
        time.sleep(chance.uniform(0.2, 0.8))
        place = chance.randrange(len(workers))
        if turn % 3:
            workers[place].kill()
            scene.died(alone=not several)
        else:  # handed over in good order
            scene.end(workers[place])
        workers[place] = scene.worker()
    assert accepting.end() == 0, accepting.said
    scene.settle_down()
    for worker in workers:
        scene.end(worker)
    scene.check()
    check_order(scene)


def check_order(scene: Scene) -> None:
    """The first times that a lane's messages were taken are in the order of their numbers."""
    places = {row.message: (row.lane, row.seq) for row in scene.base.deliveries()}
    taken: dict[int, list[int]] = {}
    for arrival in scene.receiver.arrivals:
        if not arrival.id:  # the scene's own knock
            continue
        lane, seq = places[arrival.id]
        if arrival.status == 200 and seq not in taken.setdefault(lane, []):
            taken[lane].append(seq)
    assert len(taken) == scene.apps
    for lane, seqs in taken.items():
        assert all(a < b for a, b in itertools.pairwise(seqs)), (lane, seqs)
