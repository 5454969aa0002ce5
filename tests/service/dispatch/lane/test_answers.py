"""What comes back to a lane: whose failure it is, who is told, and what an outcome changes."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tarry.core.pace import Phase
from tarry.service.dispatch.lane import answers
from tarry.service.dispatch.lane.endpoint_record import SAVED_EVERY
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits import pace_text
from tarry.service.model.attempt import Resent, Settlement, Trigger
from tarry.service.model.delivery import ENDED, Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due
from tarry.service.model.settings import Limits
from tarry.service.store.memory.store import MemoryStore
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    status,
    takes_all_but,
    virtual_service,
)
from tests.service.dispatch.lane.test_lane import always, lane_of, lanes_at_work

# --- The answer to an attempt -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("every", [0.5, 7.0, 29.0, 31.0, 240.0])
@virtually
async def test_the_last_success_on_record_is_never_old_however_often_one_comes(
    every: float,
) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        for _ in range(100):
            await service.add()
            await service.until_delivered(endpoint, within=1)
            row = await service.store.lane(endpoint.application, endpoint.id)
            assert row.known.accepted_at is not None
            assert 0 <= service.sender.sent[-1].at + OK.took - row.known.accepted_at <= SAVED_EVERY
            await asyncio.sleep(every)


@virtually
async def test_a_success_is_put_on_record_by_the_commit_that_settles_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commits = 0
    settle = MemoryStore.settle

    async def counted(store: MemoryStore, *told: Any) -> list[bool]:  # noqa: ANN401  as it comes
        nonlocal commits
        commits += 1
        return await settle(store, *told)

    monkeypatch.setattr(MemoryStore, "settle", counted)
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        for _ in range(10):
            await service.add()
            await service.until_delivered(endpoint, within=1)
            await asyncio.sleep(240)
        assert commits == 10


@pytest.mark.parametrize("code", [404, 410, 503])
@virtually
async def test_what_the_old_place_says_after_a_move_is_not_about_the_new_one(code: int) -> None:
    async with virtual_service() as service:
        late = Answer(10.0, status=code)
        endpoint = await service.add_endpoint("old.example", lambda _request, _now: late)
        await service.add(8)
        await asyncio.sleep(1)
        await service.move(endpoint, "https://new.example/in")
        await asyncio.sleep(9.5)
        row = await service.store.lane(endpoint.application, endpoint.id)
        assert (row.endpoint.standing, row.known.failures) == (Standing.ENABLED, 0)
        await service.until_delivered(endpoint, within=60)
        assert (await service.store.counts(endpoint.lane))[State.DELIVERED] == 8


@virtually
async def test_a_delivery_ends_with_its_last_attempt_if_the_next_one_would_come_too_late() -> None:
    async with virtual_service() as service:
        poison: list[str] = []
        policy = '{"version": 1, "within": 60, "backoff": {"kind": "fixed", "delay": 25}}'
        await service.add_endpoint("a.example", takes_all_but(poison, status(500)), policy=policy)
        poison += await service.add()
        for _ in range(55):
            await asyncio.sleep(1)
            await service.add()
        delivery = await service.delivery(*poison)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.AGED)


@virtually
async def test_failures_of_deliveries_that_ended_are_on_record_for_the_next_owner() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "attempts": 1}'
        endpoint = await service.add_endpoint("a.example", always(status(500)), policy=policy)
        for _ in range(3):
            await service.add()
            await asyncio.sleep(1)
        row = await service.store.lane(endpoint.application, endpoint.id)
        assert (row.waiting, row.known.failures) == (0, 3)


@pytest.mark.parametrize("code", [401, 500])
@virtually
async def test_a_lane_that_alone_goes_on_failing_leaves_the_gate_of_its_origin(code: int) -> None:
    async with virtual_service() as service:
        back_at = service.now() + 60
        broken = {"/0"}

        def script(request: Request, now: float) -> Answer:
            if now < back_at:
                return DOWN
            return status(code) if request.target.path in broken else OK

        service.sender.scripts["gw.example"] = script
        first, *others = [
            await service.add_endpoint("gw.example", path=f"/{number}") for number in range(4)
        ]
        await service.add(300)
        await asyncio.sleep(60)
        while not (lane := lane_of(service, first)).is_apart:  # noqa: ASYNC110  time is virtual
            await asyncio.sleep(0.1)
        assert lane.gate.phase is Phase.OPEN
        for endpoint in others:
            await service.until_delivered(endpoint, within=60)
        broken.clear()
        await service.until_delivered(first, within=300)


@virtually
async def test_an_answer_lets_a_lane_go_on_that_waited_for_a_slot_of_the_process() -> None:
    async with virtual_service(limits=Limits(in_flight=1)) as service:
        slow = Answer(5.0, status=200)
        await service.add_endpoint("a.example", always(slow))
        await service.add_endpoint("b.example", always(slow))
        await service.add()
        await asyncio.sleep(1)
        assert len(service.sender.sent) == 1
        await asyncio.sleep(5)
        assert {sent.host for sent in service.sender.sent} == {"a.example", "b.example"}


@virtually
async def test_a_delivery_says_why_it_waits() -> None:
    async with virtual_service() as service:
        said = {"a": status(500), "b": DOWN, "c": status(429, retry_after="600")}
        for name, answer in said.items():
            await service.add_endpoint(f"{name}.example", always(answer))
        first, *_ = await service.add(6)
        await asyncio.sleep(5)
        reasons = {
            endpoint.url: delivery.reason
            for endpoint, delivery in await service.store.deliveries(first)
        }
        assert reasons["https://b.example/in"] is Reason.LANE_OPEN
        assert reasons["https://c.example/in"] is Reason.RETRY_AFTER


@virtually
async def test_an_ordered_lane_sends_nothing_else_while_an_answer_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = answers._report  # noqa: SLF001  what an answer sets off, an origin's turns included

    def report_and_pump(lane: Lane, *judged: Any) -> None:  # noqa: ANN401  as it comes
        report(lane, *judged)
        lane.pump(turn=True)

    monkeypatch.setattr(answers, "_report", report_and_pump)
    async with virtual_service() as service:
        codes = iter([OK, status(500), status(500), *[OK] * 5])
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: next(codes), fifo=True)
        await service.add(5)
        await service.until_delivered(endpoint, within=120)
        sent = service.sender.sent
    assert len(sent) == 7
    for before, after in pairwise(sent):
        assert before.answer is OK or before.message == after.message


@virtually
async def test_an_endpoint_that_is_gone_is_disabled_and_its_owner_is_told_why() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", always(status(410)))
        await service.add()
        await asyncio.sleep(1)
        row = await service.store.lane(endpoint.application, endpoint.id)
        assert row.endpoint.standing is Standing.DISABLED
        (notice,) = await service.store.notices()
        assert (notice.kind, notice.facts["why"]) == ("endpoint.disabled", "the receiver said so")


@virtually
async def test_an_endpoint_that_is_gone_holds_up_no_other_of_an_origin_that_was_down() -> None:
    async with virtual_service() as service:
        back_at = service.now() + 5

        def script(request: Request, now: float) -> Answer:
            if now < back_at:
                return DOWN
            return status(410) if request.target.path == "/0" else OK

        service.sender.scripts["gw.example"] = script
        gone, other = [
            await service.add_endpoint("gw.example", path=f"/{number}") for number in range(2)
        ]
        await service.add(6)
        await asyncio.sleep(5)
        assert lane_of(service, gone).gates.group.leader.shared
        await service.until_delivered(other, within=20)
        row = await service.store.lane(gone.application, gone.id)
        assert row.endpoint.standing is Standing.DISABLED
        assert service.dispatcher.context.slots.free == Limits().in_flight


@virtually
async def test_an_endpoint_that_asks_to_wait_gets_nothing_until_then_and_then_at_a_pace() -> None:
    async with virtual_service() as service:
        answers = iter([status(429, retry_after="60")])
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: next(answers, OK))
        await service.add()
        await asyncio.sleep(0.5)
        await service.add(9)
        row = await service.store.lane(endpoint.application, endpoint.id)
        now = service.now()
        held_until = pace_text.read(row.known.pace, now=now).held_until
        assert held_until > now + 55  # the next owner of the lane has to wait as well
        await asyncio.sleep(50)
        assert len(service.sender.sent) == 1
        await service.until_delivered(endpoint, within=60)
        assert service.sender.sent[1].at >= held_until


@virtually
async def test_many_that_wait_for_an_endpoint_that_asked_for_it_go_at_a_pace() -> None:
    async with virtual_service() as service:
        held = Answer(0.05, status=429, headers=(("retry-after", "60"),))
        endpoint = await service.add_endpoint("a.example", always(held), concurrency=1)
        await service.add(10)
        await asyncio.sleep(1)
        assert lane_of(service, endpoint).gate.phase is Phase.PACED


@virtually
async def test_a_lane_opens_at_the_fifth_failure_in_a_row_which_is_not_the_message_s() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "backoff": {"kind": "fixed", "delay": 6000}}'
        endpoint = await service.add_endpoint("a.example", always(status(500)), policy=policy)
        counted: list[bool] = []
        for _ in range(5):
            assert not counted or lane_of(service, endpoint).gate.phase is Phase.CLOSED
            (message,) = await service.add()
            await asyncio.sleep(0.1)
            (attempt,) = await service.store.attempts(message)
            counted.append(attempt.counted)
        assert counted == [True, True, True, True, False]
        assert lane_of(service, endpoint).gate.phase is Phase.OPEN


# --- The outcome was written --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fifo", "blocking", "standing"),
    [
        (True, True, Standing.PAUSED),
        (True, False, Standing.ENABLED),
        (False, True, Standing.ENABLED),
    ],
)
@virtually
async def test_only_an_ordered_lane_that_is_to_block_pauses_when_a_delivery_fails(
    fifo: bool,  # noqa: FBT001  a parameter
    blocking: bool,  # noqa: FBT001  likewise
    standing: Standing,
) -> None:
    async with virtual_service() as service:
        poison: list[str] = []
        policy = '{"version": 1, "attempts": 1}'
        endpoint = await service.add_endpoint(
            "a.example",
            takes_all_but(poison, status(500)),
            fifo=fifo,
            blocking=blocking,
            policy=policy,
        )
        await service.add()
        await asyncio.sleep(0.5)
        poison += await service.add()
        await asyncio.sleep(1)
        row = await service.store.lane(endpoint.application, endpoint.id)
        assert row.endpoint.standing is standing
        reasons = [notice.facts.get("why") for notice in await service.store.notices()]
        paused = standing is Standing.PAUSED
        assert (f"its first delivery failed: {Reason.EXHAUSTED}" in reasons) is paused
        counters = service.dispatcher.context.counters
        assert (counters.delivered, counters.failed) == (1, 1)


@virtually
async def test_the_outcome_of_a_delivery_that_was_cancelled_meanwhile_counts_for_nothing() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "attempts": 1}'
        late = Answer(1.0, status=500)
        endpoint = await service.add_endpoint("a.example", always(late), policy=policy)
        (message,) = await service.add()
        await asyncio.sleep(0.5)
        await service.store.cancel(endpoint.application, message, now=service.now())
        await asyncio.sleep(5)
        counters = service.dispatcher.context.counters
        assert (counters.stale, counters.failed, counters.delivered) == (1, 0, 0)
        assert await service.store.notices() == []
        assert lanes_at_work(service) == 0


@virtually
async def test_a_delivery_of_an_ordered_lane_is_tried_again_from_memory_at_its_due_time() -> None:
    async with virtual_service() as service:
        answers = iter([status(500), status(500), OK])
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: next(answers), fifo=True)
        (message,) = await service.add()
        await asyncio.sleep(0.1)
        due_at = (await service.delivery(message)).due_at
        await service.until_delivered(endpoint, within=120)
        assert due_at is not None
        assert service.sender.sent[1].at == pytest.approx(due_at, abs=0.1)
        attempts = await service.store.attempts(message)
        assert sorted(attempt.number for attempt in attempts) == [1, 2, 3]
        assert (await service.delivery(message)).attempts == 3
        assert service.dispatcher.context.counters.stale == 0


@virtually
async def test_a_resend_is_on_record_as_one_that_no_draw_has_decided() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        (message,) = await service.add()
        await service.until_delivered(endpoint, within=1)
        await service.store.resend(endpoint, message, resend="r1")
        await asyncio.sleep(1)
        first, second = sorted(
            await service.store.attempts(message), key=lambda attempt: attempt.number
        )
        assert (first.trigger, second.trigger) == (Trigger.SCHEDULED, Trigger.MANUAL)
        assert second.draw == 0.0
        assert first.draw > 0.0


@pytest.mark.parametrize("fifo", [False, True])
@virtually
async def test_turning_order_on_and_off_loses_count_of_nothing(fifo: bool) -> None:  # noqa: FBT001  a parameter
    async with virtual_service() as service:
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, _n: Answer(0.3, status=200), fifo=fifo
        )
        await service.add(60)
        for step in range(6):
            await asyncio.sleep(0.35)
            await service.change(endpoint, fifo=bool(step % 2) ^ (not fifo))
        await service.until_delivered(endpoint, within=60)
        await asyncio.sleep(1)
        assert service.dispatcher.context.slots.free == Limits().in_flight
        assert lanes_at_work(service) == 0
        assert len(service.sender.sent) == 60


@virtually
async def test_only_what_came_to_nothing_is_told_one_by_one() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "attempts": 1, "backoff": {"kind": "fixed", "delay": 1}}'
        poison: list[str] = []
        await service.add_endpoint("a.example", takes_all_but(poison, status(500)), policy=policy)
        poison += await service.add(2)
        await service.add(5)
        await asyncio.sleep(10)
        notices = await service.store.notices()
        assert {notice.facts["message"] for notice in notices} == set(poison)
        assert (await service.delivery(poison[0])).state is State.FAILED


@pytest.mark.parametrize("fifo", [False, True])
@virtually
async def test_a_payload_is_kept_only_if_it_is_sent_again_from_memory(
    fifo: bool,  # noqa: FBT001  a parameter
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with virtual_service() as service:
        work = service.dispatcher.work
        kept: list[tuple[bool, bool]] = []

        def finish(lane: Lane, due: Due, made: Settlement | Resent) -> None:
            over = isinstance(made, Settlement) and made.state in ENDED
            kept.append((over, due.payload is not None))
            type(work).finish(work, lane, due, made)

        monkeypatch.setattr(work, "finish", finish)
        until = service.now() + 1
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, now: DOWN if now < until else OK, fifo=fifo
        )
        await service.add(4)
        await service.until_delivered(endpoint, within=120)
        assert {payload for over, payload in kept if over} == {False}
        assert {payload for over, payload in kept if not over} == {fifo}
