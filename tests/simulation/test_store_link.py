"""A process's connection to the store: time passes, commits happen in one moment, faults hit."""

from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from tarry.errors import StoreUnavailable
from tarry.service.store.kinds import Environment, Environments
from tarry.service.store.memory.store import MemoryStore
from tests.simulation.loop import Process, SimulatedLoop
from tests.simulation.planted.bug import Bug
from tests.simulation.store_link import StoreLink, Travel, Trouble, at_once


class Scene:
    """One process connected to a store in memory."""

    def __init__(self, *, lost_nudges: float = 0.0) -> None:
        self.loop = SimulatedLoop(Random(1), on_crash=lambda _process, error: print(error))  # noqa: T201  shown when a test fails
        self.process, self.trouble = Process("one"), Trouble()
        self.base = MemoryStore(clock=self.loop.time)
        self.commits: list[tuple[float, str]] = []
        self.link = StoreLink(
            self.base,
            self.process,
            self.loop,
            travel=Travel(0.1, Random(1)),
            troubles=(Trouble(), self.trouble),
            chance=Random(1),
            observe=lambda _p, name, _a, _k, _r: self.commits.append((self.loop.time(), name)),
            bug=Bug(),
            lost_nudges=lost_nudges,
        )
        self.answers: list[tuple[float, object]] = []

    def ask(self, program: Coroutine[Any, Any, object]) -> None:
        async def run() -> None:
            try:
                answer = await program
            except StoreUnavailable as error:
                answer = error
            self.answers.append((self.loop.time(), answer))

        self.loop.start(self.process, run())


def test_a_call_travels_is_committed_and_its_answer_travels_back() -> None:
    scene = Scene()
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(10)
    ((committed_at, name),) = scene.commits
    ((answered_at, answer),) = scene.answers
    assert 0 < committed_at < answered_at < 2
    assert (name, answer) == ("create", None)
    assert scene.link.calls == {"create Environment": 1}


def test_answers_may_overtake_each_other() -> None:
    scene = Scene()
    for number in range(20):
        scene.ask(scene.link.store.create(Environment(f"org_{number}")))
    scene.loop.run_to(10)
    assert len(scene.answers) == 20
    assert len({at for at, _ in scene.answers}) == 20


def test_a_store_that_is_away_refuses_and_changes_nothing() -> None:
    scene = Scene()
    scene.trouble.refuse(5)
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(4)
    ((_, answer),) = scene.answers
    assert isinstance(answer, StoreUnavailable)
    assert at_once(scene.base.read(Environments())) == []


def test_a_forgetful_connection_loses_the_answer_and_not_the_commit() -> None:
    scene = Scene()
    scene.trouble.lose_answers(5)
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(4)
    ((_, answer),) = scene.answers
    assert isinstance(answer, StoreUnavailable)
    assert at_once(scene.base.read(Environments())) == [Environment("org_a")]


def test_what_is_stuck_arrives_late() -> None:
    scene = Scene()
    scene.trouble.hold_up(5)
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(10)
    ((committed_at, _),) = scene.commits
    assert 5 <= committed_at < 6.1


def test_a_call_on_its_way_renews_leases_until_it_arrives() -> None:
    scene = Scene()
    scene.trouble.hold_up(5)
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(1)
    assert scene.link.leases_until == 0.0
    scene.ask(scene.link.store.renew("worker", [], length=10))
    scene.loop.run_to(2)
    assert 5 <= scene.link.leases_until < 6.1


def test_a_commit_is_made_although_its_process_was_killed_on_the_way() -> None:
    scene = Scene()
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(0)
    scene.loop.kill(scene.process)
    scene.loop.run_to(10)
    assert at_once(scene.base.read(Environments())) == [Environment("org_a")]
    assert scene.answers == []


def test_a_slow_connection_takes_longer() -> None:
    scene = Scene()
    scene.trouble.slow_down(100, 50)
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(200)
    assert scene.answers[0][0] > 5


def test_trouble_ends() -> None:
    scene = Scene()
    scene.trouble.refuse(1_000)
    scene.trouble.hold_up(1_000)
    scene.trouble.end()
    scene.ask(scene.link.store.create(Environment("org_a")))
    scene.loop.run_to(10)
    assert at_once(scene.base.read(Environments())) == [Environment("org_a")]


@pytest.mark.parametrize(("lost", "nudged"), [(0.0, 1), (1.0, 0)])
def test_nudges_arrive_later_or_are_lost(lost: float, nudged: int) -> None:
    scene, nudges = Scene(lost_nudges=lost), list[float]()
    scene.link.listen(lambda: nudges.append(scene.loop.time()))
    for nudge in scene.base._data.nudges:  # noqa: SLF001  as when a lane is woken
        nudge()
    scene.loop.run_to(10)
    assert len(nudges) == nudged
    assert all(at > 0 for at in nudges)


def test_what_waits_cannot_be_run_at_once() -> None:
    async def waits() -> None:
        await SimulatedLoop(Random(1), on_crash=lambda _p, _e: None).create_future()

    with pytest.raises(AssertionError, match="had to wait"):
        at_once(waits())
