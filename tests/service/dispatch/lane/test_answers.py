"""What comes back to a lane: whose failure it is, who is told, and what an outcome changes."""

import asyncio
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from tarry.core.pace import Pace, Phase
from tarry.core.probe import SHORTEST
from tarry.service.dispatch.lane import answers, phases
from tarry.service.dispatch.lane.answers import NO_OVERLOAD, take_settlement
from tarry.service.dispatch.lane.attempt import PendingAttempt
from tarry.service.dispatch.lane.endpoint_record import SAVED_EVERY
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.gate import RULE, Gate, read_pace
from tarry.service.dispatch.origins.evidence import SEVERAL
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.model.attempt import Resent, Settlement, Trigger
from tarry.service.model.audit import ActorKind, AuditFilter, FieldChange
from tarry.service.model.delivery import ENDED, Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due, Stream
from tarry.service.model.listing import Cut
from tarry.service.model.settings import Limits
from tarry.service.store.kinds import AllAttemptsOf, AllDeliveriesOf, AuditTrail, Lanes, Notices
from tarry.service.store.memory.store import MemoryStore
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import NOON, a_due, delivered, failed, postponed, put_back
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, status, takes_all_but, virtual_service
from tests.service.dispatch.lane.hand_moved import LanePlace
from tests.service.dispatch.lane.test_lane import always, lane_of, lanes_at_work
from tests.service.dispatch.origins.place import OPEN, PACED, TAKEN, WELL

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
            row = await service.store.get(Lanes(endpoint.application), endpoint.id)
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
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
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
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
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
        while not (lane := lane_of(service, first)).uses_own_gate:  # noqa: ASYNC110  time is virtual
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
            for endpoint, delivery in await service.store.read(AllDeliveriesOf(first))
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
        lane.take_turn()

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
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert row.endpoint.standing is Standing.DISABLED
        (notice,) = await service.store.read(Notices())
        assert (notice.kind, notice.facts["why"]) == ("endpoint.disabled", "the receiver said so")
        wanted = AuditFilter(actor=ActorKind.TARRY)
        trail = AuditTrail(row.application.environment, wanted)
        (entry,) = (await service.store.page(trail, Cut())).entries
        assert (entry.operation, entry.target) == ("endpoint.disabled", endpoint.id)
        assert entry.changes == (FieldChange("standing", "enabled", "disabled"),)


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
        assert lane_of(service, gone).gates.group.gate_level.shared
        await service.until_delivered(other, within=20)
        row = await service.store.get(Lanes(gone.application), gone.id)
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
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
        now = service.now()
        held_until = read_pace(row.known.pace, now=now).held_until
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
            (attempt,) = await service.store.read(AllAttemptsOf(message))
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
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert row.endpoint.standing is standing
        reasons = [notice.facts.get("why") for notice in await service.store.read(Notices())]
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
        assert await service.store.read(Notices()) == []
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
        attempts = await service.store.read(AllAttemptsOf(message))
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
            await service.store.read(AllAttemptsOf(message)), key=lambda attempt: attempt.number
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
        notices = await service.store.read(Notices())
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


# === Lanes that are moved by hand =================================================================
#
# A test sends a request, changes the lane or its origin, and answers.

FAILS = status(500)
REFUSES = status(404)
UNFIT = status(422)
GONE = status(410)
ANSWERS = {
    "OK": OK,
    "unfit": UNFIT,
    "fails": FAILS,
    "down": DOWN,
    "refuses": REFUSES,
    "gone": GONE,
}
PROBES_NOW = OPEN.replace(probe_at=NOON)


# --- A gate that the lane has left --------------------------------------------------------------


Left = Callable[[LanePlace], tuple[PendingAttempt, Origin]]
"""Returns a request whose lane has left its gate since, and a group that uses the other gate."""


def its_group_opened(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group = place.level("app_a")
    pending = place.send(place.lane(group))
    group.open(place.now)
    return pending, group


def the_whole_opened(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group = place.level("app_a", PACED)
    pending = place.send(place.lane(group))
    whole = place.make_whole(group)
    whole.open(place.now)
    return pending, group


def its_group_left_the_whole(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group, other = place.level("app_a"), place.level("app_b")
    place.make_whole(group, other, pace=PACED)
    pending = place.send(place.lane(group))
    group.use_own_gate(place.now, None, place.now - 60)
    return pending, other


def its_url_changed(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group = place.level("app_a", PROBES_NOW)
    lane = place.lane(group)
    pending = place.send(lane)
    lane.endpoint = replace(lane.endpoint, url=f"{lane.endpoint.url}/v2")
    return pending, group


def it_moved_to_another_host(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group = place.level("app_a", PROBES_NOW)
    lane = place.lane(group)
    pending = place.send(lane)
    lane.move(place.level("app_a"))
    lane.endpoint = replace(lane.endpoint, url="https://other.example/in")
    return pending, group


LEFT = [
    its_group_opened,
    the_whole_opened,
    its_group_left_the_whole,
    its_url_changed,
    it_moved_to_another_host,
]


NOW_SHARED = [its_group_opened, the_whole_opened]
SUCCESSES = ["OK", "unfit"]
COUNTS_FOR_NO_GATE = [
    (left, answer)
    for left in LEFT
    for answer in ANSWERS
    if left not in NOW_SHARED or answer not in SUCCESSES
]


@pytest.mark.parametrize("answer", SUCCESSES)
@pytest.mark.parametrize("left", NOW_SHARED)
def test_a_success_sent_just_before_a_shared_gate_opened_shows_that_the_origin_works(
    left: Left, answer: str
) -> None:
    place = LanePlace()
    pending, group = left(place)
    lane = pending.lane
    assert isinstance(lane, Lane)
    shared, own = group.gate_level.gate, lane.gate
    in_flight = pending.gate.in_flight
    pending.done(ANSWERS[answer])
    assert (own.phase, shared.phase) == (Phase.CLOSED, Phase.PACED)
    assert shared.in_flight == 0
    assert pending.gate.in_flight == in_flight - 1


def test_a_success_sent_long_before_a_shared_gate_opened_brings_its_probe_forward() -> None:
    place = LanePlace()
    group = place.level("app_a")
    pending = place.send(place.lane(group))
    place.now += 2 * RULE.silence
    group.open(place.now, since=place.now)
    group.gate.delay(60)
    pending.done(OK)
    assert (group.gate.phase, group.gate.pace.probe_at) == (Phase.OPEN, place.now + SHORTEST)


@pytest.mark.parametrize(("left", "answer"), COUNTS_FOR_NO_GATE)
def test_an_answer_counts_for_no_gate_once_its_lane_has_left_the_one_that_it_was_sent_through(
    left: Left, answer: str
) -> None:
    place = LanePlace()
    pending, group = left(place)
    lane = pending.lane
    assert isinstance(lane, Lane)
    gates = {id(gate): gate for gate in (pending.gate, lane.gate, group.gate, lane.gates.shared)}
    air = {known: gate.in_flight - (gate is pending.gate) for known, gate in gates.items()}
    for gate in gates.values():
        gate.step(place.now, 1)
    before = {known: gate.pace for known, gate in gates.items()}
    pending.done(ANSWERS[answer])
    for known, gate in gates.items():
        gate.step(place.now, 1)
        assert gate.in_flight == air[known]
        assert gate.pace == before[known]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    "left", [its_group_left_the_whole, its_url_changed, it_moved_to_another_host]
)
def test_the_answer_to_a_lane_that_has_left_lets_the_lanes_go_on_that_waited_for_it(
    left: Left, answer: str
) -> None:
    place = LanePlace()
    pending, group = left(place)
    gate = group.gate_level.gate
    gate.in_flight += gate.pace.room() - 1 if gate.phase is Phase.PACED else 0
    (other,) = place.lanes(group, 1)
    other.is_healthy = gate.phase is Phase.PACED  # otherwise a probe is brought forward for it
    other.wait()
    place.push(100)
    assert place.sent == []
    pending.done(ANSWERS[answer])
    assert place.sent == [other.number]


def it_left(_place: LanePlace, _group: Origin, lane: Lane) -> None:
    lane.leave()


def it_moved(place: LanePlace, group: Origin, lane: Lane) -> None:
    lane.move(place.level(group.application, at="https://other.example:443"))
    lane.endpoint = replace(lane.endpoint, url="https://other.example/in")


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("goes", [it_left, it_moved])
def test_a_probe_whose_group_was_forgotten_lets_the_next_lane_of_the_whole_send(
    goes: Callable[[LanePlace, Origin, Lane], None], answer: str
) -> None:
    place = LanePlace()
    group, other_group = place.level("app_a"), place.level("app_b")
    whole = place.make_whole(group, other_group, pace=PROBES_NOW)
    lane = place.lane(group)
    pending = place.send(lane)
    goes(place, group, lane)
    whole.disown(group)
    (other,) = place.lanes(other_group, 1)
    other.is_healthy = False  # otherwise a probe is brought forward for it
    other.wait()
    place.push(100)
    assert place.sent == []
    pending.done(ANSWERS[answer])
    assert place.sent == [other.number]


@pytest.mark.parametrize("answer", [OK, FAILS, DOWN])
def test_an_answer_to_a_lane_that_has_left_is_no_evidence_and_its_outcome_is_handed_in(
    answer: Answer,
) -> None:
    place = LanePlace()
    group = place.level("app_a")
    lane = place.lane(group)
    place.now += 60
    pending = place.send(lane)
    lane.leave()
    pending.done(answer)
    assert not group.evidence.has_passed_since(place.now)
    assert not group.evidence.failures.lanes
    assert (lane.gate.in_flight, lane.is_healthy) == (0, True)
    assert lane not in place.work.ticking
    assert len(place.outcomes()) == 1


# --- A gate that it still uses ------------------------------------------------------------------


def at_its_own(place: LanePlace, pace: Pace) -> tuple[Lane, Gate]:
    lane = place.lane(place.level("app_a"), pace=pace)
    return lane, lane.gate


def at_its_group_s(place: LanePlace, pace: Pace) -> tuple[Lane, Gate]:
    group = place.level("app_a", pace)
    return place.lane(group), group.gate


def at_the_whole_s(place: LanePlace, pace: Pace) -> tuple[Lane, Gate]:
    group = place.level("app_a")
    whole = place.make_whole(group, place.level("app_b"), pace=pace)
    return place.lane(group), whole.gate


AT = [at_its_own, at_its_group_s, at_the_whole_s]
At = Callable[[LanePlace, Pace], tuple[Lane, Gate]]


@pytest.mark.parametrize(("at", "waits"), [*zip(AT, (True, True, False), strict=True)])
def test_a_wait_that_an_endpoint_asks_for_does_not_apply_to_other_applications(
    at: At,
    waits: bool,  # noqa: FBT001  a parameter
) -> None:
    place = LanePlace()
    lane, gate = at(place, PROBES_NOW.replace(down_since=NOON - 1))
    place.send(lane).done(status(503, retry_after="50"))
    assert (gate.pace.probe_at >= place.now + 50) is waits


@pytest.mark.parametrize("answer", [OK, UNFIT])
@pytest.mark.parametrize("at", AT)
def test_a_probe_that_passes_brings_back_all_lanes_of_its_gate(at: At, answer: Answer) -> None:
    place = LanePlace()
    lane, gate = at(place, PROBES_NOW)
    place.send(lane).done(answer)
    assert (gate.phase, gate.in_flight) == (Phase.PACED, 0)
    assert lane.gates.phase is Phase.PACED
    assert lane.gates.group.evidence.has_passed_since(place.now)


@pytest.mark.parametrize("at", AT)
def test_a_probe_that_fails_is_followed_by_a_later_one(at: At) -> None:
    place = LanePlace()
    lane, gate = at(place, PROBES_NOW)
    place.send(lane).done(FAILS)
    assert (gate.phase, gate.in_flight, lane.gates.phase) == (Phase.OPEN, 0, Phase.OPEN)
    assert gate.pace.probe_at > place.now
    assert not lane.gates.group.evidence.has_passed_since(place.now)


def test_a_success_of_a_healthy_lane_is_evidence_for_its_application_and_the_whole() -> None:
    place = LanePlace()
    group = place.level("app_a")
    whole = place.make_whole(group, place.level("app_b"))
    lane = place.lane(group)
    place.fail(lane, FAILS, times=2)
    trust = lane.allowance.trust
    place.send(lane).done(OK)
    assert group.evidence.has_passed_since(place.now)
    assert whole.evidence.has_passed_since(place.now)
    assert (lane.allowance.failures_in_a_row, lane.allowance.trust) == (0, trust + 1)


@pytest.mark.parametrize(("lease_left", "phase"), [(1.0, Phase.OPEN), (0.0, Phase.CLOSED)])
def test_failures_after_the_end_of_a_lease_say_nothing_about_the_origin(
    lease_left: float, phase: Phase
) -> None:
    """A worker that was suspended finds that all its requests have timed out meanwhile."""
    place = LanePlace()
    groups = [place.level(name) for name in ("app_a", "app_b", "app_c")]
    whole = place.make_whole(*groups)
    lanes = [place.lane(group) for group in groups]
    pending = [place.send(lane) for lane in lanes for _ in range(RULE.failures)]
    place.now += 25
    for lane in lanes:
        lane.held.renew(place.now + lease_left)
    for attempt in pending:
        attempt.done(DOWN)
    assert whole.gate.phase is phase
    assert {lane.gates.own.phase for lane in lanes} == {
        Phase.CLOSED if phase is Phase.OPEN else Phase.OPEN
    }


@pytest.mark.parametrize(("answer", "latency"), [(OK, 2.0), (FAILS, 0.0)])
@pytest.mark.parametrize("at", AT)
def test_a_pace_learns_how_long_it_takes_to_accept(at: At, answer: Answer, latency: float) -> None:
    place = LanePlace()
    lane, gate = at(place, PACED)
    pending = place.send(lane)
    place.now += 2
    pending.done(answer)
    gate.step(place.now, 1)
    assert gate.pace.latency == pytest.approx(latency)


@pytest.mark.parametrize(("answer", "passed"), [(OK, True), (FAILS, False)])
def test_the_probe_of_a_lane_that_goes_apart_says_nothing_about_its_origin(
    answer: Answer,
    passed: bool,  # noqa: FBT001  a parameter
) -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    phases.use_own_gate(lane, place.now)
    place.now = lane.gate.pace.probe_at
    pending = place.send(lane)
    assert pending.gate is lane.gate
    pending.done(answer)
    assert lane.uses_own_gate is not passed  # it uses the shared gate again once it passed
    assert not group.evidence.has_passed_since(place.now)
    assert (group.gate.phase, group.gate.in_flight) == (Phase.PACED, 0)


@pytest.mark.parametrize(("answer", "counts"), [(OK, (1, 0)), (FAILS, (0, 1))])
def test_what_a_lane_sent_at_its_origin_s_pace_counts_there_although_it_goes_apart_by_now(
    answer: Answer, counts: tuple[int, int]
) -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    pending = place.send(lane)
    phases.use_own_gate(lane, place.now)
    pending.done(answer)
    group.gate.step(place.now, 1)
    assert group.gate.pace.recent(place.now) == counts
    assert (group.gate.in_flight, lane.gate.in_flight) == (0, 0)


def test_a_message_that_keeps_failing_frees_the_turn_of_the_next_lane_at_a_shared_pace() -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    place.send(lane, seq=1, event_type="bad").done(REFUSES)
    place.now += 1
    place.send(lane, event_type="good").done(OK)
    place.now += 1
    pending = place.send(lane, seq=1, event_type="bad", tries=1, attempts=1)
    (other,) = place.lanes(group, 1)
    group.gate.in_flight += group.gate.pace.room() - 1
    other.wait()
    place.now += 1
    failing = lane.allowance.failures_in_a_row
    pending.done(REFUSES)
    assert lane.allowance.failures_in_a_row == failing  # the refusal is the message's own
    assert place.sent == [other.number]
    group.gate.step(place.now, 1)
    assert group.gate.pace.recent(place.now) == (1, 0)


@pytest.mark.parametrize(("failed_before", "counts"), [(True, (0, 0)), (False, (0, 1))])
def test_an_application_that_failed_before_the_origin_came_back_does_not_slow_down_the_others(
    failed_before: bool,  # noqa: FBT001  a parameter
    counts: tuple[int, int],
) -> None:
    place = LanePlace()
    group = place.level("app_a")
    whole = place.make_whole(group, place.level("app_b"), pace=PACED)
    lane = place.lane(group)
    place.now += 1
    if failed_before:
        group.evidence.add_failure(lane, unreachable=False, now=PACED.begun - 1)
    place.send(lane).done(FAILS)
    whole.gate.step(place.now, 1)
    assert whole.gate.pace.recent(place.now) == counts


# --- Refusals and failures of several lanes ------------------------------------------------------


def test_what_several_lanes_are_refused_is_the_origin_s_and_what_one_message_is_not() -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lanes = [place.lane(group) for _ in range(SEVERAL)]
    for lane in lanes:
        place.send(lane).done(FAILS)
    assert not any(group.evidence.refuses(lane.number) for lane in lanes)
    for lane in lanes:
        place.send(lane).done(REFUSES)
    assert all(group.evidence.refuses(lane.number) for lane in lanes)


def test_messages_that_are_refused_for_themselves_are_no_evidence_against_an_origin() -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lanes = [place.lane(group) for _ in range(SEVERAL)]
    for number, lane in enumerate(lanes):
        place.send(lane, seq=number).done(REFUSES)
        place.now += 1
        place.send(lane).done(OK)
        place.now += 1
    for number, lane in enumerate(lanes):
        place.send(lane, seq=number, tries=1, attempts=1).done(REFUSES)
    assert not any(group.evidence.refuses(lane.number) for lane in lanes)


def test_refusals_through_a_lane_s_own_gate_say_nothing_about_its_origin() -> None:
    place = LanePlace()
    group = place.level("app_a")
    lanes = [place.lane(group) for _ in range(SEVERAL)]
    for lane in lanes:
        place.send(lane).done(REFUSES)
    assert not any(group.evidence.refuses(lane.number) for lane in lanes)


def test_successes_of_healthy_lanes_tell_new_ones_how_much_fails_by_chance_at_their_origin() -> (
    None
):
    place = LanePlace()
    group = place.level("app_a")
    old, new = place.lane(group), place.lane(group)
    for _ in range(20):
        place.send(old).done(OK)
        assert group.history.failed == 0
    for _ in range(20):
        place.fail(old, FAILS, times=2)
        place.send(old).done(OK)
    assert group.history.failed > group.history.passed > 0
    place.now += 60
    place.fail(new, FAILS, times=RULE.failures + 1)
    assert new.gate.phase is Phase.CLOSED
    refused = place.lane(group)
    place.now += 60
    place.fail(refused, REFUSES, times=RULE.failures)
    assert refused.gate.phase is Phase.OPEN


def test_a_success_at_a_pace_says_nothing_about_what_fails_by_chance() -> None:
    place = LanePlace()
    group = place.level("app_a")
    lane = place.lane(group, pace=PACED)
    lane.allowance.take_over_failures(2)
    place.send(lane).done(OK)
    assert group.history.answers == 0


def test_a_lane_that_fails_is_evaluated_at_the_next_tick_and_one_that_is_open_is_not() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"))
    place.now += 60
    place.send(lane).done(FAILS)
    assert lane in place.work.ticking
    place.work.stop_ticking(lane)
    place.fail(lane, FAILS, times=RULE.failures)
    assert lane.gate.phase is Phase.OPEN
    place.work.stop_ticking(lane)
    place.now = lane.gate.pace.probe_at
    place.send(lane).done(FAILS)
    assert lane not in place.work.ticking


def test_failures_of_several_lanes_through_their_own_gates_open_that_of_their_group() -> None:
    place = LanePlace()
    group = place.level("app_a")
    lanes = [place.lane(group) for _ in range(RULE.failures)]
    place.now += RULE.silence
    for number, lane in enumerate(lanes):
        assert group.shared is (number == RULE.failures)
        place.send(lane).done(FAILS)
    assert group.gate.phase is Phase.OPEN
    assert all(lane.gates.current is group.gate for lane in lanes)


def apart_after(
    place: LanePlace, answer: Answer, *, failed_before: bool, others_pass: bool
) -> int | float:
    """Return after how many answers a lane uses its own gate instead of its origin's."""
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    (other,) = place.lanes(group, 1)
    if failed_before:
        lane.record.failed(PACED.begun - RULE.silence / 2)
    for number in range(1, NO_OVERLOAD + 5):
        place.now += 0.01
        place.send(lane).done(answer)
        if lane.uses_own_gate:
            return number
        if others_pass:
            place.now += 0.01
            other.send_and_get(TAKEN)
    return math.inf


@pytest.mark.parametrize(
    ("answer", "failed_before", "others_pass", "after"),
    [
        (REFUSES, False, True, RULE.failures),
        (FAILS, True, True, RULE.failures),
        (FAILS, False, True, NO_OVERLOAD),
        (FAILS, True, False, math.inf),
        (DOWN, True, True, RULE.failures),
        (status(429), True, True, NO_OVERLOAD),
    ],
)
def test_a_lane_goes_apart_from_its_origin_s_pace_once_its_failures_cannot_be_due_to_the_pace(
    answer: Answer,
    failed_before: bool,  # noqa: FBT001  a parameter
    others_pass: bool,  # noqa: FBT001  likewise
    after: float,
) -> None:
    place = LanePlace()
    found = apart_after(place, answer, failed_before=failed_before, others_pass=others_pass)
    assert found == after


def test_a_lane_that_goes_apart_is_not_opened_again_by_what_it_sent_at_the_pace_before() -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    (other,) = place.lanes(group, 1)
    late = [place.send(lane) for _ in range(2 * RULE.failures)]
    other.send_and_get(TAKEN)
    lane.record.failed(PACED.begun - RULE.silence / 2)
    for pending in late[: RULE.failures]:
        pending.done(FAILS)
    assert lane.uses_own_gate
    opened = lane.gate.pace
    place.now += 1
    for pending in late[RULE.failures :]:
        pending.done(FAILS)
    assert lane.gate.pace == opened


def test_no_lane_goes_apart_while_only_probes_are_sent_to_its_origin() -> None:
    place = LanePlace()
    group = place.level("app_a", PROBES_NOW)
    lane = place.lane(group)
    lane.record.failed(place.now - 1)
    group.drop_evidence(place.now)
    for _ in range(2 * RULE.failures):
        place.now = group.gate.pace.probe_at
        place.send(lane).done(FAILS)
    assert (group.gate.phase, lane.uses_own_gate) == (Phase.OPEN, False)


# --- Endpoints that are gone --------------------------------------------------------------------


def test_an_endpoint_that_is_gone_is_no_evidence_and_the_next_lane_is_probed_at_once() -> None:
    place = LanePlace()
    lane, gate = at_its_group_s(place, PROBES_NOW)
    (other,) = place.lanes(lane.gates.group, 1)
    other.is_healthy = False
    pending = place.send(lane)
    other.wait()
    assert place.sent == []
    pending.done(GONE)
    assert lane.endpoint.standing is Standing.DISABLED
    assert (place.sent, gate.phase, gate.in_flight) == ([other.number], Phase.OPEN, 1)
    assert lane.is_healthy


@pytest.mark.parametrize(("answer", "reached"), [(FAILS, True), (GONE, True), (DOWN, False)])
def test_any_answer_shows_that_somebody_is_there(
    answer: Answer,
    reached: bool,  # noqa: FBT001  a parameter
) -> None:
    place = LanePlace()
    group = place.level("app_a")
    lane, (other,) = place.lane(group), place.lanes(group, 1)
    place.now += RULE.silence
    other.fail(RULE.failures - 1, unreachable=True)
    place.send(lane).done(answer)
    if reached:
        other.fail(unreachable=True)
    assert (place.wholes == []) is reached


# --- The outcome was written, by hand ------------------------------------------------------------


def a_lane(**values: Any) -> tuple[LanePlace, Lane]:  # noqa: ANN401  the lane's
    place = LanePlace()
    lane = place.lane(place.level("app_a"), waiting=5, **values)
    place.read(lane)
    return place, lane


def write(
    place: LanePlace, lane: Lane, due: Due, made: Settlement | Resent, *, done: bool = True
) -> None:
    """Report the outcome of a delivery that was busy as written, or as not accepted."""
    if not due.resend:
        lane.backlog.buffer.mark_busy(due)
    unsettled = lane.unsettled
    lane.context.unwritten.take_anyway(lane)
    lane.begin_outcome()
    take_settlement(lane, due, made, done=done, now=place.now)
    assert lane.unsettled == unsettled


@pytest.mark.parametrize(
    ("made", "counted"),
    [(delivered(a_due(seq=1)), (1, 0)), (failed(a_due(seq=1)), (0, 1))],
    ids=["delivered", "failed"],
)
def test_a_delivery_that_ended_is_counted_and_does_not_wait_any_more(
    made: Settlement, counted: tuple[int, int]
) -> None:
    place, lane = a_lane()
    write(place, lane, a_due(seq=1), made)
    counters = place.context.counters
    assert (counters.delivered, counters.failed) == counted
    assert (lane.waiting(), lane.backlog.buffer.drained()) == (4, True)


def test_an_outcome_that_the_store_does_not_accept_has_the_delivery_and_the_lease_looked_at() -> (
    None
):
    place, lane = a_lane()
    write(place, lane, a_due(seq=1), delivered(a_due(seq=1)), done=False)
    assert place.context.counters.stale == 1
    assert place.signals.renew.is_set()
    assert not place.work.changes
    assert lane.waiting() == 5
    place.read(lane)
    assert lane.backlog.buffer.rewind_if_needed(Phase.CLOSED)  # it is read again


def test_the_outcomes_of_a_lane_that_has_left_change_nothing_there() -> None:
    place, lane = a_lane()
    lane.leave()
    for done in (True, False):
        write(place, lane, a_due(seq=1), delivered(a_due(seq=1)), done=done)
    assert (place.context.counters.stale, place.context.counters.delivered) == (1, 0)
    assert not place.signals.renew.is_set()
    assert (lane.waiting(), place.work.changes) == (5, {})


@pytest.mark.parametrize("done", [True, False])
def test_after_a_resend_the_lane_is_loaded_again_and_has_no_other_delivery_less(
    *, done: bool
) -> None:
    place, lane = a_lane()
    due = a_due(seq=0, lane=lane.number, resend="r1")
    pending = place.send(lane, resend="r1")
    pending.done(OK)
    ((_, _, made),) = place.work.take_finished(10)
    lane.count_written()
    write(place, lane, due, made, done=done)
    assert list(place.work.to_load) == [lane.number]
    assert lane.waiting() == 5
    assert place.context.counters.delivered == 0


def test_a_retry_waits_in_the_store_for_its_due_time() -> None:
    place, lane = a_lane()
    due_at = place.now + 30
    write(place, lane, a_due(seq=1), postponed(a_due(seq=1), due_at))
    buffer = lane.backlog.buffer
    assert (buffer.next_due_at, buffer.next_at()) == (due_at, due_at)
    assert 1 not in buffer.busy
    assert not buffer.drained()
    assert not buffer.rewind_if_needed(Phase.CLOSED)  # it need not be read before it is due


@pytest.mark.parametrize(("at", "waits"), [(None, 0.0), (30.0, 30.0)])
def test_the_head_of_an_ordered_lane_waits_in_memory_for_its_due_time(
    at: float | None, waits: float
) -> None:
    place, lane = a_lane(fifo=True)
    due = a_due(seq=1, tries=2, attempts=1, stream=Stream.WAITING)
    made = put_back(due) if at is None else postponed(due, place.now + at)
    write(place, lane, due, made)
    buffer = lane.backlog.buffer
    assert buffer.next_at() == place.now + waits
    row = buffer.next(place.now + waits, Phase.CLOSED)
    assert row is not None
    assert (row.seq, row.tries, row.attempts, row.memory) == (1, 3, made.attempts, made.memory)
    assert row.stream is Stream.READY  # as the head it needs no room in the budget of retries


@pytest.mark.parametrize("fifo", [True, False])
def test_a_delivery_that_is_ready_and_not_in_memory_is_read_again(*, fifo: bool) -> None:
    place, lane = a_lane(fifo=fifo)
    turn = lane.backlog.buffer.rewinds
    due = a_due(seq=1, payload=None if fifo else b"{}")
    write(place, lane, due, put_back(due))
    buffer = lane.backlog.buffer
    assert (1 in buffer.busy, buffer.next_at()) == (False, math.inf)
    if not fifo:
        place.read(lane)
        assert buffer.rewind_if_needed(Phase.CLOSED)
    assert buffer.rewinds > turn


@pytest.mark.parametrize(("answer", "presses"), [(FAILS, True), (OK, False)])
def test_a_pace_goes_on_while_a_delivery_that_failed_at_it_is_to_be_sent_again(
    answer: Answer,
    presses: bool,  # noqa: FBT001  a parameter
) -> None:
    place, lane = a_lane(pace=PACED)
    lane.backlog.set_mark(5)
    place.read(lane)
    pending = place.send(lane)
    pending.done(answer)
    place.read(lane)
    assert bool(lane.backlog.pressing(0)) is presses  # while its outcome is being written
    ((_, due, made),) = place.work.take_finished(10)
    take_settlement(lane, due, made, done=True, now=place.now)
    next_at = lane.backlog.buffer.next_at()
    assert (place.now < next_at <= place.now + 1) is presses


def test_a_lane_at_work_reads_on_for_what_was_added_meanwhile_and_one_asleep_is_woken() -> None:
    place, lane = a_lane()
    place.send(lane)  # another one is in flight
    write(place, lane, a_due(seq=1), delivered(a_due(seq=1)))
    assert not lane.backlog.buffer.all_ready_read()
    place.read(lane)
    lane.backlog.fall_asleep()
    write(place, lane, a_due(seq=2), delivered(a_due(seq=2)))
    assert lane.backlog.buffer.all_ready_read()


@pytest.mark.parametrize(("pace", "reads_on"), [(WELL, False), (OPEN, True)])
def test_without_a_request_in_flight_only_a_lane_that_is_probed_reads_on(
    pace: Pace,
    reads_on: bool,  # noqa: FBT001  a parameter
) -> None:
    place, lane = a_lane(pace=pace)
    write(place, lane, a_due(seq=1), delivered(a_due(seq=1)))
    assert lane.backlog.buffer.all_ready_read() is not reads_on


def test_failures_are_saved_with_a_delivery_that_failed_for_good() -> None:
    place, lane = a_lane()
    place.send(lane).done(FAILS)
    place.outcomes()
    place.work.take_changes()
    write(place, lane, a_due(seq=1), failed(a_due(seq=1)))
    known = place.work.changes[lane.number][1].known
    assert known is not None
    assert known.failures == 1


def test_a_delivery_that_failed_for_good_is_told_to_the_owner_of_its_endpoint() -> None:
    place, lane = a_lane()
    made = failed(a_due(seq=1), reason=Reason.EXHAUSTED, state=State.FAILED)
    write(place, lane, a_due(seq=1), made)
    (notice,) = place.work.changes[lane.number][1].notices
    assert (notice.kind, notice.facts["message"]) == ("message.attempt.exhausted", "msg_sample")


@pytest.mark.parametrize(
    ("code", "moved", "state"),
    [
        (404, False, State.WAITING),
        (410, False, State.FAILED),
        (410, True, State.WAITING),
        (422, True, State.FAILED),
        (200, True, State.DELIVERED),
    ],
)
def test_an_endpoint_s_new_url_is_asked_for_what_the_old_one_did_not_want(
    code: int,
    moved: bool,  # noqa: FBT001  a parameter
    state: State,
) -> None:
    place, lane = a_lane()
    pending = place.send(lane)
    if moved:
        lane.endpoint = replace(lane.endpoint, url=f"{lane.endpoint.url}/v2")
    pending.done(status(code))
    ((_, _, made),) = place.work.take_finished(10)
    assert isinstance(made, Settlement)
    assert (made.state, made.epoch, made.seq) == (state, 1, pending.due.seq)


def test_what_is_refused_again_although_the_endpoint_takes_others_is_refused_for_good() -> None:
    place, lane = a_lane()
    place.send(lane, seq=1).done(status(404))
    place.now += 1
    place.send(lane).done(OK)
    place.now += 1
    place.outcomes()
    place.send(lane, seq=1, tries=1, attempts=1).done(status(404))
    (made,) = place.outcomes()
    assert isinstance(made, Settlement)
    assert (made.state, made.reason) == (State.FAILED, Reason.REFUSED)


def test_an_answer_lets_the_next_delivery_of_its_lane_go_before_the_outcome_is_written() -> None:
    place, lane = a_lane(concurrency=1)
    pending = place.send(lane)
    lane.backlog.buffer.rewind()
    place.read(lane, place.row(lane))
    lane.pump()
    assert place.outbox.requests == []
    pending.done(OK)
    assert len(place.outbox.requests) == 1
