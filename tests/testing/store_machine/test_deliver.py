"""Steps of dispatchers, done by hand: they do something, and to both stores."""

from collections.abc import Callable

import pytest

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Stream
from tarry.service.model.task import Work
from tarry.service.store.kinds import Lanes
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_machine import StoreMachine
from tarry.testing.store_machine.deliver import LEASE_LENGTH
from tarry.testing.store_machine.people import Draft
from tarry.testing.store_machine.sides import Lane
from tarry.testing.store_machine.state import WORKERS

Machine = Callable[[type[MemoryStore]], type[StoreMachine]]

ONE, OTHER = WORKERS
PLAIN: Draft = (0, "a", (), None, None, b"", None, None)


@pytest.fixture
def play(machine: Machine) -> StoreMachine:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN, PLAIN, PLAIN])
    return play


def states(play: StoreMachine) -> dict[State, int]:
    """Return how many deliveries of the first endpoint are in each state."""
    counts = play.ask(lambda side: side.store.counts(play.endpoints[0].lane))
    assert counts is not None
    return counts


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        ("delivered", State.DELIVERED),
        ("failed", State.FAILED),
        ("unsent", State.FAILED),
        ("postponed", State.WAITING),
        ("put back", State.READY),
    ],
)
def test_what_is_sent_is_settled(play: StoreMachine, ending: str, state: State) -> None:
    play.send(worker=ONE, which=[0], stream=Stream.READY, limit=5, ending=(ending, 1.0))
    assert states(play) == {state: 3}
    play.teardown()


@pytest.mark.parametrize(
    ("ending", "state"), [("delivered", State.DELIVERED), ("failed", State.FAILED)]
)
def test_what_is_resent_where_it_never_was_is_there(
    play: StoreMachine, ending: str, state: State
) -> None:
    play.put_an_endpoint(application_index=0, uid=None, wants=None, listens=None, sealed=False)
    late = len(play.endpoints) - 1
    play.resend_a_message(which=0, endpoint_index=late)
    play.send(worker=ONE, which=[late], stream=Stream.RESEND, limit=5, ending=(ending, 1.0))
    counts = play.ask(
        lambda side: side.store.counts(side.to_store(Lane(play.endpoints[late].lane)))
    )
    assert counts == {state: 1}
    play.teardown()


def test_a_worker_without_the_shard_settles_nothing(play: StoreMachine) -> None:
    play.send(worker=OTHER, which=[0], stream=Stream.READY, limit=5, ending=("failed", 0.0))
    assert states(play) == {State.READY: 3}
    play.let_lease_time_pass(seconds=LEASE_LENGTH * 1.2, heir=OTHER)
    play.settle_later(worker=ONE, which=[0, 1, 2], ending=("failed", 0.0), tries=0, epochs=0)
    assert states(play) == {State.READY: 3}
    play.settle_later(worker=OTHER, which=[0, 1], ending=("failed", 0.0), tries=0, epochs=1)
    assert states(play) == {State.READY: 3}
    play.settle_later(worker=OTHER, which=[0, 1], ending=("failed", 0.0), tries=0, epochs=0)
    assert states(play) == {State.READY: 1, State.FAILED: 2}
    play.teardown()


def test_tasks_are_done_to_their_end(play: StoreMachine) -> None:
    play.send(worker=ONE, which=[0], stream=Stream.READY, limit=5, ending=("failed", 0.0))
    play.do_all_of_a_new_task(worker=ONE, which=0, work=Work.RECOVER, limit=1)
    assert states(play) == {State.READY: 3}
    play.teardown()


def test_lanes_age_change_and_rest(play: StoreMachine) -> None:
    play.let_time_pass(seconds=5.0)
    play.expire(worker=ONE, which=0, age=1.0, limit=2)
    assert states(play) == {State.READY: 1, State.FAILED: 2}
    play.change_lanes(worker=ONE, which=[0], standing=Standing.PARKED, failures=3)
    row = play.ask(
        lambda side: side.store.get(Lanes(play.applications[0].id), play.endpoints[0].id)
    )
    assert row is not None
    assert (row.endpoint.standing, row.known.failures) == (Standing.PARKED, 3)
    play.rest(worker=ONE, which=[0, 1], emptied=True, short=False)
    assert states(play) == {State.DELIVERED: 1, State.FAILED: 2}
    assert play.ask(lambda side: side.store.awake(range(64))) == []
    play.read_woken_lanes(worker=ONE)
    play.teardown()


def test_shards_are_kept_and_given_back(play: StoreMachine) -> None:
    play.renew(worker=ONE, length=LEASE_LENGTH)
    play.release(worker=ONE, all_shards=True)
    play.lease(worker=OTHER)
    assert play.applications[0].shard in play.leases[OTHER]
    play.fetch(which=[0], stream=Stream.READY, limit=5, at=0.0)
    play.fetch_behind(which=0, after=1, span=None, since=0.0)
    assert [due.seq for due in play.due] == [1, 2, 3, 2, 3]
    play.teardown()
