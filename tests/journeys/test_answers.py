"""What each answer makes of a delivery, of the lane and of the endpoint."""

import asyncio
import math
from functools import partial
from itertools import pairwise

import pytest

from tarry.core.decide import decide
from tarry.core.outcome import Again, Failure, GiveUp, Kind
from tarry.core.progress import Progress
from tarry.core.text import from_json
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import AttemptFilter, Cut
from tarry.service.model.settings import DAY, HOUR, Limits
from tarry.service.store.kinds import (
    AllAttemptsOf,
    AttemptsTo,
    Endpoints,
    Messages,
    Notices,
    PolicyVersions,
)
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.shaky_store import slow
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    Script,
    VirtualService,
    status,
    takes_all_but,
    virtual_service,
)
from tests.journeys.seeds import seeded

SELDOM = Limits(lease=600, look=300, keep_up=600, watch=HOUR)
_UNKNOWN: float | None = None
BUSY = status(429, retry_after="90")
STEPS = (10, 30, 120, 600, 1800, 7200, 28_800, 86_400)


class Poison:
    """Answers so to one message, and takes all others."""

    def __init__(self, answer: Answer, after: Answer | None = None) -> None:
        self.message = ""
        self._answers = [answer, after or answer]

    def __call__(self, request: Request, _now: float) -> Answer:
        if dict(request.headers)["webhook-id"] != self.message:
            return OK
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def lively(service: VirtualService, poison: Poison, seconds: float, every: float) -> None:
    """Let time go by at an endpoint that takes other messages all the time."""
    (poison.message,) = await service.add()
    for _ in range(int(seconds / every)):
        await asyncio.sleep(every)
        await service.add()


async def instants(service: VirtualService, message: str) -> list[float]:
    return [attempt.at for attempt in await service.store.read(AllAttemptsOf(message))]


@virtually
async def test_a_message_that_always_fails_is_tried_nine_times_by_the_schedule() -> None:
    async with virtual_service(limits=SELDOM) as service:
        poison = Poison(status(500))
        endpoint = await service.add_endpoint("a.example", poison)
        await lively(service, poison, 1.5 * DAY + 12 * HOUR, every=180)
        tries = await instants(service, poison.message)
        assert len(tries) == 9
        waits = [later - at for at, later in pairwise(tries)]
        for wait, step in zip(waits, STEPS, strict=True):
            assert 0.8 * step <= wait <= 1.2 * step + 2
        delivery = await service.delivery(poison.message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXHAUSTED)
        assert delivery.attempts == 9
        notices = await service.store.read(Notices())
        kinds = ["message.attempt.failing", "message.attempt.exhausted"]
        assert [notice.kind for notice in notices] == kinds
        assert {notice.endpoint for notice in notices} == {endpoint.id}


@virtually
async def test_every_decision_can_be_made_again_from_what_was_recorded() -> None:
    async with virtual_service(limits=SELDOM) as service:
        poison = Poison(status(503, retry_after="45"), status(500))
        await service.add_endpoint("a.example", poison)
        (poison.message,) = await service.add()
        accepted_at = service.now()
        for _ in range(600):
            await asyncio.sleep(300)
            await service.add()
        counted, memory = 0, _UNKNOWN
        attempts = await service.store.read(AllAttemptsOf(poison.message))
        assert len(attempts) == 9
        for attempt in attempts:
            policy = from_json((await service.store.get(PolicyVersions(), attempt.policy)).document)
            counted += attempt.counted
            asked = 45.0 if attempt.status == 503 else None
            kind = Kind.TRANSIENT if asked is None else Kind.THROTTLED
            progress = Progress(counted, accepted_at, memory)
            made = decide(
                policy,
                progress,
                Failure(kind, asked),
                now=attempt.now,
                draw=partial(float, attempt.draw),
            )
            match made:
                case Again(delay):
                    memory = made.memory
                    assert attempt.decision == f"retry in {delay:.3f} s"
                case GiveUp(why):
                    assert attempt.decision == f"given up: {why}"
        assert attempts[-1].decision.startswith("given up")


@virtually
async def test_a_message_waits_no_longer_than_its_policy_allows() -> None:
    async with virtual_service(limits=SELDOM) as service:
        policy = '{"version": 1, "attempts": 9, "within": 100, "backoff": {"kind": "fixed", '
        policy += '"delay": 30}, "jitter": {"kind": "none"}}'
        poison = Poison(status(500))
        await service.add_endpoint("a.example", poison, policy=policy)
        await lively(service, poison, 300, every=5)
        delivery = await service.delivery(poison.message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.AGED)
        assert len(await instants(service, poison.message)) == 4


@pytest.mark.parametrize("code", [400, 413, 422])
@virtually
async def test_what_will_never_do_is_not_tried_again(code: int) -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", lambda _request, _now: status(code))
        (message,) = await service.add()
        await asyncio.sleep(60)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.REFUSED)
        assert len(service.sender.sent) == 1


@pytest.mark.parametrize("code", [401, 403, 404, 405])
@virtually
async def test_one_that_is_refused_while_others_are_taken_ends_after_a_second_try(
    code: int,
) -> None:
    async with virtual_service() as service:
        poison = Poison(status(code))
        endpoint = await service.add_endpoint("a.example", poison)
        await service.add()
        await lively(service, poison, 60, every=1)
        delivery = await service.delivery(poison.message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.REFUSED)
        assert len(await instants(service, poison.message)) == 2
        assert (await service.counts(endpoint))[State.DELIVERED] >= 60


@virtually
async def test_one_event_type_that_is_refused_stops_no_other() -> None:
    async with virtual_service() as service:
        refused: set[str] = set()
        script = takes_all_but(refused, status(404))
        endpoint = await service.add_endpoint("a.example", script)
        for _ in range(120):
            refused.update(await service.add(3, event_type="old.kind"))
            await asyncio.sleep(0.5)
            await service.add(1)
            await asyncio.sleep(0.5)
        await service.until_delivered(endpoint, within=120)
        assert await service.counts(endpoint) == {State.FAILED: 360, State.DELIVERED: 120}


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        (status(500), 0.2),
        (status(500), 0.5),
        (DOWN, 0.3),
        (Answer(15.0, failure=Kind.TIMEOUT), 0.2),
    ],
)
@virtually
async def test_one_event_type_that_always_fails_stops_no_other(
    answer: Answer, share: float
) -> None:
    chance = seeded(7)
    policy = '{"version": 1, "attempts": 50, "backoff": {"kind": "fixed", "delay": 5}}'
    async with virtual_service() as service:
        bad: set[str] = set()
        good: dict[str, float] = {}
        await service.add_endpoint("a.example", takes_all_but(bad, answer), policy=policy)
        await service.add(100, event_type="order.paid")
        await asyncio.sleep(1)
        for _ in range(900):
            fails = chance.random() < share
            (message,) = await service.add(event_type="order.lost" if fails else "order.paid")
            if fails:
                bad.add(message)
            else:
                good[message] = service.now()
            await asyncio.sleep(0.1)
        taken = {one.message: one.at for one in service.sender.sent if one.answer.status == 200}
        waits = sorted(taken.get(message, math.inf) - at for message, at in good.items())
        assert waits[-10] < 0.5


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(410), Reason.GONE),
        (status(200, webhook_delivery="disable"), Reason.GONE),
        (status(500, webhook_delivery="disable"), Reason.GONE),
    ],
)
@virtually
async def test_a_receiver_that_wants_nothing_more_is_disabled_and_its_owner_told(
    answer: Answer, reason: Reason
) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: answer)
        (message,) = await service.add()
        await asyncio.sleep(5)
        assert (await service.delivery(message)).reason is reason
        found = await service.store.get(Endpoints(service.application.id), endpoint.id)
        assert found.standing is Standing.DISABLED
        assert [notice.kind for notice in await service.store.read(Notices())] == [
            "endpoint.disabled"
        ]
        (later,) = await service.add()
        await asyncio.sleep(60)
        assert (await service.delivery(later)).state is State.SKIPPED
        assert len(service.sender.sent) == 1


@pytest.mark.parametrize("code", [200, 500])
@virtually
async def test_a_receiver_may_abort_a_single_message(code: int) -> None:
    async with virtual_service() as service:
        poison = Poison(status(code, webhook_delivery="abort-message"))
        endpoint = await service.add_endpoint("a.example", poison)
        await lively(service, poison, 10, every=1)
        delivery = await service.delivery(poison.message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.ABORTED)
        found = await service.store.get(Endpoints(service.application.id), endpoint.id)
        assert found.standing is Standing.ENABLED


@pytest.mark.parametrize("code", [301, 302, 307, 308])
@virtually
async def test_a_redirection_is_a_failure_and_is_tried_again(code: int) -> None:
    async with virtual_service() as service:
        poison = Poison(status(code), OK)
        await service.add_endpoint("a.example", poison)
        await lively(service, poison, 30, every=1)
        assert (await service.delivery(poison.message)).state is State.DELIVERED
        first, second = await instants(service, poison.message)
        assert 8 <= second - first <= 13


@virtually
async def test_too_many_requests_hold_the_whole_lane_for_as_long_as_was_asked() -> None:
    async with virtual_service() as service:
        began_at = service.now()

        def script(_request: Request, now: float) -> Answer:
            return status(429, retry_after="90") if now - began_at < 1 else OK

        endpoint = await service.add_endpoint("a.example", script)
        await service.add(5)
        await asyncio.sleep(2)
        held = len(service.sender.sent)
        for _ in range(80):
            await asyncio.sleep(1)
            await service.add()
        assert len(service.sender.sent) == held
        await service.until_delivered(endpoint, within=60)
        later = [sent.at - began_at for sent in service.sender.sent[held:]]
        assert min(later) >= 90
        assert await service.counts(endpoint) == {State.DELIVERED: 85}
        busy = AttemptFilter(status_class=400)
        found = (await service.store.page(AttemptsTo(endpoint, busy), Cut(limit=1000))).entries
        assert {attempt.status for attempt, _ in found} == {429}
        assert not any(attempt.counted for attempt, _ in found)


@virtually
async def test_too_many_without_a_wish_is_tried_again_after_a_moment_longer_each_time() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", lambda _request, _now: status(429))
        (message,) = await service.add()
        await asyncio.sleep(30)
        gaps = [later - at for at, later in pairwise(await instants(service, message))]
        assert len(gaps) >= 4
        assert gaps[0] >= 0.1
        assert min(gaps[3:]) >= 0.9


@virtually
async def test_too_many_without_a_wish_for_two_does_not_make_the_pace_start_over() -> None:
    async with virtual_service(through=slow(0.1)) as service:
        shedding = False
        await service.add_endpoint(
            "a.example", lambda _request, _now: status(429) if shedding else OK
        )
        await service.add(5)
        await asyncio.sleep(2)
        shedding = True
        await service.add(2)  # at times both are being settled, and none waits to be sent
        await asyncio.sleep(3)
        assert len(service.sender.sent) - 5 <= 9


@virtually
async def test_an_endpoint_that_sheds_what_is_too_much_is_found_its_pace() -> None:
    async with virtual_service() as service:
        room, looked_at = 10.0, service.now()

        def shed(_request: Request, now: float) -> Answer:
            nonlocal room, looked_at
            room, looked_at = min(10.0, room + 100 * (now - looked_at)), now
            if room < 1:
                return status(429)
            room -= 1
            return OK

        endpoint = await service.add_endpoint("a.example", shed)
        await service.add(1000)
        assert await service.until_delivered(endpoint, within=60) < 1.5 * 10
        assert len(service.sender.sent) < 1.2 * 1000


@pytest.mark.parametrize("many", [1, 2, 50])
@virtually
async def test_a_wait_after_too_many_is_kept_over_a_restart(many: int) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, now: OK if now > began_at + 90 else BUSY
        )
        began_at = service.now()
        await service.add(many)
        for _ in range(4):
            await asyncio.sleep(10)
            await service.stop()
            await service.start()
        assert {sent.at for sent in service.sender.sent} == {began_at}
        await service.until_delivered(endpoint, within=120)


@virtually
async def test_one_that_was_too_many_says_until_when_it_waits() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", lambda _r, _n: BUSY)
        (message,) = await service.add()
        await asyncio.sleep(1)
        waiting = await service.delivery(message)
        assert (waiting.state, waiting.reason) == (State.WAITING, Reason.RETRY_AFTER)
        assert waiting.due_at is not None
        assert 89 <= waiting.due_at - service.now() <= 99


@virtually
async def test_unavailable_with_a_wish_is_a_floor_for_that_delivery_alone() -> None:
    async with virtual_service() as service:
        poison = Poison(status(503, retry_after="60"), OK)
        endpoint = await service.add_endpoint("a.example", poison)
        await service.add(3)
        await asyncio.sleep(1)
        await lively(service, poison, 50, every=1)
        assert (await service.counts(endpoint))[State.DELIVERED] >= 50
        waiting = await service.delivery(poison.message)
        assert (waiting.state, waiting.reason) == (State.WAITING, Reason.RETRY_AFTER)
        await asyncio.sleep(120)
        first, second = await instants(service, poison.message)
        assert second - first >= 60


@pytest.mark.parametrize(("code", "wish"), [(503, "86400"), (503, "999999999999"), (429, "172800")])
@virtually
async def test_nobody_asks_for_more_than_an_hour_and_nothing_is_given_up_for_it(
    code: int, wish: str
) -> None:
    async with virtual_service(limits=SELDOM) as service:
        began_at = service.now()

        def script(_request: Request, now: float) -> Answer:
            return status(code, retry_after=wish) if now - began_at < 1 else OK

        endpoint = await service.add_endpoint("a.example", script)
        (message,) = await service.add()
        await service.until_delivered(endpoint, within=2 * HOUR)
        first, second = await instants(service, message)
        assert HOUR <= second - first <= 1.6 * HOUR


@virtually
async def test_an_expunged_message_ends_when_its_turn_comes() -> None:
    async with virtual_service() as service:
        poison = Poison(status(500))
        endpoint = await service.add_endpoint("a.example", poison)
        (poison.message,) = await service.add()
        await asyncio.sleep(1)
        await service.store.expunge(Messages(service.application.id), poison.message)
        await service.store.resend(endpoint, poison.message, resend="r1")
        await asyncio.sleep(30)
        delivery = await service.delivery(poison.message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXPUNGED)
        assert len(service.sender.sent) == 1
        (message,) = await service.add()
        await asyncio.sleep(1)
        assert (await service.delivery(message)).state is State.DELIVERED


@virtually
async def test_a_cancelled_message_is_not_sent_any_more() -> None:
    async with virtual_service() as service:
        poison = Poison(status(500))
        for fifo in (False, True):
            await service.add_endpoint(f"{fifo}.example".lower(), poison, fifo=fifo)
        (poison.message,) = await service.add()
        await asyncio.sleep(1)
        sent = len(service.sender.sent)
        cancelled = await service.store.cancel(
            service.application.id, poison.message, now=service.now()
        )
        assert cancelled == 2
        await asyncio.sleep(60)
        assert len(service.sender.sent) == sent == 2


@virtually
async def test_what_is_scheduled_goes_when_it_is_time_and_much_of_it_at_once() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(500, deliver_at=service.now() + HOUR)
        await asyncio.sleep(HOUR - 1)
        assert service.sender.sent == []
        assert await service.until_delivered(endpoint, within=30) < 5


def always(answer: Answer) -> Script:
    return lambda _request, _now: answer


@virtually
async def test_an_endpoint_that_may_not_be_called_waits_for_its_owner_to_mend_it() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("10.1.2.3", always(OK))
        (message,) = await service.add()
        await asyncio.sleep(120)
        assert service.sender.sent == []
        delivery = await service.delivery(message)
        assert delivery.state in {State.READY, State.WAITING}
        found = await service.store.read(AllAttemptsOf(message))
        assert {attempt.kind for attempt in found} == {Kind.BLOCKED}
        await service.move(endpoint, "https://a.example/in")
        await service.until_delivered(endpoint, within=120)
