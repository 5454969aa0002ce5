"""Lookups that all parts of the memory store use."""

import asyncio

import pytest

from tarry.errors import NotFound
from tarry.service.model.lane import Lease
from tarry.service.store.memory.data import Data, Shard
from tarry.service.store.memory.lane import Lane
from tarry.testing.samples import a_message, an_application, an_endpoint


def test_a_lease_is_good_for_its_worker_and_its_epoch_whatever_the_time() -> None:
    now = 5.0
    data = Data(lambda: now)
    data.shards[3] = Shard("a", 2, 10.0)
    assert data.holds(Lease(3, 2, "a"))
    assert not data.holds(Lease(3, 1, "a"))
    assert not data.holds(Lease(3, 2, "b"))
    assert not data.holds(Lease(4, 2, "a"))
    now = 10.0
    assert data.holds(Lease(3, 2, "a"))


def test_a_lane_is_held_with_a_good_lease_of_its_shard_only() -> None:
    data = Data(lambda: 5.0)
    application = an_application()
    lane = Lane(an_endpoint(application, lane=1))
    data.lanes[1] = lane
    data.shards[application.shard] = Shard("a", 1, 10.0)
    other = (application.shard + 1) % 64
    data.shards[other] = Shard("a", 1, 10.0)
    assert data.held(1, [Lease(other, 1, "a"), Lease(application.shard, 1, "a")]) is lane
    assert data.held(1, [Lease(other, 1, "a")]) is None
    assert data.held(1, []) is None
    assert data.held(2, [Lease(application.shard, 1, "a")]) is None


def test_a_hidden_application_is_not_found() -> None:
    data = Data(lambda: 5.0)
    application = an_application()
    data.applications[application.id] = application
    assert data.application(application.id) == application
    data.hidden.add(application.id)
    with pytest.raises(NotFound):
        data.application(application.id)


def test_a_message_of_somebody_else_is_not_found() -> None:
    data = Data(lambda: 5.0)
    message = a_message("app_1")
    data.messages[message.id] = message
    assert data.message("app_1", message.id) == message
    with pytest.raises(NotFound):
        data.message("app_2", message.id)


def test_only_a_lane_at_rest_is_stirred_and_everybody_hears_of_it() -> None:
    async def main() -> list[str]:
        data = Data(lambda: 5.0)
        heard: list[str] = []
        data.nudges += [lambda: heard.append("one"), lambda: heard.append("two")]
        lane = Lane(an_endpoint("app_1", lane=1))
        data.wake_if_resting(lane)
        assert data.woken == set()
        lane.resting = True
        data.wake_if_resting(lane)
        assert (lane.resting, data.woken) == (False, {1})
        assert heard == [], "it was called at once, in the middle of a change"
        await asyncio.sleep(0)
        return heard

    assert asyncio.run(main()) == ["one", "two"]
