"""The dispatcher as a whole: it starts, takes up, goes on after trouble, and stops in order."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from tarry.service.dispatch.dispatcher import LEAVING
from tarry.service.model import ids
from tarry.service.model.application import SHARDS
from tarry.service.model.delivery import State
from tarry.service.model.lane import Lease
from tarry.service.model.settings import Limits
from tarry.service.store.kinds import AllAttemptsOf, Environment
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import ENVIRONMENT
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service


@virtually
async def test_it_owns_all_shards_when_it_is_alone_and_gives_them_back() -> None:
    async with virtual_service() as service:
        assert len(service.dispatcher.shards.owned) == SHARDS
        await service.stop()
        assert service.dispatcher.drained
        assert (await service.store.server()).workers == 0
        leases = await service.store.lease("another", most=SHARDS, length=1)
        assert len(leases) == SHARDS
        assert all(lease.clean for lease in leases)


@virtually
async def test_what_waited_before_it_started_is_delivered() -> None:
    service = VirtualService()
    await service.store.put(Environment(ENVIRONMENT))
    await service.store.put(service.application)
    endpoint = await service.add_endpoint("a.example")
    await service.add(50)
    await service.start()
    await service.until_delivered(endpoint, within=10)
    await service.stop()


@virtually
async def test_its_ids_come_from_the_chance_it_was_given() -> None:
    async with virtual_service(chance=bytes) as service:
        await service.add_endpoint("a.example")
        (message,) = await service.add()
        await asyncio.sleep(1)
        (attempt,) = await service.store.read(AllAttemptsOf(message))
        chosen = bytes(ids.CHANCE)
        worker = service.dispatcher.shards.worker
        assert worker == ids.make("worker_", now=ids.made_at(worker), entropy=chosen)
        assert attempt.id == ids.make(ids.ATTEMPT, now=ids.made_at(attempt.id), entropy=chosen)


@virtually
async def test_a_stop_waits_for_what_is_on_its_way() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", lambda _r, _n: Answer(5.0, status=200))
        (message,) = await service.add()
        await asyncio.sleep(1)
        began_at = service.now()
        await service.stop()
        assert service.now() - began_at == pytest.approx(4, abs=0.2)
        assert (await service.delivery(message)).state is State.DELIVERED


@virtually
async def test_a_stop_waits_no_longer_than_its_grace_and_then_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with virtual_service(limits=Limits(grace=3.0)) as service:
        await service.add_endpoint("a.example", lambda _r, _n: Answer(14.0, status=200))
        (message,) = await service.add()
        await asyncio.sleep(1)
        began_at = service.now()
        with caplog.at_level(logging.WARNING):
            await service.stop()
        assert service.now() - began_at == pytest.approx(3, abs=0.2)
        assert not service.dispatcher.drained
        assert "attempts in flight" in caplog.text
        assert (await service.delivery(message)).state is State.READY
        leases = await service.store.lease("another", most=SHARDS, length=1)
        assert leases == []


@pytest.mark.parametrize("before", [True, False])
@virtually
async def test_who_is_in_a_hurry_waits_for_nothing(*, before: bool) -> None:
    async with virtual_service(limits=Limits(grace=30.0)) as service:
        await service.add_endpoint("a.example", lambda _r, _n: Answer(14.0, status=200))
        (message,) = await service.add()
        await asyncio.sleep(1)
        began_at = service.now()
        if before:
            service.dispatcher.hurry()
        else:
            asyncio.get_running_loop().call_later(2, service.dispatcher.hurry)
        await service.stop()
        assert service.now() - began_at == pytest.approx(0 if before else 2, abs=0.2)
        assert not service.dispatcher.drained
        assert (await service.delivery(message)).state is State.READY
        service.dispatcher.hurry()  # too late: it changes nothing


@virtually
async def test_who_is_in_a_hurry_and_has_nothing_on_its_way_ends_as_well_as_others() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example")
        await service.add()
        await asyncio.sleep(1)
        service.dispatcher.hurry()
        await service.stop()
        assert service.dispatcher.drained
        assert len(await service.store.lease("another", most=SHARDS, length=1)) == SHARDS


@virtually
async def test_a_slow_answer_about_the_time_is_no_step_of_the_clock(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slowness = iter([0.0, 60.0])  # the worker was suspended while the answer was on its way
    between = Between(lambda store: Shaky(store, latency=lambda: next(slowness, 0.0)))
    async with virtual_service(through=between) as service:
        await service.add_endpoint("a.example")
        await service.add()
        await asyncio.sleep(1)
        assert len(service.sender.sent) == 1
    assert "stepped" not in caplog.text


@virtually
async def test_a_stop_without_a_database_ends_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    between = Between(Shaky)
    async with virtual_service(through=between) as service:
        await service.add_endpoint("a.example")
        await asyncio.sleep(1)
        between.shaky.away = True
        with caplog.at_level(logging.WARNING):
            await service.stop()
        assert not service.dispatcher.drained
        between.shaky.away = False


@virtually
async def test_nothing_of_a_dispatcher_that_was_cancelled_goes_on() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", rate=5.0)
        await service.add(100)
        await asyncio.sleep(1)
        await service.crash()
        sent = len(service.sender.sent)
        await asyncio.sleep(5)
        assert len(service.sender.sent) == sent
        await asyncio.sleep(20)
        await service.start()


class SlowRelease(Shaky):
    """Takes half a second to give shards back."""

    async def release(self, leases: Sequence[Lease]) -> None:
        await asyncio.sleep(LEAVING / 2)
        await self._store.release(leases)


@virtually
async def test_who_is_in_a_hurry_still_has_a_moment_to_give_the_shards_back() -> None:
    async with virtual_service(through=Between(SlowRelease)) as service:
        await asyncio.sleep(1)
        asyncio.get_running_loop().call_later(0.2, service.dispatcher.hurry)
        await service.stop()
        assert service.dispatcher.drained


@virtually
async def test_nothing_is_sent_once_it_is_told_to_stop() -> None:
    async with virtual_service(limits=Limits(grace=5.0)) as service:
        await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(500)
        await asyncio.sleep(0.5)
        sent, stopped_at = len(service.sender.sent), service.now()
        await service.stop()
        assert 0 < sent == len(service.sender.sent)
        assert service.now() - stopped_at < 1
        assert service.dispatcher.drained
