"""What a lane keeps in mind of single deliveries until it knows whose failure it was."""

import math

import pytest
from msgspec.structs import replace

from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.outcomes.doubts import KINDS, LATELY, RECENTLY, REMEMBERED, Doubts
from tarry.service.dispatch.outcomes.ruling import Ruling
from tarry.service.model.delivery import ENDED, Reason, State
from tarry.service.model.lane import Due
from tarry.testing.samples import NOON, a_due

DUE = a_due(seq=4, attempts=2, tries=6)


def own(due: Due) -> Ruling:
    """The delivery's own failure: it counts."""
    return Ruling(State.WAITING, Reason.BACKOFF, due.attempts + 1, due_at=NOON + 10)


def paced(moment: float, due: Due = DUE) -> Ruling:
    return Ruling(State.READY, Reason.PACE, due.attempts, counted=False, moment=moment)


def ended(due: Due, state: State = State.DELIVERED) -> Ruling:
    return Ruling(state, Reason.DELIVERED, due.attempts + 1)


KEPT = Ruling(State.READY, Reason.LANE_OPEN, 2, counted=False)


# --- Refusals -----------------------------------------------------------------------------------


def test_a_first_refusal_proves_nothing_even_right_after_a_success() -> None:
    assert not Doubts().proven(DUE, accepted_at=NOON - 0.1, now=NOON)


def test_a_refusal_is_proven_by_a_success_since_the_first_one() -> None:
    doubts = Doubts()
    doubts.proven(DUE, accepted_at=NOON - 1, now=NOON)
    assert not doubts.proven(DUE, accepted_at=NOON - 1, now=NOON + 10)
    assert not doubts.proven(DUE, accepted_at=NOON, now=NOON + 20)
    assert doubts.proven(DUE, accepted_at=NOON + 21, now=NOON + 22)


def test_a_success_of_long_ago_proves_nothing() -> None:
    doubts = Doubts()
    doubts.proven(DUE, accepted_at=-math.inf, now=NOON)
    assert doubts.proven(DUE, accepted_at=NOON + 1, now=NOON + RECENTLY)
    assert not doubts.proven(DUE, accepted_at=NOON + 1, now=NOON + 1 + RECENTLY)


def test_an_endpoint_that_never_took_anything_proves_nothing() -> None:
    doubts = Doubts()
    found = [doubts.proven(DUE, accepted_at=-math.inf, now=NOON + n) for n in range(9)]
    assert not any(found)


def test_the_refusal_of_one_says_nothing_about_another() -> None:
    doubts = Doubts()
    doubts.proven(DUE, accepted_at=-math.inf, now=NOON)
    assert not doubts.proven(a_due(seq=5), accepted_at=NOON + 1, now=NOON + 2)


def test_one_that_comes_anew_after_its_end_is_refused_for_the_first_time() -> None:
    doubts = Doubts()
    doubts.proven(DUE, accepted_at=-math.inf, now=NOON)
    doubts.remember(DUE, ended(DUE, State.FAILED))
    assert not doubts.proven(DUE, accepted_at=NOON + 1, now=NOON + 2)


def test_refusals_are_forgotten_when_something_is_taken() -> None:
    doubts = Doubts()
    doubts.refusals = 7
    doubts.taken(DUE)
    assert doubts.refusals == 0


# --- Kinds of messages --------------------------------------------------------------------------


def test_a_refusal_is_usual_for_a_kind_that_was_never_taken_by_who_takes_others() -> None:
    doubts = Doubts()
    unknown = a_due(event_type="invoice.lost")
    doubts.taken(a_due(event_type="invoice.paid"))
    assert doubts.usual(unknown, accepted_at=NOON, now=NOON + 1)
    assert not doubts.usual(a_due(event_type="invoice.paid"), accepted_at=NOON, now=NOON + 1)
    doubts.taken(unknown)
    assert not doubts.usual(unknown, accepted_at=NOON, now=NOON + 1)


def test_nothing_is_usual_for_an_endpoint_that_took_nothing_lately() -> None:
    doubts = Doubts()
    doubts.taken(replace(DUE, event_type="another"))
    assert doubts.usual(DUE, accepted_at=NOON, now=NOON + LATELY - 1)
    assert not doubts.usual(DUE, accepted_at=NOON, now=NOON + LATELY)
    assert not doubts.usual(DUE, accepted_at=-math.inf, now=NOON)


def test_nothing_is_usual_before_anything_was_taken() -> None:
    assert not Doubts().usual(DUE, accepted_at=NOON, now=NOON + 1)


# --- Failures -----------------------------------------------------------------------------------


def test_what_fails_again_after_another_was_taken_says_nothing_about_the_endpoint() -> None:
    doubts = Doubts()
    assert not doubts.own(DUE, accepted_at=NOON, now=NOON + 1)
    doubts.remember(DUE, own(DUE))
    assert not doubts.own(DUE, accepted_at=NOON, now=NOON + 1)
    doubts.taken(a_due(seq=5))
    assert doubts.own(DUE, accepted_at=NOON, now=NOON + 1)
    assert not doubts.own(a_due(seq=6), accepted_at=NOON, now=NOON + 1)
    doubts.remember(DUE, ended(DUE, State.FAILED))
    assert not doubts.own(DUE, accepted_at=NOON, now=NOON + 1)


def test_a_kind_that_does_nothing_but_fail_says_nothing_about_who_takes_others() -> None:
    doubts = Doubts()
    for number in range(5):
        assert not doubts.own(DUE, accepted_at=NOON + 10, now=NOON + 11)
        doubts.failed(a_due(seq=number), now=NOON + number)
    assert not doubts.own(DUE, accepted_at=NOON - 1, now=NOON + 11)
    assert doubts.own(DUE, accepted_at=NOON + 10, now=NOON + 11)
    assert not doubts.own(replace(DUE, event_type="another"), accepted_at=NOON + 10, now=NOON + 11)
    doubts.taken(a_due(seq=9))
    assert not doubts.own(DUE, accepted_at=NOON + 10, now=NOON + 11)


def test_an_endpoint_that_took_nothing_for_a_minute_may_be_to_blame_again() -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    doubts.taken(a_due(seq=5))
    assert doubts.own(DUE, accepted_at=NOON, now=NOON + LATELY - 1)
    assert not doubts.own(DUE, accepted_at=NOON, now=NOON + LATELY)
    assert not doubts.own(DUE, accepted_at=-math.inf, now=NOON)


def test_what_was_the_lanes_failure_is_not_its_own() -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    doubts.blame_the_lane()
    doubts.taken(a_due(seq=5))
    assert not doubts.own(DUE, accepted_at=NOON, now=NOON + 1)


# --- Moments ------------------------------------------------------------------------------------


def test_failures_at_a_pace_are_counted_one_by_one_and_the_last_moment_holds() -> None:
    doubts = Doubts()
    assert (doubts.moments(DUE), doubts.moment(DUE)) == (0, None)
    doubts.remember(DUE, paced(0.25))
    doubts.remember(DUE, paced(0.5))
    assert (doubts.moments(DUE), doubts.moment(DUE)) == (2, 0.5)
    assert doubts.moments(a_due(seq=5)) == 0


def test_what_fails_again_at_a_pace_after_another_was_taken_says_nothing_new() -> None:
    doubts = Doubts()
    doubts.remember(DUE, paced(0.25))
    assert not doubts.again(DUE, accepted_at=NOON, now=NOON + 1)
    doubts.taken(a_due(seq=5))
    assert doubts.again(DUE, accepted_at=NOON, now=NOON + LATELY - 1)
    assert not doubts.again(DUE, accepted_at=NOON, now=NOON + LATELY)
    assert not doubts.again(a_due(seq=6), accepted_at=NOON, now=NOON + 1)
    assert not doubts.own(DUE, accepted_at=NOON, now=NOON + 1)
    doubts.remember(DUE, ended(DUE))
    assert not doubts.again(DUE, accepted_at=NOON, now=NOON + 1)


def test_where_what_failed_fails_again_while_others_are_taken_most_failures_are_spared() -> None:
    doubts = Doubts()
    assert not doubts.spares()
    mostly_own = [doubts.mostly_own]
    for seq in range(100, 300):
        bad = a_due(seq=seq)
        doubts.spares()
        doubts.remember(bad, paced(0.25, bad))
        doubts.taken(a_due(seq=seq + 1000))
        assert doubts.again(bad, accepted_at=NOON, now=NOON)
        doubts.failed_again()
    mostly_own.append(doubts.mostly_own)
    spared = 0
    for seq in range(100):
        spared += doubts.spares()
        doubts.taken(a_due(seq=3000 + seq))
    assert spared > 70
    doubts.begin_anew()
    assert [*mostly_own, doubts.mostly_own] == [False, True, False]
    assert not doubts.spares()


def test_where_what_failed_is_taken_the_next_time_no_failure_is_spared() -> None:
    doubts = Doubts()
    for seq in range(100, 300):
        late = a_due(seq=seq)
        assert not doubts.spares()
        doubts.remember(late, paced(0.25, late))
        doubts.taken(a_due(seq=seq + 1000))
        doubts.taken(late)
    assert not doubts.mostly_own


def test_moments_are_over_when_the_lane_has_found_its_pace() -> None:
    doubts = Doubts()
    doubts.remember(DUE, paced(0.25))
    doubts.settled_down()
    assert (doubts.moments(DUE), doubts.moment(DUE)) == (0, None)


@pytest.mark.parametrize("state", sorted(ENDED))
def test_what_has_ended_is_forgotten(state: State) -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    doubts.remember(DUE, paced(0.25))
    doubts.remember(DUE, ended(DUE, state))
    doubts.blame_the_lane()
    assert doubts.moments(DUE) == 0
    assert doubts.refundable(set()) == []


# --- Suspects -----------------------------------------------------------------------------------


def test_what_failed_right_before_the_lane_opened_gets_its_attempt_back() -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    assert doubts.refundable(set()) == []
    doubts.blame_the_lane()
    assert doubts.refundable(set()) == [(4, 2, 7, "msg_sample")]
    assert doubts.refundable(set()) == []


def test_of_several_failures_all_attempts_come_back() -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    doubts.remember(a_due(seq=4, attempts=3, tries=7), own(DUE))
    doubts.blame_the_lane()
    assert doubts.refundable(set()) == [(4, 2, 8, "msg_sample")]


def test_what_failed_before_a_success_was_its_own_failure() -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    doubts.taken(DUE)
    doubts.blame_the_lane()
    assert doubts.refundable(set()) == []


def test_what_cost_no_attempt_gets_none_back() -> None:
    doubts = Doubts()
    doubts.remember(DUE, KEPT)
    doubts.remember(a_due(seq=5), paced(0.25))
    doubts.blame_the_lane()
    assert doubts.refundable(set()) == []


def test_a_success_takes_no_refund_back() -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    doubts.blame_the_lane()
    doubts.taken(DUE)
    assert doubts.refundable(set()) == [(4, 2, 7, "msg_sample")]


def test_what_is_being_worked_on_gets_its_attempts_back_later() -> None:
    doubts = Doubts()
    for seq in (4, 5, 6):
        due = a_due(seq=seq)
        doubts.remember(due, own(due))
    doubts.blame_the_lane()
    assert doubts.refundable({4, 6}) == [(5, 0, 1, "msg_sample")]
    assert doubts.refundable({6}) == [(4, 0, 1, "msg_sample")]
    assert doubts.refundable(set()) == [(6, 0, 1, "msg_sample")]


def test_what_is_on_its_way_gets_its_attempts_back_with_its_answer_and_only_then() -> None:
    doubts = Doubts()
    doubts.remember(DUE, own(DUE))
    doubts.blame_the_lane()
    flying = a_due(seq=4, attempts=3, tries=7)
    assert doubts.refunded(flying) == a_due(seq=4, attempts=2, tries=7)
    assert doubts.refunded(flying) is flying
    assert doubts.refundable(set()) == []


def test_what_was_never_a_suspect_stays_as_it_is() -> None:
    assert Doubts().refunded(DUE) is DUE


# --- Bounds -------------------------------------------------------------------------------------


def test_however_many_there_are_only_so_many_are_kept_in_mind() -> None:
    doubts = Doubts()
    first, beyond = a_due(seq=0), a_due(seq=REMEMBERED)
    for seq in range(REMEMBERED + 1):
        due = a_due(seq=seq)
        doubts.proven(due, accepted_at=-math.inf, now=NOON)
        doubts.remember(due, paced(0.25))
        doubts.remember(due, own(due))

    assert doubts.proven(first, accepted_at=NOON + 1, now=NOON + 2)
    assert not doubts.proven(beyond, accepted_at=NOON + 1, now=NOON + 2)
    doubts.remember(first, paced(0.5))
    assert (doubts.moments(first), doubts.moments(beyond)) == (2, 0)
    doubts.blame_the_lane()
    assert len(doubts.refundable(set())) == REMEMBERED


def test_however_many_fail_only_so_many_are_known_to_be_bad() -> None:
    doubts = Doubts()
    for seq in range(REMEMBERED + 1):
        due = a_due(seq=seq, event_type=str(seq))
        doubts.remember(due, own(due))
        doubts.taken(a_due(seq=REMEMBERED + 1))
        doubts.failed(due, now=NOON)
    known = [doubts.own(a_due(seq=seq), accepted_at=NOON, now=NOON) for seq in (0, REMEMBERED)]
    assert known == [True, False]
    for _ in range(5):
        doubts.failed(a_due(event_type=str(KINDS - 1)), now=NOON)
        doubts.failed(a_due(event_type=str(KINDS)), now=NOON)
    unknown = REMEMBERED + 2
    last, beyond = (a_due(seq=unknown, event_type=str(KINDS - n)) for n in (1, 0))
    assert doubts.own(last, accepted_at=NOON + 1, now=NOON + 2)
    assert not doubts.own(beyond, accepted_at=NOON + 1, now=NOON + 2)


def test_a_suspect_that_fails_again_is_refunded_however_many_there_are() -> None:
    doubts = Doubts()
    for seq in range(REMEMBERED):
        due = a_due(seq=seq)
        doubts.remember(due, own(due))
    doubts.remember(a_due(seq=0, attempts=1, tries=1), own(DUE))
    doubts.blame_the_lane()
    assert doubts.refundable(set(range(1, REMEMBERED))) == [(0, 0, 2, "msg_sample")]


def test_only_so_many_kinds_are_known() -> None:
    doubts = Doubts()
    for number in range(KINDS + 1):
        doubts.taken(a_due(event_type=str(number)))
    last, beyond = a_due(event_type=str(KINDS - 1)), a_due(event_type=str(KINDS))
    assert not doubts.usual(last, accepted_at=NOON, now=NOON)
    assert doubts.usual(beyond, accepted_at=NOON, now=NOON)


def test_of_another_endpoint_in_its_place_nothing_is_known() -> None:
    doubts = Doubts()
    doubts.proven(DUE, accepted_at=-math.inf, now=NOON)
    for _ in range(RULE.failures):
        doubts.failed(DUE, now=NOON)
    doubts.remember(DUE, own(DUE))
    doubts.remember(DUE, paced(1.0))
    doubts.taken(a_due(seq=5, event_type="another"))
    asked = (doubts.proven, doubts.usual, doubts.own, doubts.again)
    assert all(ask(DUE, accepted_at=NOON + 1, now=NOON + 2) for ask in asked)
    doubts.begin_anew()
    assert not any(ask(DUE, accepted_at=NOON + 1, now=NOON + 2) for ask in asked)
    assert doubts.moments(DUE) == 0
