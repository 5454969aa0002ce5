import pytest
from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.allowance import RETRY_RULE
from tarry.service.explain import (
    IN_LINE,
    OVERDUE,
    SENDING_TIME,
    PaceScope,
    explain,
    never_meant,
    origins_of,
    outlook,
    waits,
)
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due, Known, LaneRow, Stream
from tarry.service.wire.exchange import TIMEOUT
from tarry.testing.samples import NOON, a_message, an_application, an_attempt, an_endpoint

OPEN = b'{"phase":"open","probe_at":1800000060.0}'
PACED = b'{"phase":"paced","rate":120.0}'
CLOSED = b'{"phase":"closed"}'
LATE = OVERDUE + TIMEOUT
HELD = b'{"phase":"paced","rate":120.0,"held_until":1800000600.0}'


def whole(pace: bytes) -> list[bytes]:
    """The records of an origin that is like this, with nothing of the application alone."""
    return [pace, b""]


def of_application(pace: bytes) -> list[bytes]:
    """The records of an origin at which one application is like this."""
    return [b"", pace]


def a_row(pace: bytes = CLOSED, **values: object) -> LaneRow:
    application = an_application()
    endpoint = an_endpoint(application, lane=7, **values)
    known = Known(pace=pace, origin="https://hooks.example:443")
    return LaneRow(endpoint=endpoint, application=application, known=known, added=12, ended=2)


def a_delivery(
    state: State = State.READY, reason: Reason = Reason.NEW, due_at: float | None = None
) -> Delivery:
    return Delivery(
        lane=7, seq=1, message="msg_1", state=state, reason=reason, accepted_at=NOON, due_at=due_at
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (a_row(standing=Standing.PAUSED), Reason.PAUSED),
        (a_row(standing=Standing.DISABLED), Reason.DISABLED),
        (a_row(standing=Standing.PARKED), Reason.DISABLED),
        (a_row(standing=Standing.DELETED), Reason.DISCARDED),
        (a_row(OPEN), Reason.LANE_OPEN),
        (a_row(PACED), Reason.PACE),
        (a_row(PACED, rate=200.0), Reason.PACE),
        (a_row(PACED, rate=5.0), Reason.RATE),
        (a_row(PACED, fifo=True), Reason.FIFO),
        (a_row(HELD), Reason.RETRY_AFTER),
        (a_row(HELD, fifo=True), Reason.RETRY_AFTER),
        (a_row(fifo=True), Reason.FIFO),
        (a_row(rate=5.0), Reason.RATE),
        (a_row(concurrency=2), Reason.CONCURRENCY),
        (a_row(), Reason.NEW),
        (a_row(b""), Reason.NEW),
    ],
)
def test_a_ready_delivery_waits_for_what_its_lane_waits_for(row: LaneRow, reason: Reason) -> None:
    assert explain(a_delivery(), row, [], now=NOON).reason is reason


@pytest.mark.parametrize(
    ("row", "late", "said"),
    [
        (a_row(), LATE, True),
        (a_row(), LATE - 1, False),
        (a_row(policy='{"attempt_timeout": 60}'), LATE, False),
        (a_row(policy='{"attempt_timeout": 60}'), OVERDUE + 60, True),
        (a_row(policy='{"attempt_timeout": "never"}'), LATE, True),
        (a_row(OPEN), LATE, False),
        (a_row(rate=5.0), LATE, False),
        (a_row(standing=Standing.PAUSED), LATE, False),
    ],
)
def test_a_delivery_that_nothing_holds_back_and_that_was_not_sent_is_called_overdue(
    row: LaneRow, late: float, *, said: bool
) -> None:
    found = explain(a_delivery(), row, [], now=NOON + late)
    assert found.overdue is said
    assert any("It is overdue" in sentence for sentence in found.sentences) is said


def test_a_delivery_behind_slow_requests_is_not_overdue_while_they_end() -> None:
    """A receiver that needs 12 s for each request gets no more of them than it can have."""
    hour = NOON + 3600
    found = explain(a_delivery(), a_row(), [], now=hour, attempted_at=hour - LATE + 1)
    assert not found.overdue
    assert "It is in flight, or is sent when a request before it ends" in found.sentences[1]
    assert "the last ended at 2027-01-15T08:59:16" in found.sentences[1]
    assert explain(a_delivery(), a_row(), [], now=hour, attempted_at=hour - LATE).overdue


def test_a_delivery_that_was_sent_just_now_says_nothing_of_requests_before_it() -> None:
    assert len(explain(a_delivery(), a_row(), [], now=NOON + IN_LINE - 1).sentences) == 1
    waiting = explain(a_delivery(), a_row(), [], now=NOON + IN_LINE)
    assert "none has ended so far" in waiting.sentences[1]
    assert len(explain(a_delivery(), a_row(OPEN), [], now=NOON + IN_LINE).sentences) == 1


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"created_at": NOON + 1}, "the endpoint was created after the message was sent"),
        ({"event_types": ("a.b", "c")}, "the endpoint only accepts the event types a.b, c"),
        ({"channels": ("eu",)}, "the endpoint only accepts the channels eu"),
        ({}, "the endpoint did not accept its event type or channels"),
    ],
)
def test_why_a_message_was_never_meant_for_an_endpoint_is_told(
    settings: dict[str, object], why: str
) -> None:
    application = an_application()
    endpoint = an_endpoint(application, **{"created_at": NOON, **settings})
    assert never_meant(a_message(application, channels=("us",)), endpoint).startswith(why)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (a_row(), Reason.BUDGET),
        (a_row(fifo=True), Reason.FIFO),
        (a_row(rate=5.0), Reason.RATE),
        (a_row(concurrency=2), Reason.CONCURRENCY),
        (a_row(OPEN), Reason.LANE_OPEN),
    ],
)
def test_a_delivery_whose_time_has_passed_waits_for_what_its_lane_waits_for(
    row: LaneRow, reason: Reason
) -> None:
    delivery = replace(a_delivery(State.WAITING, Reason.BACKOFF, due_at=NOON), attempts=1)
    assert waits(delivery, row, now=NOON + SENDING_TIME - 0.1)[0] in {
        Reason.BACKOFF,
        Reason.LANE_OPEN,
    }
    assert waits(delivery, row, now=NOON + SENDING_TIME)[0] is reason


def test_only_retries_wait_for_the_retry_budget() -> None:
    """The first attempt of a scheduled delivery does not."""
    delivery = a_delivery(State.WAITING, Reason.SCHEDULED, due_at=NOON)
    assert waits(delivery, a_row(), now=NOON + SENDING_TIME)[0] is Reason.NEW


def test_a_retry_is_overdue_once_the_budget_has_room_for_all_deliveries_of_the_lane() -> None:
    """Otherwise a retry that no worker sends would wait for the budget for ever."""
    row = a_row()
    delivery = replace(a_delivery(State.WAITING, Reason.BACKOFF, due_at=NOON), attempts=1)
    longest = RETRY_RULE.window * (1 + row.waiting / RETRY_RULE.bootstrap)
    assert waits(delivery, row, now=NOON + longest)[0] is Reason.BUDGET
    assert not explain(delivery, row, [], now=NOON + longest).overdue
    late = NOON + max(longest, LATE) + 1
    assert waits(delivery, row, now=late)[0] is Reason.NEW
    assert explain(delivery, row, [], now=late).overdue


def test_a_delivery_is_late_from_its_due_time_on_and_not_from_its_acceptance() -> None:
    delivery = a_delivery(State.WAITING, Reason.RETRY_AFTER, due_at=NOON + 600)
    assert not explain(delivery, a_row(), [], now=NOON + 600 + SENDING_TIME).overdue
    found = explain(delivery, a_row(), [], now=NOON + 600 + LATE)
    assert "was sent nothing for 45 s" in found.sentences[1]


def test_in_a_recovering_lane_a_delivery_whose_time_has_passed_goes_at_the_pace() -> None:
    """The retry budget applies to healthy lanes only."""
    delivery = replace(a_delivery(State.WAITING, Reason.BACKOFF, due_at=NOON), attempts=1)
    assert waits(delivery, a_row(PACED), now=NOON + SENDING_TIME)[0] is Reason.PACE
    assert waits(delivery, a_row(PACED, fifo=True), now=NOON + SENDING_TIME)[0] is Reason.FIFO


def test_the_only_delivery_of_an_ordered_endpoint_does_not_wait_for_an_earlier_one() -> None:
    only = replace(a_row(fifo=True), ended=11)
    assert waits(a_delivery(), only, now=NOON)[0] is Reason.NEW
    assert explain(a_delivery(), only, [], now=NOON + LATE).overdue
    recovering = replace(a_row(PACED, fifo=True), ended=11)
    assert waits(a_delivery(), recovering, now=NOON)[0] is Reason.PACE


def test_a_waiting_delivery_says_its_own_reason_and_when() -> None:
    delivery = a_delivery(State.WAITING, Reason.BACKOFF, due_at=NOON + 30)

    found = explain(delivery, a_row(), [], now=NOON)

    assert (found.reason, found.next_at) == (Reason.BACKOFF, NOON + 30)
    (only,) = found.sentences
    assert only == (
        "Waiting: backoff. The last attempt failed, and the retry policy sets the time of the next"
        " one. Next attempt at 2027-01-15T08:00:30.000+00:00."
    )


@pytest.mark.parametrize(
    ("due_at", "reason", "next_at"),
    [
        (NOON + 3600, Reason.SCHEDULED, NOON + 3600),
        (NOON + 30, Reason.LANE_OPEN, NOON + 60),
    ],
)
def test_what_is_for_later_waits_for_its_time_also_in_an_open_lane(
    due_at: float, reason: Reason, next_at: float
) -> None:
    delivery = a_delivery(State.WAITING, Reason.SCHEDULED, due_at=due_at)
    assert waits(delivery, a_row(OPEN), now=NOON) == (reason, next_at)


def test_an_open_lane_counts_more_than_the_delivery_s_own_wait() -> None:
    delivery = a_delivery(State.WAITING, Reason.BACKOFF, due_at=NOON + 30)

    found = explain(delivery, a_row(OPEN), [], now=NOON)

    assert (found.reason, found.next_at) == (Reason.LANE_OPEN, NOON + 60)
    assert found.sentences[0] == (
        "Waiting: endpoint down. Only probes are sent until one succeeds. The outage does not use"
        " up attempts. 10 deliveries are waiting. Next probe at 2027-01-15T08:01:00.000+00:00."
    )


@pytest.mark.parametrize(
    ("due_at", "reason", "next_at"),
    [
        (None, Reason.RETRY_AFTER, NOON + 600),
        (NOON + 30, Reason.RETRY_AFTER, NOON + 600),
        (NOON + 900, Reason.BACKOFF, NOON + 900),
    ],
)
def test_nothing_goes_before_the_endpoint_wants_something_again(
    due_at: float | None, reason: Reason, next_at: float
) -> None:
    state = State.READY if due_at is None else State.WAITING
    delivery = a_delivery(state, Reason.NEW if due_at is None else Reason.BACKOFF, due_at)

    found = explain(delivery, a_row(HELD), [], now=NOON)

    assert (found.reason, found.next_at) == (reason, next_at)
    assert explain(a_delivery(), a_row(HELD), [], now=NOON + 601).reason is Reason.PACE


def test_no_probe_goes_before_the_endpoint_wants_something_again() -> None:
    held = b'{"phase":"open","probe_at":1800000060.0,"held_until":1800000600.0}'
    assert waits(a_delivery(), a_row(held), now=NOON) == (Reason.LANE_OPEN, NOON + 600)
    assert waits(a_delivery(), a_row(HELD), now=NOON, origins=whole(OPEN))[1] == NOON + 600
    assert waits(a_delivery(), a_row(), now=NOON, origins=whole(held))[1] == NOON + 600
    assert outlook(a_row(held), now=NOON).probe_at == NOON + 600


def test_an_origin_in_trouble_counts_more_than_the_lane() -> None:
    assert (
        explain(a_delivery(), a_row(), [], now=NOON, origins=whole(OPEN)).reason is Reason.LANE_OPEN
    )
    assert explain(a_delivery(), a_row(), [], now=NOON, origins=whole(PACED)).reason is Reason.PACE
    assert (
        explain(a_delivery(), a_row(OPEN), [], now=NOON, origins=whole(CLOSED)).reason
        is Reason.LANE_OPEN
    )


HELD_BY_LANE = [Reason.LANE_OPEN, Reason.PACE, Reason.RETRY_AFTER]
"""The reasons with which the dispatcher keeps a delivery because of its lane."""


@pytest.mark.parametrize("kept", HELD_BY_LANE)
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (a_row(), Reason.NEW),
        (a_row(fifo=True), Reason.FIFO),
        (a_row(rate=5.0), Reason.RATE),
        (a_row(concurrency=2), Reason.CONCURRENCY),
        (a_row(OPEN), Reason.LANE_OPEN),
        (a_row(PACED), Reason.PACE),
        (a_row(HELD), Reason.RETRY_AFTER),
    ],
)
def test_a_delivery_that_its_lane_held_waits_for_what_holds_the_lane_now(
    kept: Reason, row: LaneRow, reason: Reason
) -> None:
    """The endpoint is not down any more only because a delivery failed while it was."""
    assert waits(a_delivery(State.READY, kept), row, now=NOON)[0] is reason


@pytest.mark.parametrize("kept", HELD_BY_LANE)
def test_a_delivery_that_its_lane_does_not_hold_any_more_is_overdue_in_the_end(
    kept: Reason,
) -> None:
    delivery = a_delivery(State.READY, kept)
    assert not explain(delivery, a_row(), [], now=NOON + LATE - 1).overdue
    assert explain(delivery, a_row(), [], now=NOON + LATE).overdue
    assert not explain(delivery, a_row(OPEN), [], now=NOON + LATE).overdue


def test_a_replayed_delivery_says_so_unless_a_limit_holds_it() -> None:
    delivery = a_delivery(State.READY, Reason.REPLAYED)
    assert waits(delivery, a_row(), now=NOON)[0] is Reason.REPLAYED
    assert waits(delivery, a_row(rate=5.0), now=NOON)[0] is Reason.RATE


def test_what_ended_says_how_and_tells_every_attempt() -> None:
    due = Due(
        lane=7,
        seq=1,
        stream=Stream.READY,
        message="msg_1",
        event_type="a",
        payload=b"{}",
        accepted_at=NOON,
    )
    first = an_attempt(due, at=NOON, status=500, detail="", decision="retry in 9.500 s")
    second = an_attempt(
        due, number=2, at=NOON + 9.5, status=None, kind="timeout", detail="15 s", counted=False
    )

    found = explain(a_delivery(State.FAILED, Reason.EXHAUSTED), a_row(), [first, second], now=NOON)

    assert found.reason is Reason.EXHAUSTED
    assert found.sentences[0] == (
        "Failed: all attempts used up. Its policy allows no more attempts."
    )
    assert "500; counted; retry in 9.500 s." in found.sentences[1]
    assert "timeout (15 s); not counted" in found.sentences[2]


def test_attempts_that_were_given_back_are_told() -> None:
    """Each attempt is recorded as it was judged then; an outage is found only after some fail."""
    due = Due(
        lane=7,
        seq=1,
        stream=Stream.READY,
        message="msg_1",
        event_type="a",
        payload=b"{}",
        accepted_at=NOON,
    )
    failed = [an_attempt(due, number=number, at=NOON, status=500) for number in (1, 2)]
    given_back = replace(a_delivery(State.READY, Reason.LANE_OPEN), attempts=1)
    *_, last = explain(given_back, a_row(OPEN), failed, now=NOON).sentences
    assert last.startswith("Attempts that still count: 1.")
    kept = replace(given_back, attempts=2)
    *_, last = explain(kept, a_row(OPEN), failed, now=NOON).sentences
    assert "500" in last


def test_what_ended_well_does_not_say_it_twice() -> None:
    found = explain(a_delivery(State.DELIVERED, Reason.DELIVERED), a_row(), [], now=NOON)

    assert found.sentences == ("Delivered.",)


def test_a_lane_at_a_pace_will_be_done_at_some_time() -> None:
    ahead = outlook(a_row(b'{"phase":"paced","rate":2.0,"capacity":5.0}'), now=NOON)
    assert (ahead.phase, ahead.rate, ahead.capacity) == (Phase.PACED, 2.0, 5.0)
    assert ahead.done_at == NOON + 2
    assert outlook(a_row(PACED, rate=5.0), now=NOON).done_at == NOON + 2
    assert outlook(a_row(HELD, rate=5.0), now=NOON).done_at == NOON + 602
    paused = a_row(PACED, standing=Standing.PAUSED)
    assert outlook(paused, now=NOON).done_at is None


def test_a_lane_that_is_open_says_since_when_and_when_it_is_tried() -> None:
    pace = b'{"phase":"open","probe_at":1800000060.0,"down_since":1799999000.0,"capacity":9.0}'
    ahead = outlook(a_row(pace), now=NOON)
    assert (ahead.down_since, ahead.probe_at) == (1_799_999_000.0, 1_800_000_060.0)
    assert (ahead.rate, ahead.done_at, ahead.capacity) == (None, None, 9.0)
    assert outlook(a_row(pace, standing=Standing.PAUSED), now=NOON).probe_at is None


def test_a_lane_goes_by_the_pace_of_its_origin_while_that_is_in_trouble() -> None:
    own = b'{"phase":"closed","capacity":9.0}'
    assert outlook(a_row(own), now=NOON, origins=whole(CLOSED)).scope is PaceScope.ENDPOINT
    ahead = outlook(a_row(own), now=NOON, origins=whole(PACED))
    assert (ahead.scope, ahead.rate, ahead.capacity) == (PaceScope.ORIGIN, 120.0, 9.0)
    assert ahead.done_at is None  # others wait for it too


@pytest.mark.parametrize("origin", [PACED, b'{"phase":"open","probe_at":1799999000.0}'])
def test_a_lane_that_is_open_by_itself_goes_by_itself(origin: bytes) -> None:
    """Its origin may be open in the record of another worker that has no lane there any more."""
    assert (
        explain(a_delivery(), a_row(OPEN), [], now=NOON, origins=whole(origin)).reason
        is Reason.LANE_OPEN
    )
    ahead = outlook(a_row(OPEN), now=NOON, origins=whole(origin))
    assert (ahead.phase, ahead.scope) == (Phase.OPEN, PaceScope.ENDPOINT)
    assert ahead.probe_at == NOON + 60


def test_a_lane_goes_by_the_pace_of_its_application_while_only_that_is_in_trouble() -> None:
    ahead = outlook(a_row(), now=NOON, origins=of_application(OPEN))
    assert (ahead.phase, ahead.scope) == (Phase.OPEN, PaceScope.APPLICATION)
    assert waits(a_delivery(), a_row(), now=NOON, origins=of_application(OPEN)) == (
        Reason.LANE_OPEN,
        NOON + 60,
    )
    both = [*whole(CLOSED)[:1], OPEN]
    assert outlook(a_row(), now=NOON, origins=both).scope is PaceScope.APPLICATION


def test_an_application_that_stays_open_while_its_origin_comes_back_goes_by_itself() -> None:
    both = [*whole(PACED)[:1], OPEN]
    ahead = outlook(a_row(), now=NOON, origins=both)
    assert (ahead.phase, ahead.scope) == (Phase.OPEN, PaceScope.APPLICATION)
    both = [*whole(OPEN)[:1], PACED]
    ahead = outlook(a_row(), now=NOON, origins=both)
    assert (ahead.phase, ahead.scope) == (Phase.OPEN, PaceScope.ORIGIN)


def test_a_sentence_names_a_failure_that_the_endpoints_of_an_application_share() -> None:
    shared = "Several endpoints of the application at this host are affected."
    for pace in (OPEN, PACED):
        found = explain(a_delivery(), a_row(), [], now=NOON, origins=of_application(pace))
        assert shared in found.sentences[0]
        assert shared not in explain(a_delivery(), a_row(pace), [], now=NOON).sentences[0]


def test_a_tenant_does_not_learn_that_endpoints_of_others_fail_too() -> None:
    alone = explain(a_delivery(), a_row(OPEN), [], now=NOON)
    shared = explain(a_delivery(), a_row(), [], now=NOON, origins=whole(OPEN), tenant=True)
    assert shared.sentences == alone.sentences
    recovering = explain(a_delivery(), a_row(), [], now=NOON, origins=whole(PACED), tenant=True)
    assert "120" not in recovering.sentences[0]
    ahead = outlook(a_row(), now=NOON, origins=whole(PACED), tenant=True)
    assert (ahead.scope, ahead.rate, ahead.capacity) == (PaceScope.ENDPOINT, None, None)


def test_an_operator_learns_that_the_whole_host_is_affected() -> None:
    for pace in (OPEN, PACED):
        found = explain(a_delivery(), a_row(), [], now=NOON, origins=whole(pace))
        assert any("endpoints of other applications" in text for text in found.sentences)
        assert len(explain(a_delivery(), a_row(pace), [], now=NOON).sentences) == 1


def test_a_recovery_is_told_with_its_rate() -> None:
    found = explain(a_delivery(), a_row(PACED), [], now=NOON)
    assert found.sentences[0].endswith("can handle. 10 deliveries are waiting and sent at 120/s.")


def test_an_endpoint_without_a_proper_url_shares_nothing() -> None:
    assert origins_of(a_row(url="nowhere")) == []
    row = a_row(url="https://Hooks.example/in")
    at = "https://hooks.example:443"
    assert origins_of(row) == [at, f"{at} {row.application.id}"]


def test_what_a_delivery_waits_for_can_be_told_without_a_word() -> None:
    assert waits(a_delivery(), a_row(OPEN), now=NOON) == (Reason.LANE_OPEN, 1_800_000_060.0)
    assert waits(a_delivery(), a_row(), now=NOON, origins=whole(OPEN)) == (
        Reason.LANE_OPEN,
        1_800_000_060.0,
    )


def test_an_open_lane_says_since_when_it_is_down_and_why_probes_are_rare() -> None:
    down = b'{"phase":"open","probe_at":1800000060.0,"down_since":1799999940.0}'
    found = explain(a_delivery(), a_row(down), [], now=NOON)
    since = "It is down since 2027-01-15T07:59:00.000+00:00: the longer an outage lasts, the rarer"
    assert f"{since} the probes. Next probe at 2027-01-15T08:01:00" in found.sentences[0]
