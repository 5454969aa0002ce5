"""What a lane sends, and when."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tarry.core.outcome import Kind
from tarry.core.pace import CLOSED, OPEN, PACED, Pace
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.lane.allowance import FIRST, Allowance
from tarry.service.dispatch.lane.sending import AT_HAND, SLEEP_DELAY, next_send_at, room
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Fetched, Lease, Stream, Want
from tarry.service.model.settings import HOUR, Limits
from tarry.service.sealing.sealed_store import sealed_store
from tarry.service.store.contract import Store
from tarry.service.store.kinds import AllAttemptsOf, Messages
from tarry.service.store.memory.store import MemoryStore
from tarry.service.wire.exchange import Answer
from tarry.service.wire.seal import Seals, generate_key
from tarry.testing.samples import NOON, new_message
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    Script,
    status,
    takes_all_but,
    virtual_service,
)
from tests.service.dispatch.lane.hand_moved import LanePlace
from tests.service.dispatch.lane.test_lane import a_lane, lane_of
from tests.service.dispatch.origins.place import OPEN as A_DOWN
from tests.service.dispatch.origins.place import PACED as PACED_AT_NOON
from tests.service.dispatch.origins.place import WELL


def always(answer: Answer) -> Script:
    return lambda _request, _now: answer


@virtually
async def test_nothing_is_sent_in_the_last_moments_of_a_lease_and_then_it_goes_on() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(100)
        await asyncio.sleep(0.5)
        held = service.dispatcher.shards.owned[service.application.shard]
        held.held.renew(service.now())
        sent = len(service.sender.sent)
        await asyncio.sleep(1)
        assert len(service.sender.sent) == sent
        assert held.held.end_delay()
        held.held.delay()
        await service.until_delivered(endpoint, within=60)


@pytest.mark.slow
@virtually
async def test_a_lane_that_is_down_keeps_no_payloads_at_hand() -> None:
    async with virtual_service() as service:
        until = service.now() + HOUR
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, now: DOWN if now < until else OK
        )
        await service.add(1000)
        await asyncio.sleep(HOUR / 2)
        assert service.dispatcher.context.buffered.bytes == 0
        assert len(service.sender.sent) > 20  # it was probed all the same
        await service.until_delivered(endpoint, within=HOUR)


@virtually
async def test_lanes_behind_a_gateway_that_is_down_keep_one_at_hand_at_the_most() -> None:
    async with virtual_service() as service:
        for number in range(20):
            await service.add_endpoint("gw.example", always(DOWN), path=f"/{number}")
        message, *_ = await service.add(50)
        found = await service.store.get(Messages(service.application.id), message)
        await asyncio.sleep(HOUR / 2)
        assert service.dispatcher.context.buffered.bytes <= 20 * len(found.payload or b"")


@virtually
async def test_whatever_stops_it_a_lane_says_when_it_may_send_again() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: DOWN)
        await service.add(10)
        await asyncio.sleep(HOUR)
        lane, now = lane_of(service, endpoint), service.now()
        assert now < next_send_at(lane, lane.gates.current, now) < math.inf
        assert lane.waiting() == 10


@virtually
async def test_a_message_that_cannot_be_signed_is_its_own_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        (poison,) = await service.add(id="msg_é")
        (fine,) = await service.add()
        await asyncio.sleep(5)
        assert (await service.delivery(fine)).state is State.DELIVERED
        assert (await service.delivery(poison)).state is State.WAITING
        attempt, *_ = await service.store.read(AllAttemptsOf(poison))
        assert attempt.kind == Kind.REFUSED
        assert attempt.detail.startswith("it cannot be signed: 'ascii' codec can't encode")
        assert (attempt.took, attempt.now) == (0.0, attempt.at)
        assert "'msg_é' cannot be signed" in caplog.text
        await service.store.cancel(endpoint.application, poison, now=service.now())


@virtually
async def test_rows_behind_a_head_that_waits_keep_nobody_busy() -> None:
    between = Between(Shaky)
    async with virtual_service(through=between) as service:
        answers = iter([status(500), *[OK] * 20])
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: next(answers), fifo=True)
        await service.add(20)
        await asyncio.sleep(1)
        before = between.shaky.calls
        await asyncio.sleep(5)
        assert between.shaky.calls - before < 60
        await service.until_delivered(endpoint, within=30)


@virtually
async def test_a_delivery_whose_payload_is_gone_ends_and_keeps_no_slot() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        (message,) = await service.add()
        await service.store.expunge(Messages(service.application.id), message)
        free = service.dispatcher.context.slots.free
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(1)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXPUNGED)
        assert service.dispatcher.context.slots.free == free


@virtually
async def test_a_resend_of_a_payload_that_is_gone_ends_and_keeps_no_slot() -> None:
    async with virtual_service() as service:
        (message,) = await service.add()
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.store.resend(endpoint, message, resend="r1")
        await service.store.expunge(Messages(service.application.id), message)
        free = service.dispatcher.context.slots.free
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(1)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXPUNGED)
        assert service.dispatcher.context.slots.free == free
        (attempt,) = await service.store.read(AllAttemptsOf(message))
        assert (attempt.kind, attempt.detail) == (Kind.REFUSED, Reason.EXPUNGED)
        assert (attempt.took, attempt.draw) == (0.0, 0.0)


def sealing_with(name: str) -> Callable[[Store], Store]:
    """Return a wrapper of stores that seals payloads, with a sealing key of this name."""
    seals = Seals.of(generate_key(name))
    return lambda store: sealed_store(store, seals, seal_payloads=True)


def erased(store: MemoryStore) -> Store:
    """Return a store in which all payloads are erased."""
    fetch = store.fetch

    async def fetch_erased(wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        fetched = await fetch(wants, now=now, most_bytes=most_bytes)
        due = [replace(due, payload=None, sealed_with="dkey_gone") for due in fetched.due]
        return replace(fetched, due=due)

    store.fetch = fetch_erased  # type: ignore[method-assign]  # as after an erasure
    return store


@virtually
async def test_a_delivery_whose_payload_was_erased_ends_and_keeps_no_slot() -> None:
    async with virtual_service(through=erased) as service:
        await service.add_endpoint("a.example")
        free = service.dispatcher.context.slots.free
        (message,) = await service.add()
        await asyncio.sleep(1)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.DISCARDED, Reason.ERASED)
        assert service.dispatcher.context.slots.free == free
        assert not service.sender.sent


@virtually
async def test_a_resend_of_a_payload_that_was_erased_says_so() -> None:
    async with virtual_service(through=erased) as service:
        (message,) = await service.add()
        endpoint = await service.add_endpoint("a.example")
        await service.store.resend(endpoint, message, resend="r1")
        await asyncio.sleep(1)
        (attempt,) = await service.store.read(AllAttemptsOf(message))
        assert (attempt.kind, attempt.detail) == (Kind.REFUSED, Reason.ERASED)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.DISCARDED, Reason.ERASED)


@virtually
async def test_payloads_in_memory_are_not_sent_after_they_were_erased() -> None:
    sealing = sealing_with("first")
    async with virtual_service(through=sealing) as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: DOWN)
        new = [new_message(service.application, accepted_at=service.wall()) for _ in range(20)]
        await sealing(service.store).add(new)
        await asyncio.sleep(30)  # the endpoint is down, and the next probe is at hand
        await service.store.erase(service.application.id, now=service.wall())
        await asyncio.sleep(2)
        before = len(service.sender.sent)
        await asyncio.sleep(600)
        assert len(service.sender.sent) == before
        assert await service.counts(endpoint) == {State.DISCARDED: 20}


@virtually
async def test_a_payload_that_cannot_be_opened_is_a_failed_attempt_and_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with virtual_service(through=sealing_with("second")) as service:
        await service.add_endpoint("a.example")
        new = new_message(service.application, accepted_at=service.wall())
        free = service.dispatcher.context.slots.free
        await sealing_with("first")(service.store).add([new])
        await asyncio.sleep(1)
        delivery = await service.delivery(new.message.id)
        assert (delivery.state, delivery.reason) == (State.WAITING, Reason.BACKOFF)
        (attempt,) = await service.store.read(AllAttemptsOf(new.message.id))
        assert (attempt.kind, attempt.status) == (Kind.REFUSED, None)
        assert attempt.detail == "the payload cannot be opened"
        why = f"the payload of message {new.message.id} cannot be opened: a secret is sealed with"
        assert f"{why} the key 'first'; the keys given are second" in caplog.text
        assert service.dispatcher.context.slots.free == free
        assert not service.sender.sent


# --- How many go at once ------------------------------------------------------------------------


@virtually
async def test_a_lane_sends_several_at_once_and_a_new_one_not_all() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", always(Answer(5.0, status=200)))
        await service.add(20)
        await asyncio.sleep(1)
        assert len(service.sender.sent) == FIRST


@virtually
async def test_all_rows_at_hand_go_without_waiting_for_an_answer() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays in memory
        await service.add(60)
        await asyncio.sleep(1)
        service.sender.scripts["a.example"] = always(Answer(5.0, status=200))
        await service.add(60)
        await asyncio.sleep(0.5)
        assert service.sender.in_air == 60


@virtually
async def test_lanes_that_share_a_gate_do_not_wait_for_the_answer_before() -> None:
    async with virtual_service() as service:
        back_at = service.now() + 5

        def script(_request: object, now: float) -> Answer:
            return DOWN if now < back_at else Answer(1.0, status=200)

        service.sender.scripts["gw.example"] = script
        for number in range(2):
            await service.add_endpoint("gw.example", path=f"/{number}")
        await service.add(60)
        await asyncio.sleep(5)
        service.sender.most_in_air = 0
        await asyncio.sleep(4)
        assert service.sender.most_in_air > 10


@virtually
async def test_a_lane_sends_at_the_rate_that_its_owner_has_set() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", rate=1.0)
        await asyncio.sleep(2)
        await service.add(10)
        await asyncio.sleep(4.5)
        assert len(service.sender.sent) == 5


@virtually
async def test_the_lanes_of_an_application_keep_to_its_rate_and_hold_no_slots_meanwhile() -> None:
    async with virtual_service() as service:
        application = await service.add_application(rate=2.0)
        for number in range(3):
            await service.add_endpoint(f"{number}.example", application=application)
        free = service.dispatcher.context.slots.free
        await asyncio.sleep(2)
        await service.add(3, application=application)
        await asyncio.sleep(3.25)
        assert len(service.sender.sent) == 7
        assert service.dispatcher.context.slots.free == free


class Unwritten(Shaky):
    """No outcome is written until `writes` is set."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.writes = asyncio.Event()

    async def settle(self, *told: Any) -> list[bool]:  # noqa: ANN401  as it comes
        await self.writes.wait()
        return await self._store.settle(*told)


@virtually
async def test_no_more_is_sent_than_may_be_unwritten_and_then_it_goes_on() -> None:
    between = Between(Unwritten)
    limits = Limits(in_flight=4, unsettled=4)
    async with virtual_service(through=between, limits=limits) as service:
        endpoint = await service.add_endpoint("a.example", concurrency=1)
        await service.add(20)
        await asyncio.sleep(5)
        await service.add_endpoint("b.example")
        await service.add()
        await asyncio.sleep(5)
        assert len(service.sender.sent) == 4
        between.shaky.writes.set()
        await asyncio.sleep(0.05)
        assert "b.example" in {sent.host for sent in service.sender.sent}
        await service.until_delivered(endpoint, within=5)


class Broke(Allowance):
    """Limits whose budget has no room for a retry until somebody says so."""

    has_room = False
    counted = 0

    def sent(self, now: float) -> None:
        """Count a send."""
        super().sent(now)
        self.counted += 1

    def spend_retry(self, now: float) -> bool:
        """Return what was said."""
        assert now
        return self.has_room


@virtually
async def test_a_retry_without_budget_waits_without_a_slot_and_new_deliveries_go() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "backoff": {"kind": "fixed", "delay": 2}}'
        poison: list[str] = []
        script = takes_all_but(poison, status(500))
        endpoint = await service.add_endpoint("a.example", script, policy=policy)
        free = service.dispatcher.context.slots.free
        await service.add()
        poison += await service.add()
        await asyncio.sleep(0.05)
        lane = lane_of(service, endpoint)
        lane.allowance = budget = Broke(LONG_AGO)
        poison.clear()
        await asyncio.sleep(3)
        await service.add()
        await asyncio.sleep(1)
        assert len(service.sender.sent) == 3
        assert budget.counted == 1
        assert service.dispatcher.context.slots.free == free
        budget.has_room = True
        await service.until_delivered(endpoint, within=3)
        assert (len(service.sender.sent), budget.counted) == (4, 2)


# --- When a lane may send, and how many rows it needs -------------------------------------------


def a_gate(rate: float, phase: Any = PACED) -> Gate:  # noqa: ANN401  a phase
    return Gate(Pace(phase=phase, rate=rate), lambda: 0.5)


@virtually
async def test_a_lane_has_rows_at_hand_for_a_quarter_of_a_second_and_one_for_a_probe() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        assert room(lane, a_gate(0.0, OPEN)) == 1
        assert [room(lane, a_gate(rate)) for rate in (1.0, 100.0, 5000.0)] == [8, 25, 256]
        closed = a_gate(math.inf, CLOSED)
        assert room(lane, closed) == 2 * FIRST
        lane.allowance.in_flight = 5
        assert room(lane, closed) == 2 * FIRST - 5
        lane.allowance.trust, lane.allowance.in_flight = 100, 0
        assert room(lane, closed) == AT_HAND
        lane.allowance.trust, lane.allowance.in_flight = 1, 1
        assert room(lane, closed) == 2


@virtually
async def test_a_lane_has_no_more_rows_at_hand_than_it_may_send() -> None:
    async with virtual_service(limits=Limits(in_flight=10)) as service:
        lane = await a_lane(service, concurrency=12)
        assert room(lane, a_gate(100.0)) == 12
        assert room(lane, a_gate(math.inf, CLOSED)) == 10
        for _ in range(5):
            service.dispatcher.context.slots.take(lane)
        assert room(lane, a_gate(math.inf, CLOSED)) == 1
        for _ in range(5):
            service.dispatcher.context.slots.give_back(lane)


@virtually
async def test_at_a_shared_gate_the_requests_of_other_lanes_do_not_count_for_a_lane() -> None:
    async with virtual_service() as service:
        lane, now = await a_lane(service, concurrency=1), service.now()
        gate = a_gate(1000.0)
        gate.sent(now - 1, 1)
        gate.sent(now - 1, 1)
        assert next_send_at(lane, gate, now) == now
        lane.allowance.in_flight = 1
        assert next_send_at(lane, gate, now) == math.inf
        lane.allowance.in_flight = 0


# --- When a lane sleeps -------------------------------------------------------------------------


class Asked(Shaky):
    """Counts how often it is asked whether lanes may sleep."""

    rests = dozes = 0

    async def rest(
        self, lanes: Mapping[int, int], leases: Sequence[Lease], *, doze: bool = False
    ) -> set[int]:
        self.rests += not doze
        self.dozes += doze
        return await self._store.rest(lanes, leases, doze=doze)


@pytest.mark.parametrize(("took", "dozes"), [(SLEEP_DELAY / 2, 0), (1.0, 1)], ids=["soon", "late"])
@virtually
async def test_only_a_lane_whose_answer_is_late_dozes_meanwhile(took: float, dozes: int) -> None:
    between = Between(Asked)
    async with virtual_service(through=between) as service:
        await service.add_endpoint("a.example", always(Answer(took, status=200)))
        await service.add()
        await asyncio.sleep(0.5)
        assert between.shaky.dozes == dozes
        await asyncio.sleep(5)
        assert (between.shaky.rests, between.shaky.dozes) == (1, dozes)


@virtually
async def test_a_lane_that_waits_for_a_due_time_is_not_woken_before() -> None:
    async with virtual_service() as service:
        due_at = service.now() + HOUR
        lane = await a_lane(service)
        assert lane.wake_at == pytest.approx(due_at, abs=1e-6)


# --- What cannot be sent ------------------------------------------------------------------------


@virtually
async def test_an_endpoint_that_may_not_be_called_fails_at_once() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("127.0.0.1")
        (message,) = await service.add()
        await asyncio.sleep(2)
        attempt, *_ = await service.store.read(AllAttemptsOf(message))
        assert (attempt.kind, attempt.took, attempt.now) == (Kind.BLOCKED, 0.0, attempt.at)
        assert not service.sender.sent


@virtually
async def test_probes_are_counted_apart() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", always(DOWN))
        await service.add(8)
        await asyncio.sleep(120)
        counters = service.dispatcher.context.counters
        assert counters.sent == len(service.sender.sent)
        assert 0 < counters.probes < counters.sent


# --- Lanes that are moved by hand ---------------------------------------------------------------

LONG_DOWN = A_DOWN.replace(down_since=NOON - 3_000, probes=30, probe_at=NOON)


@pytest.mark.parametrize("shared", [False, True])
def test_a_probe_goes_sooner_if_much_waits_at_its_gate_and_not_if_it_waits_at_others(
    *, shared: bool
) -> None:
    next_in = []
    for waiting in (1, 100_000):
        place = LanePlace()
        group = place.level("app_a", LONG_DOWN if shared else WELL)
        lane = place.lane(group, pace=WELL if shared else LONG_DOWN, waiting=1)
        place.lane(group, waiting=waiting)
        place.read(lane, place.row(lane))
        lane.pump()
        assert len(place.outbox.requests) == 1
        next_in.append(lane.gates.current.pace.probe_at - place.now)
    few, many = next_in
    assert few / many > 5 if shared else few == many


@pytest.mark.parametrize("full", [False, True])
def test_a_lane_with_a_row_at_hand_asks_for_no_more_while_memory_is_full(*, full: bool) -> None:
    place = LanePlace()
    group = place.level("app_a", PACED_AT_NOON)
    lane = place.lane(group, waiting=100)
    group.gate.in_flight = group.gate.pace.room()  # it cannot send now
    buffer = lane.backlog.buffer
    (want,) = [want for want in buffer.wants(1, NOON, PACED) if want.stream is Stream.READY]
    buffer.take(want, [place.row(lane)], cut=True, fetched=Fetched([], {}, {}, {}))
    place.context.buffered.add(full * place.context.limits.buffered_bytes)
    place.work.take_lanes_that_need_rows(10)
    lane.backlog.asking = False
    lane.pump()
    assert (lane in place.work.need_rows) is not full


def test_at_a_pace_rows_that_were_left_behind_are_read_again_before_retries_are_sent() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"), pace=PACED_AT_NOON, waiting=2)
    retry = place.row(lane, stream=Stream.WAITING, due_at=NOON - 1, attempts=1)
    lane.backlog.set_mark(2)
    place.read(lane, retry)
    left_behind = place.row(lane)
    lane.backlog.buffer.mark_busy(left_behind)
    lane.backlog.buffer.leave_behind(left_behind)
    lane.pump()
    assert (place.outbox.requests, lane in place.work.need_rows) == ([], True)
    place.read(lane, left_behind, retry)
    lane.pump()
    assert len(place.outbox.requests) == 1


def test_fresh_rows_of_a_lane_that_is_ordered_by_now_hold_no_slot_while_they_wait() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"), waiting=3)
    buffer = lane.backlog.buffer
    lane.backlog.set_mark(2)
    for want in buffer.wants(8, NOON, CLOSED):
        fresh = want.stream is Stream.READY and want.before is None
        rows = [place.row(lane, seq=3)] if fresh else []
        cut = want.before is not None  # the backlog is not read yet
        if rows or not cut:
            buffer.take(want, rows, cut=cut, fetched=Fetched([], {}, {}, {}))
    buffer.set_order(fifo=True)
    lane.pump()
    assert (place.outbox.requests, place.context.slots.free) == ([], Limits().in_flight)


def test_the_answer_to_a_probe_of_a_whole_lets_its_next_lane_send_although_the_first_has_left() -> (
    None
):
    place = LanePlace()
    group, other_group = place.level("app_a"), place.level("app_b")
    whole = place.make_whole(group, other_group, pace=A_DOWN.replace(probe_at=NOON))
    lane, (other,) = place.lane(group, waiting=1), place.lanes(other_group, 1)
    place.read(lane, place.row(lane))
    lane.pump()
    (answer,) = place.outbox.answer
    lane.leave()
    whole.disown(group)
    other.is_healthy = False  # otherwise a probe is brought forward for it
    other.wait()
    place.push(100)
    assert place.sent == []
    answer(OK)
    assert place.sent == [other.number]
