"""The request of an attempt, the attempt in the air, and what is written down of it."""

import pytest

from tarry.core.outcome import Kind
from tarry.core.pace import Pace
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.service.dispatch.lane.config import LaneConfig, version_of
from tarry.service.dispatch.lane.pending_attempt import PendingAttempt, settlement
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.outcomes.judge import Judgement, Ruling, Verdict
from tarry.service.model.attempt import Attempt, Settlement, Trigger
from tarry.service.model.delivery import ENDED, LIVE, Reason, State
from tarry.service.model.settings import DELIVERY, Limits
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import NOON, a_due, an_attempt, new_message
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, status, virtual_service

# --- The request --------------------------------------------------------------------------------


@virtually
async def test_a_message_is_sent_as_what_it_is() -> None:
    kinds: list[str] = []

    def answers(request: Request, _now: float) -> Answer:
        kinds.append(dict(request.target.headers).get("content-type", ""))
        return OK

    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", answers)
        told = [None, "text/xml", None]
        await service.store.add([new_message(service.application, content_type=t) for t in told])
        await service.until_delivered(endpoint, within=5)
        assert sorted(kinds) == ["", "", "text/xml"]


@virtually
async def test_a_request_says_which_attempt_it_is_and_how_long_it_may_take() -> None:
    requests: list[Request] = []

    def answers(request: Request, _now: float) -> Answer:
        requests.append(request)
        return OK if len(requests) == 3 else status(500)

    async with virtual_service(limits=Limits(connect_timeout=2.0)) as service:
        policy = to_json(Policy(attempt_timeout=7))
        endpoint = await service.add_endpoint("a.example", answers, policy=policy)
        await service.add()
        await service.until_delivered(endpoint, within=300)
    assert [dict(one.headers)["webhook-attempt"] for one in requests] == ["1", "2", "3"]
    assert {(one.timeout, one.connect_timeout) for one in requests} == {(7.0, 2.0)}


# --- The attempt in the air ---------------------------------------------------------------------

DOCUMENT = to_json(DELIVERY)
CONFIG = LaneConfig(DELIVERY, DOCUMENT, version_of(DOCUMENT), "https://hooks.example:443", 15.0)
DUE = a_due(lane=7, seq=3, message="msg_1", tries=4, attempts=2, memory=1.5)
WAITS = Ruling(
    State.WAITING, Reason.BACKOFF, 3, due_at=NOON + 30, memory=2.5, decision="retry in 30.000 s"
)


class Ground:
    """Remembers who landed."""

    def __init__(self) -> None:
        self.landed: list[tuple[PendingAttempt, Answer]] = []

    def answered(self, flight: PendingAttempt, answer: Answer) -> None:
        self.landed.append((flight, answer))


def a_flight(*, resend: str = "") -> PendingAttempt:
    due = a_due(lane=7, message="msg_1", tries=4, resend=resend)
    gate = Gate(Pace(), lambda: 0.5)
    return PendingAttempt(Ground(), due, gate, 0, NOON, CONFIG, "https://hooks.example/in")


def recorded(answer: Answer, judgement: Judgement, ruling: Ruling | None) -> Attempt:
    return a_flight().attempt(answer, judgement, ruling, id="atmpt_1", now=NOON + 0.3, draw=0.4)


def test_an_answer_lands_where_the_flight_began() -> None:
    ground, answer = Ground(), Answer(0.1, status=200)
    flight = PendingAttempt(
        ground, DUE, Gate(Pace(), lambda: 0.5), 9, NOON, CONFIG, "https://h.example"
    )
    flight.done(answer)
    assert ground.landed == [(flight, answer)]


def test_an_attempt_is_recorded_with_all_that_its_decision_came_from() -> None:
    answer = Answer(0.25, status=503, body=b"busy", detail="in words")
    failed = Judgement(Verdict.FAILED, Kind.TRANSIENT)
    assert recorded(answer, failed, WAITS) == Attempt(
        id="atmpt_1",
        lane=7,
        message="msg_1",
        number=5,
        at=NOON,
        took=0.25,
        url="https://hooks.example/in",
        status=503,
        kind="transient",
        detail="in words",
        body=b"busy",
        trigger=Trigger.SCHEDULED,
        counted=True,
        policy=version_of(DOCUMENT),
        now=NOON + 0.3,
        draw=0.4,
        decision="retry in 30.000 s",
    )


def test_a_success_is_recorded_without_a_kind_of_failure() -> None:
    taken = Ruling(State.DELIVERED, Reason.DELIVERED, 3, decision="delivered")
    found = recorded(Answer(0.1, status=204), Judgement(Verdict.TAKEN), taken)
    assert (found.status, found.kind, found.counted) == (204, None, True)


def test_what_cost_the_delivery_nothing_is_recorded_so() -> None:
    kept = Ruling(State.READY, Reason.LANE_OPEN, 2, counted=False, decision="open")
    found = recorded(Answer(0.1, failure=Kind.DNS), Judgement(Verdict.FAILED, Kind.DNS), kept)
    assert (found.counted, found.kind, found.status) == (False, "dns", None)


def test_one_that_somebody_asked_for_is_ruled_on_by_nobody() -> None:
    flight = a_flight(resend="resend_1")
    judgement = Judgement(Verdict.TAKEN)
    found = flight.attempt(Answer(0.1, 200), judgement, None, id="atmpt_1", now=NOON, draw=0.0)
    assert (found.trigger, found.counted, found.decision) == (Trigger.MANUAL, False, "")


def test_a_settlement_says_what_was_ruled_and_is_fenced_by_the_message_and_the_tries_before() -> (
    None
):
    attempt = an_attempt(DUE)
    assert settlement(DUE, WAITS, attempt, epoch=6, now=NOON) == Settlement(
        lane=7,
        epoch=6,
        seq=3,
        message=DUE.message,
        tries=4,
        state=State.WAITING,
        reason=Reason.BACKOFF,
        attempts=3,
        due_at=NOON + 30,
        memory=2.5,
        ended_at=None,
        attempt=attempt,
    )


@pytest.mark.parametrize("state", State)
def test_a_settlement_has_an_end_if_the_delivery_has_one(state: State) -> None:
    found = settlement(DUE, Ruling(state, Reason.REFUSED, 3), None, epoch=6, now=NOON)
    assert found.ended_at == (NOON if state in ENDED else None)
    assert (found.ended_at is None) is (state in LIVE)
    assert found.attempt is None
