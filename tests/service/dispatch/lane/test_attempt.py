"""The config of a lane, the request of an attempt, its flight, and what is written down of it."""

import msgspec
import pytest
from msgspec.structs import replace

from tarry.core.outcome import Kind
from tarry.core.pace import Pace
from tarry.core.policy import Policy
from tarry.core.text import from_json, to_json
from tarry.receive.verify import Verifier
from tarry.service.dispatch.lane.attempt import (
    LaneConfig,
    PendingAttempt,
    WrittenPolicy,
    config,
    settlement,
)
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.outcomes.judge import Judgement, Ruling, Verdict
from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt, Settlement, Trigger
from tarry.service.model.delivery import ENDED, LIVE, Reason, State
from tarry.service.model.endpoint import Endpoint, Secret
from tarry.service.model.lane import LaneRow
from tarry.service.model.settings import DELIVERY, Limits
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import TIMEOUT, Answer, Request
from tarry.service.wire.seal import Seals, generate_key, place
from tarry.testing.samples import NOON, a_due, an_application, an_attempt, an_endpoint, new_message
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, status, virtual_service
from tests.service.dispatch.origins.place import Place

# --- The config ---------------------------------------------------------------------------------

SEALS = Seals.of(generate_key("test"))
SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"  # noqa: S105  made up
APPLICATION = an_application()
FALLBACK = WrittenPolicy.of(DELIVERY)


def secret(endpoint: Endpoint, text: str, expires_at: float | None = None) -> Secret:
    return Secret(SEALS.seal(text.encode(), place(endpoint, "secret")), expires_at)


def with_secret(**values: object) -> Endpoint:
    endpoint = an_endpoint(APPLICATION, lane=7, **values)
    return replace(endpoint, secrets=(secret(endpoint, SECRET),))


def fitted(
    endpoint: Endpoint,
    *,
    application: Application = APPLICATION,
    environment: str | None = None,
    seals: Seals = SEALS,
) -> LaneConfig:
    row = LaneRow(endpoint=endpoint, application=application, policy=environment)
    return config(row, seals=seals, egress=Egress.of(), fallback=FALLBACK)


def named(name: str) -> str:
    return to_json(Policy(name=name))


def test_an_endpoint_is_called_where_its_url_says_with_its_owner_s_headers() -> None:
    endpoint = with_secret(url="https://Hooks.example:8443/in?a=1")
    headers = msgspec.json.encode([("x-team", "billing")])
    sealed = replace(endpoint, headers=SEALS.seal(headers, place(endpoint, "headers")))
    found = fitted(sealed)
    assert found.target is not None
    assert found.target.origin == ("https", "hooks.example", 8443)
    assert found.target.path == "/in?a=1"
    assert found.target.headers == (("x-team", "billing"),)
    assert found.target.owner == endpoint.application
    assert found.origin == "https://hooks.example:8443"


def test_a_port_that_goes_without_saying_is_part_of_the_origin_all_the_same() -> None:
    spelled = fitted(with_secret(url="https://hooks.example:443/other"))
    assert fitted(with_secret()).origin == spelled.origin == "https://hooks.example:443"


def test_messages_are_signed_with_the_endpoint_s_secret() -> None:
    found = fitted(with_secret())
    headers = dict(found.signer.headers("msg_1", 1, b"{}", now=NOON))
    assert Verifier.of(SECRET).verify(b"{}", headers, now=NOON).id == "msg_1"


@pytest.mark.parametrize(
    ("own", "applications", "environments", "name"),
    [
        (None, None, None, "delivery"),
        (None, None, "environment", "environment"),
        (None, "application", "environment", "application"),
        ("endpoint", "application", "environment", "endpoint"),
        ("endpoint", None, None, "endpoint"),
    ],
)
def test_the_nearest_policy_counts(
    own: str | None, applications: str | None, environments: str | None, name: str
) -> None:
    documents = [None if one is None else named(one) for one in (own, applications, environments)]
    found = fitted(
        with_secret(policy=documents[0]),
        application=an_application(policy=documents[1]),
        environment=documents[2],
    )
    assert found.policy.name == name
    assert from_json(found.written.document) == found.policy
    assert found.written == WrittenPolicy.of(found.policy)


def test_two_policies_have_the_same_version_if_they_say_the_same() -> None:
    spaced = named("a").replace(":", " : ")
    written = [fitted(with_secret(policy=one)).written for one in (named("a"), spaced, named("b"))]
    versions = [one.version for one in written]
    assert versions[0] == versions[1] != versions[2]


def test_an_attempt_takes_as_long_as_the_policy_says_or_as_usual() -> None:
    hurried = to_json(Policy(attempt_timeout=3))
    patient = to_json(Policy())
    assert fitted(with_secret(policy=hurried)).timeout == 3
    assert fitted(with_secret(policy=patient)).timeout == TIMEOUT


def test_an_address_that_is_not_allowed_says_by_which_rule_and_not_which_address() -> None:
    found = fitted(with_secret(url="https://127.0.0.1/in"))
    assert (found.target, found.secrets) == (None, ())
    assert (found.refused.failure, found.refused.took) == (Kind.BLOCKED, 0.0)
    assert found.refused.detail
    assert "127.0.0.1" not in found.refused.detail


@pytest.mark.parametrize("url", ["ftp://hooks.example/in", "nonsense", "https://"])
def test_a_url_that_cannot_be_called_is_refused_with_its_reason(url: str) -> None:
    found = fitted(with_secret(url=url))
    assert found.target is None
    assert found.refused.failure in {Kind.BLOCKED, Kind.REFUSED}
    assert found.refused.detail
    assert found.origin == url


def test_a_policy_that_cannot_be_read_stops_the_endpoint_and_says_why() -> None:
    found = fitted(with_secret(policy='{"attempts": -1}'))
    assert (found.target, found.refused.failure) == (None, Kind.REFUSED)
    assert found.refused.detail
    assert found.policy == DELIVERY
    assert found.refused.took == 0.0  # no request was made


def test_secrets_that_do_not_open_stop_the_endpoint(caplog: pytest.LogCaptureFixture) -> None:
    found = fitted(with_secret(), seals=Seals.of(generate_key("other")))
    assert (found.target, found.secrets, found.refused.failure) == (None, (), Kind.REFUSED)
    assert found.refused.took == 0.0
    assert found.refused.detail == "its headers or signing secrets cannot be opened"
    assert "sealed with the key 'test'; the keys given are other" in caplog.text


def test_an_endpoint_without_a_secret_cannot_be_signed_for() -> None:
    found = fitted(an_endpoint(APPLICATION))
    assert (found.target, found.refused.failure) == (None, Kind.REFUSED)


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

CONFIG = LaneConfig(FALLBACK, "https://hooks.example:443", 15.0)
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
    group = Place().level("app_1")
    return PendingAttempt(Ground(), due, gate, group, 0, NOON, CONFIG, "https://hooks.example/in")


def recorded(answer: Answer, judgement: Judgement, ruling: Ruling | None) -> Attempt:
    return a_flight().attempt(answer, judgement, ruling, id="atmpt_1", now=NOON + 0.3, draw=0.4)


def test_an_answer_lands_where_the_flight_began() -> None:
    ground, answer = Ground(), Answer(0.1, status=200)
    group = Place().level("app_1")
    flight = PendingAttempt(ground, DUE, group.gate, group, 9, NOON, CONFIG, "https://h.example")
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
        policy=FALLBACK.version,
        now=NOON + 0.3,
        draw=0.4,
        decision="retry in 30.000 s",
    )


def test_a_success_is_recorded_without_a_kind_of_failure() -> None:
    taken = Ruling(State.DELIVERED, Reason.DELIVERED, 3, decision="delivered")
    found = recorded(Answer(0.1, status=204), Judgement(Verdict.ACCEPTED), taken)
    assert (found.status, found.kind, found.counted) == (204, None, True)


def test_what_cost_the_delivery_nothing_is_recorded_so() -> None:
    kept = Ruling(State.READY, Reason.LANE_OPEN, 2, counted=False, decision="open")
    found = recorded(Answer(0.1, failure=Kind.DNS), Judgement(Verdict.FAILED, Kind.DNS), kept)
    assert (found.counted, found.kind, found.status) == (False, "dns", None)


def test_one_that_somebody_asked_for_is_ruled_on_by_nobody() -> None:
    flight = a_flight(resend="resend_1")
    judgement = Judgement(Verdict.ACCEPTED)
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
