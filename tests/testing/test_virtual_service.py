"""The service in virtual time: what it says must be so, or all that is told with it is not."""

import asyncio

import pytest

from tarry.service.model.delivery import State
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import Answer
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    VirtualService,
    status,
    takes_all_but,
    virtual_service,
)


@virtually
async def test_what_is_added_is_sent_signed_and_on_record() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        messages = await service.add(3)
        took = await service.until_delivered(endpoint, within=1)
        assert took < 0.2
        assert [sent.message for sent in service.sender.sent] == messages
        assert {sent.host for sent in service.sender.sent} == {"a.example"}
        assert await service.counts(endpoint) == {State.DELIVERED: 3}
        assert (await service.delivery(messages[0])).state is State.DELIVERED


@virtually
async def test_a_script_answers_and_takes_as_long_as_it_says() -> None:
    async with virtual_service() as service:
        slow = Answer(2.5, status=204)
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: slow)
        await service.add()
        assert await service.until_delivered(endpoint, within=5) == pytest.approx(2.5, abs=0.1)
        assert (service.sender.in_air, service.sender.most_in_air) == (0, 1)


@virtually
async def test_some_messages_may_be_answered_otherwise() -> None:
    async with virtual_service() as service:
        bad: list[str] = []
        endpoint = await service.add_endpoint("a.example", takes_all_but(bad, status(422)))
        bad += await service.add()
        await service.add(2)
        await service.until_delivered(endpoint, within=5)
        assert await service.counts(endpoint) == {State.FAILED: 1, State.DELIVERED: 2}


@virtually
async def test_waiting_for_what_does_not_come_is_a_failure_that_says_so() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        await service.add(2)
        with pytest.raises(AssertionError, match="2 deliveries wait after 5 s"):
            await service.until_delivered(endpoint, within=5)


@virtually
async def test_after_a_crash_nothing_happens_until_it_is_started_again() -> None:
    async with virtual_service(limits=Limits(lease=10)) as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: status(500))
        await service.add(20)
        await asyncio.sleep(1)
        await service.crash()
        sent = len(service.sender.sent)
        await asyncio.sleep(600)
        assert len(service.sender.sent) == sent
        service.sender.scripts["a.example"] = lambda _request, _now: OK
        await service.start()
        await service.until_delivered(endpoint, within=3600)


@virtually
async def test_one_beside_another_has_the_same_store_and_endpoints() -> None:
    async with virtual_service() as service:
        other = VirtualService(beside=service)
        assert (other.store, other.sender) == (service.store, service.sender)
        assert other.application == service.application


@virtually
async def test_the_dispatcher_sees_the_store_through_whatever_is_put_between() -> None:
    between = Between(Shaky)
    async with virtual_service(through=between) as service:
        await service.add_endpoint("a.example")
        await asyncio.sleep(1)
        assert between.shaky.calls > 0


@virtually
async def test_an_endpoint_can_be_moved_and_changed() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.move(endpoint, "https://b.example/in")
        changed = await service.change(endpoint, rate=5.0)
        assert (changed.url, changed.rate) == ("https://b.example/in", 5.0)
        await service.add()
        await asyncio.sleep(1)
        assert [sent.host for sent in service.sender.sent] == ["b.example"]


@virtually
async def test_the_same_seed_tells_the_same_story() -> None:
    stories = []
    for _ in range(2):
        async with virtual_service(seed=3) as service:
            began_at = service.now()
            await service.add_endpoint("a.example", lambda _request, _now: DOWN)
            await service.add(5)
            await asyncio.sleep(300)
            stories.append([round(sent.at - began_at, 3) for sent in service.sender.sent])
    assert stories[0] == stories[1]
