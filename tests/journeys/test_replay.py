"""Sending again: what failed, what was missed, a single message; always at a pace."""

import asyncio

import pytest

from tarry.core.probe_rule import PROBES
from tarry.service.model.attempt import Trigger
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.settings import HOUR
from tarry.service.model.task import Work
from tarry.service.store.kinds import AllAttemptsOf, Lanes, Messages
from tarry.service.wire.exchange import Answer, Request
from tarry.sim.backlog.endpoint import Capacity, Endpoint
from tarry.testing.samples import a_task
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    status,
    takes_all_but,
    virtual_service,
)


@virtually
async def test_what_failed_is_sent_again_and_nothing_else() -> None:
    async with virtual_service() as service:
        answers = {"bad": status(422)}
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: answers.get("bad", OK))
        await service.add(700)
        await service.until_delivered(endpoint, within=60)
        since = service.now()
        again = await service.add(600)
        await service.until_delivered(endpoint, within=60)
        answers.clear()
        sent = len(service.sender.sent)
        await service.store.add_task(a_task(endpoint, Work.RECOVER, since=since))
        await asyncio.sleep(0.2)
        await service.until_delivered(endpoint, within=60)
        assert await service.counts(endpoint) == {State.FAILED: 700, State.DELIVERED: 600}
        assert sorted(one.message for one in service.sender.sent[sent:]) == sorted(again)


@virtually
async def test_what_an_endpoint_never_got_is_sent_to_it() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example")
        await service.add(1500)
        await asyncio.sleep(10)
        late = await service.add_endpoint("b.example")
        await service.add(10)
        await asyncio.sleep(1)
        await service.store.add_task(a_task(late, Work.REPLAY_MISSING))
        await asyncio.sleep(0.2)
        await service.until_delivered(late, within=120)
        got = [one.message for one in service.sender.sent if one.host == "b.example"]
        assert len(got) == len(set(got)) == 1510


@virtually
async def test_a_replay_of_ten_thousand_does_not_break_the_endpoint() -> None:
    async with virtual_service() as service:
        capacity, count = 200.0, 10_000
        model = Endpoint("brittle", Capacity(steps=((0.0, capacity),)), lambda: 0.5)
        bad = True

        def script(_request: Request, now: float) -> Answer:
            if bad:
                return status(422)
            return Answer(0.05, status=200) if model.accepts(now, 1) else Answer(0.05, status=503)

        endpoint = await service.add_endpoint("a.example", script)
        await service.add(count)
        await service.until_delivered(endpoint, within=120)
        bad, began_at = False, service.now()
        await service.store.add_task(a_task(endpoint, Work.RECOVER))
        await asyncio.sleep(0.5)
        await service.until_delivered(endpoint, within=600)
        assert await service.counts(endpoint) == {State.DELIVERED: count}
        assert service.now() - began_at < 1.5 * count / capacity
        assert sum(one.answer.status == 503 for one in service.sender.sent) < 0.1 * count


@virtually
async def test_a_resend_while_the_lane_is_open_is_its_next_probe() -> None:
    async with virtual_service() as service:
        back = False
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: OK if back else DOWN)
        first, second = await service.add(2)
        await asyncio.sleep(2 * HOUR)
        before = await service.delivery(second)
        await service.store.resend(endpoint, second, resend="r1")
        sent = len(service.sender.sent)
        for _ in range(60):
            await asyncio.sleep(1)
            if len(service.sender.sent) > sent:
                break
        assert service.sender.sent[-1].message == second
        await asyncio.sleep(0.5)
        after = await service.delivery(second)
        assert after == before
        *_, attempt = await service.store.read(AllAttemptsOf(second))
        assert attempt.trigger is Trigger.MANUAL
        back = True
        late = PROBES.latest(2 * HOUR + 60, waiting=2)
        await service.until_delivered(endpoint, within=late + 1)
        assert (await service.delivery(first)).state is State.DELIVERED


@virtually
async def test_a_resend_that_fails_leaves_the_delivery_to_its_own_schedule() -> None:
    async with virtual_service() as service:
        bad: list[str] = []
        endpoint = await service.add_endpoint("a.example", takes_all_but(bad, status(500)))
        (poison,) = await service.add()
        bad.append(poison)
        await asyncio.sleep(1)
        before = await service.delivery(poison)
        await service.store.resend(endpoint, poison, resend="r1")
        await asyncio.sleep(1)
        assert await service.delivery(poison) == before
        await asyncio.sleep(15)
        assert (await service.delivery(poison)).attempts == before.attempts + 1


@virtually
async def test_a_resend_of_what_was_delivered_goes_at_once() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        (message,) = await service.add()
        await asyncio.sleep(1)
        before = await service.delivery(message)
        await service.store.resend(endpoint, message, resend="r1")
        await asyncio.sleep(0.2)
        assert [one.message for one in service.sender.sent] == [message, message]
        assert await service.delivery(message) == before


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (OK, State.DELIVERED, Reason.DELIVERED),
        (status(422), State.FAILED, Reason.REFUSED),
        (status(500), State.FAILED, Reason.EXHAUSTED),
        (DOWN, State.FAILED, Reason.EXHAUSTED),
        (status(410), State.FAILED, Reason.GONE),
    ],
)
@virtually
async def test_a_resend_to_an_endpoint_that_is_new_leaves_a_delivery_there(
    answer: Answer, state: State, reason: Reason
) -> None:
    async with virtual_service() as service:
        (message,) = await service.add()
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: answer)
        await service.store.resend(endpoint, message, resend="r1")
        await asyncio.sleep(HOUR)
        assert len(service.sender.sent) == 1
        found = await service.delivery(message)
        assert (found.state, found.reason, found.tries) == (state, reason, 1)
        assert await service.waiting(endpoint) == 0


@virtually
async def test_a_resend_of_a_payload_that_is_gone_says_so() -> None:
    async with virtual_service() as service:
        (message,) = await service.add()
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.store.resend(endpoint, message, resend="r1")
        await service.store.expunge(Messages(service.application.id), message)
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(1)
        assert service.sender.sent == []
        found = await service.delivery(message)
        assert (found.state, found.reason) == (State.FAILED, Reason.EXPUNGED)


@virtually
async def test_a_lane_counts_what_a_resend_added_as_ended() -> None:
    async with virtual_service() as service:
        (message,) = await service.add()
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(5.0, status=200))
        await service.add(40)  # it is busy for long
        await service.store.resend(endpoint, message, resend="r1")
        await asyncio.sleep(12)
        lane = service.dispatcher.shards.lane(endpoint.lane)
        assert lane is not None
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert row.added == 41
        assert lane.backlog.waiting(0) == row.added - row.ended
        await service.until_delivered(endpoint, within=120)
        assert [one.message for one in service.sender.sent].count(message) == 1
