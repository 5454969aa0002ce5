"""What a lane writes down about its endpoint, when its owner hears of it, when it is parked."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.lane.endpoint_record import (
    SAVED_EVERY,
    TROUBLED,
    EndpointRecord,
    after_failure,
    after_success,
    joined,
    notice_kind,
    parking_stage,
    with_standing,
    without_failures,
)
from tarry.service.dispatch.limits.gate import write_pace
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Known, LaneRow, Notice
from tarry.service.model.settings import DAY, HOUR, Parking
from tarry.testing.samples import (
    NOON,
    a_due,
    a_notice,
    an_action,
    an_application,
    an_attempt,
    an_endpoint,
    delivered,
    failed,
)

# --- What is written down, and who hears of it --------------------------------------------------

PACE = Pace(phase=Phase.OPEN, rate=0.0, probe_at=NOON + 5)
APPLICATION = an_application()
ENDPOINT = an_endpoint(APPLICATION, lane=7)


def note(
    application: str, endpoint: str, kind: str, now: float, facts: dict[str, str | float | None]
) -> Notice:
    return Notice(
        id="notice_1",
        application=application,
        endpoint=endpoint,
        kind=kind,
        at=now,
        facts=dict(facts),
    )


def a_record(known: Known | None = None) -> EndpointRecord:
    row = LaneRow(endpoint=ENDPOINT, application=APPLICATION, known=known or Known())
    return EndpointRecord(row, Parking(), note, epoch=3)


def failing(failures: int = 5) -> EndpointRecord:
    """One that has failed since noon."""
    record = a_record()
    for _ in range(failures):
        record.failed(NOON)
    return record


def due(record: EndpointRecord, days: float, endpoint: Endpoint = ENDPOINT) -> Change | None:
    return record.warn_or_park(endpoint, PACE, NOON + days * DAY)


def told(change: Change | None) -> tuple[str, dict[str, str | float | int | None]]:
    """The one notice of a change: what it is about, and its facts."""
    assert change is not None
    (notice,) = change.notices
    assert (notice.application, notice.endpoint) == (APPLICATION.id, ENDPOINT.id)
    assert notice.at == change.at
    return notice.kind, notice.facts


def test_what_is_known_is_written_down_with_the_pace() -> None:
    found = a_record(Known(origin="o", accepted_at=NOON - 9)).save(PACE, NOON)
    known = Known(pace=write_pace(PACE), origin="o", accepted_at=NOON - 9)
    assert found == Change(lane=7, epoch=3, at=NOON, known=known)


def test_an_endpoint_that_never_took_anything_has_no_such_time() -> None:
    record = a_record()
    assert record.accepted_at == -math.inf
    saved = record.save(PACE, NOON).known
    assert saved is not None
    assert saved.accepted_at is None


def test_a_healthy_endpoint_is_written_down_now_and_then() -> None:
    record = a_record(Known(accepted_at=NOON))
    assert record.accepted(PACE, NOON + SAVED_EVERY) is None
    change = record.accepted(PACE, NOON + SAVED_EVERY + 1)
    assert change is not None
    assert change.known is not None
    assert change.known.accepted_at == NOON + SAVED_EVERY + 1
    assert record.accepted(PACE, NOON + SAVED_EVERY + 2) is None
    assert record.accepted(PACE, NOON + 2 * SAVED_EVERY + 2) is not None


def test_the_first_success_of_all_is_written_down_at_once() -> None:
    change = a_record().accepted(PACE, NOON + 1)
    assert change is not None
    assert change.known is not None
    assert change.known.accepted_at == NOON + 1


def test_what_else_is_written_down_does_not_put_off_the_next_success() -> None:
    record = a_record(Known(accepted_at=NOON))
    record.save(PACE, NOON + SAVED_EVERY)
    assert record.accepted(PACE, NOON + SAVED_EVERY + 1) is not None


def test_each_success_is_known_at_once_although_it_is_not_written_down() -> None:
    record = a_record(Known(accepted_at=NOON))
    assert record.accepted(PACE, NOON + 1) is None
    assert record.accepted_at == NOON + 1


def test_the_first_success_after_failures_is_written_down_at_once() -> None:
    change = failing(1).accepted(PACE, NOON + 1)
    assert change is not None
    known = Known(pace=write_pace(PACE), accepted_at=NOON + 1)
    assert change == Change(lane=7, epoch=3, at=NOON + 1, known=known)


def test_the_owner_is_warned_once_at_each_stage_and_then_the_endpoint_is_parked() -> None:
    record = failing()
    kinds = []
    for day in [0, 1, 2, 2.5, 2.6, 3, 3.75, 4, 4.5, 4.9, 5]:
        if (change := due(record, day)) is not None:
            kind, facts = told(change)
            kinds.append((day, kind, facts.get("share"), change.standing))
            assert facts["since"] == NOON
            assert change.known is not None
            assert change.known.failing_since == NOON
    assert kinds == [
        (2.5, "endpoint.failing", 0.5, None),
        (3.75, "endpoint.failing", 0.75, None),
        (4.5, "endpoint.failing", 0.9, None),
        (5, "endpoint.disabled", None, Standing.PARKED),
    ]


def test_a_warning_that_was_given_is_written_down_so_that_a_new_owner_gives_it_no_more() -> None:
    change = due(failing(), 2.5)
    assert change is not None
    assert change.known is not None
    assert change.known.warned == 0.5
    assert due(a_record(change.known), 2.6) is None
    assert due(a_record(change.known), 3.75) is not None


def test_a_stage_that_was_slept_through_is_left_out() -> None:
    assert told(due(failing(), 4.6))[1]["share"] == 0.9


def test_a_success_in_between_begins_it_anew() -> None:
    record = failing()
    due(record, 2.5)
    record.accepted(PACE, NOON + 3 * DAY)
    for _ in range(5):
        record.failed(NOON + 3 * DAY)
    assert due(record, 5.4) is None
    assert told(due(record, 5.5))[1] == {"since": NOON + 3 * DAY, "share": 0.5}


@pytest.mark.parametrize("standing", sorted(set(Standing) - {Standing.ENABLED}))
def test_only_an_endpoint_that_is_enabled_is_warned_about_or_parked(standing: Standing) -> None:
    stopped = replace(ENDPOINT, standing=standing)
    assert due(failing(), 2.5, stopped) is None
    assert due(failing(), 50, stopped) is None


def test_one_that_is_enabled_again_after_it_was_parked_has_all_the_time_anew() -> None:
    record = failing()
    parked = due(record, 5)
    assert parked is not None
    assert due(record, 8, with_standing(ENDPOINT, parked)) is None
    assert due(record, 9) is None
    for _ in range(5):
        record.failed(NOON + 9 * DAY)
    assert due(record, 11) is None
    assert told(due(record, 11.5))[1]["share"] == 0.5
    assert told(due(record, 14))[0] == "endpoint.disabled"


@pytest.mark.parametrize(
    ("standing", "kind"),
    [(Standing.DISABLED, "endpoint.disabled"), (Standing.PAUSED, "endpoint.paused")],
)
def test_another_standing_is_told_with_its_reason(standing: Standing, kind: str) -> None:
    change = a_record().change_standing(ENDPOINT, standing, PACE, NOON + 1, {"why": "so"})
    assert told(change) == (kind, {"why": "so"})
    assert (change.standing, change.lane, change.at) == (standing, 7, NOON + 1)
    assert change.known is not None


def test_the_end_of_a_delivery_is_told_and_changes_nothing_else() -> None:
    made = failed(a_due(), reason=Reason.AGED, attempt=None)
    change = a_record().notice_of_delivery(ENDPOINT, "msg_1", made, NOON + 1)
    assert change is not None
    assert told(change) == ("message.attempt.exhausted", {"message": "msg_1", "reason": "too old"})
    assert (change.lane, change.known, change.standing) == (7, None, None)


def test_news_of_a_delivery_tell_its_last_attempt() -> None:
    due = a_due()
    last = an_attempt(due, id="atmpt_9", status=503, kind="transient", at=NOON)
    made = failed(due, reason=Reason.EXHAUSTED, attempt=last)
    change = a_record().notice_of_delivery(ENDPOINT, "msg_1", made, NOON + 1)
    assert change is not None
    facts = {"attempt": "atmpt_9", "status": 503, "attempted_at": NOON}
    assert told(change)[1] == {"message": "msg_1", "reason": Reason.EXHAUSTED, **facts}


@pytest.mark.parametrize(
    ("state", "attempts", "kind"),
    [
        (State.WAITING, TROUBLED - 1, None),
        (State.WAITING, TROUBLED, "message.attempt.failing"),
        (State.WAITING, TROUBLED + 1, None),
        (State.READY, TROUBLED, None),
        (State.DELIVERED, TROUBLED, None),
        (State.DELIVERED, TROUBLED + 1, "message.attempt.recovered"),
        (State.CANCELLED, TROUBLED + 1, None),
    ],
)
def test_trouble_with_a_delivery_is_told_once_and_that_it_is_over(
    state: State, attempts: int, kind: str | None
) -> None:
    due = a_due()
    made = replace(delivered(due), state=state, attempts=attempts)
    assert notice_kind(made) == kind
    assert made.attempt is not None
    free = replace(made, attempt=replace(made.attempt, counted=False))
    assert notice_kind(free) is None
    assert notice_kind(replace(made, attempt=None)) is None


def test_a_message_that_ended_for_another_reason_is_no_news() -> None:
    assert notice_kind(failed(a_due(), reason=Reason.REFUSED)) == "message.attempt.exhausted"
    for reason in (Reason.GONE, Reason.EXPUNGED):
        assert notice_kind(failed(a_due(), reason=reason)) is None


def test_another_origin_is_not_to_blame_for_what_the_old_one_failed() -> None:
    known = Known(origin="https://old.example:443", failing_since=1.0, failures=9, warned=0.9)
    record = a_record(known)
    assert record.set_origin("https://new.example:443")
    assert (record.known.failing_since, record.known.failures, record.known.warned) == (None, 0, 0)


def test_another_origin_is_taken_up_once() -> None:
    record = a_record(Known(origin="https://old.example:443"))
    assert not record.set_origin("https://old.example:443")
    assert record.set_origin("https://new.example:443")
    assert not record.set_origin("https://new.example:443")
    saved = record.save(PACE, NOON).known
    assert saved is not None
    assert saved.origin == "https://new.example:443"


def test_an_endpoint_stands_as_the_change_says_and_parking_is_noted_with_its_beginning() -> None:
    change = Change(lane=7, epoch=3, at=NOON)
    before = an_endpoint(APPLICATION, parked=((1.0, 2.0),))
    assert with_standing(before, change) is before
    paused = with_standing(before, replace(change, standing=Standing.PAUSED))
    assert paused == replace(before, standing=Standing.PAUSED)
    parked = with_standing(before, replace(change, standing=Standing.PARKED))
    assert parked == replace(before, standing=Standing.PARKED, parked=((1.0, 2.0), (NOON, None)))


def test_of_two_changes_the_later_counts_and_no_notice_is_lost() -> None:
    first, second = a_notice(ENDPOINT), a_notice(ENDPOINT)
    old = Change(lane=7, epoch=3, at=1.0, known=Known(failures=1), notices=(first,))
    new = Change(lane=7, epoch=3, at=2.0, known=Known(failures=2), notices=(second,))
    assert joined(None, new) is new
    assert joined(old, new) == replace(new, notices=(first, second))


def test_a_change_of_an_earlier_lease_is_not_written_under_a_later_one() -> None:
    old = Change(lane=7, epoch=3, at=1.0, known=Known(), standing=Standing.PARKED)
    new = Change(lane=7, epoch=4, at=2.0, notices=(a_notice(ENDPOINT),))
    assert joined(old, new) is new


def test_what_the_later_change_does_not_say_the_earlier_one_still_does() -> None:
    old = Change(
        lane=7,
        epoch=3,
        at=1.0,
        known=Known(failures=1),
        standing=Standing.PARKED,
        by=an_action(),
    )
    new = Change(lane=7, epoch=3, at=2.0)
    assert joined(old, new) == replace(old, at=2.0)
    later = replace(new, standing=Standing.PAUSED, by=an_action())
    assert joined(old, later).standing is Standing.PAUSED
    assert joined(old, later).by == later.by


def test_an_endpoint_fails_since_the_first_failure_after_a_success() -> None:
    record = a_record()
    told = [record.failing_since]
    for at in (NOON + 1, NOON + 2):
        record.failed(at)
        told.append(record.failing_since)
    record.accepted(PACE, NOON + 3)
    told.append(record.failing_since)
    assert told == [math.inf, NOON + 1, NOON + 1, math.inf]


def test_an_endpoint_is_well_until_something_fails_and_once_it_takes_something() -> None:
    record = a_record()
    told = [record.is_healthy]
    record.accepted(PACE, NOON)
    told.append(record.is_healthy)
    record.failed(NOON + 1)
    told.append(record.is_healthy)
    record.accepted(PACE, NOON + 2)
    told.append(record.is_healthy)
    assert told == [True, True, False, True]
    assert a_record(Known(accepted_at=NOON)).is_healthy
    assert not a_record(Known(accepted_at=NOON, failures=1)).is_healthy


# --- How long the endpoint has taken nothing ----------------------------------------------------

PARKING = Parking()


def stage_after(lasted: float, failures: int = 5, rule: Parking = PARKING) -> float:
    """How far an endpoint has come that has been failing for so long."""
    known = Known(failing_since=NOON, failures=failures)
    return parking_stage(known, rule, now=NOON + lasted)


@pytest.mark.parametrize(
    ("days", "passed"),
    [
        (0, 0.0),
        (2.49, 0.0),
        (2.5, 0.5),
        (3.74, 0.5),
        (3.75, 0.75),
        (4.49, 0.75),
        (4.5, 0.9),
        (4.99, 0.9),
        (5.0, 1.0),
        (50.0, 1.0),
    ],
)
def test_five_days_without_a_success_park_it_with_three_warnings_on_the_way(
    days: float, passed: float
) -> None:
    assert stage_after(days * DAY) == passed


def test_few_failures_are_no_reason_however_long_they_last() -> None:
    assert stage_after(50 * DAY, failures=4) == 0.0
    assert stage_after(50 * DAY, failures=5) == 1.0


def test_one_that_never_failed_is_well() -> None:
    assert parking_stage(Known(), PARKING, now=NOON) == 0.0
    assert parking_stage(Known(failures=9), PARKING, now=NOON) == 0.0


def test_a_short_rule_warns_and_parks_nobody_before_the_failures_have_lasted() -> None:
    short = Parking(after=HOUR, over=12 * HOUR)
    assert stage_after(12 * HOUR - 1, rule=short) == 0.0
    assert stage_after(12 * HOUR, rule=short) == 1.0


def test_warnings_may_be_left_out_or_given_in_any_order() -> None:
    assert stage_after(4.9 * DAY, rule=Parking(warn=())) == 0.0
    assert stage_after(4.9 * DAY, rule=Parking(warn=(0.9, 0.1))) == 0.9


def test_the_first_failure_begins_it_and_those_after_it_only_count() -> None:
    once = after_failure(Known(), NOON)
    twice = after_failure(once, NOON + 60)
    assert (once.failing_since, once.failures) == (NOON, 1)
    assert (twice.failing_since, twice.failures) == (NOON, 2)


def test_one_success_clears_it_and_the_warnings_too() -> None:
    known = Known(pace=b"{}", origin="o", failing_since=NOON, failures=9, warned=0.75)
    cleared = after_success(known, NOON + 5)
    assert cleared == Known(pace=b"{}", origin="o", accepted_at=NOON + 5)
    assert parking_stage(cleared, PARKING, now=NOON + 50 * DAY) == 0.0


def test_to_begin_anew_forgets_the_failures_and_nothing_else() -> None:
    known = Known(pace=b"{}", accepted_at=NOON, failing_since=NOON, failures=9, warned=1.0)
    assert without_failures(known) == Known(pace=b"{}", accepted_at=NOON)


@given(
    lasted=st.lists(st.floats(0, 20 * DAY), min_size=2, max_size=2).map(sorted),
    failures=st.integers(0, 10),
    after=st.floats(0, 10 * DAY),
    over=st.floats(0, 10 * DAY),
    warn=st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=4),
)
def test_time_alone_never_leads_back(
    lasted: list[float], failures: int, after: float, over: float, warn: list[float]
) -> None:
    rule = Parking(after=after, over=over, warn=tuple(warn))
    sooner, later = (stage_after(seconds, failures, rule) for seconds in lasted)
    assert sooner <= later
    assert {sooner, later} <= {0.0, 1.0, *warn}
