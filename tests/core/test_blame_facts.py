"""What a lane remembers: one value a delivery, compared with the number of the last success."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.blame_facts import (
    ACCEPTED,
    CLEAN,
    HEALTHY_WITHIN,
    NEVER,
    UNSEEN,
    Charge,
    DeliveryFacts,
    EventTypeFacts,
    LaneFacts,
)

FULL = DeliveryFacts(
    refused_at=5.0,
    failed_after=2,
    charge=Charge(3, 1, 4, "msg_1"),
    slowed=2,
    slowed_after=1,
    pause=0.5,
)


def test_the_first_refusal_is_remembered() -> None:
    assert CLEAN.refused_at == NEVER
    refused = CLEAN.refuse(7.0)
    assert refused == DeliveryFacts(refused_at=7.0)
    assert refused.refuse(9.0) is refused


def test_failures_at_a_pace_are_counted_and_the_last_pause_holds() -> None:
    once = CLEAN.slow(3, 0.25)
    assert once == DeliveryFacts(slowed=1, slowed_after=3, pause=0.25)
    assert once.slow(8, 0.5) == DeliveryFacts(slowed=2, slowed_after=3, pause=0.5)


def test_an_attempt_that_counts_is_charged_with_the_attempts_before_it() -> None:
    charged = CLEAN.charge_for(3, 2, 6, "msg_1")
    assert charged == DeliveryFacts(failed_after=3, charge=Charge(3, 2, 7, "msg_1"))


def test_charges_after_one_success_are_one_and_after_another_a_new_one() -> None:
    charged = CLEAN.charge_for(3, 2, 6, "msg_1")
    again = charged.charge_for(3, 3, 7, "msg_1")
    assert again.charge == Charge(3, 2, 8, "msg_1")
    later = again.charge_for(4, 4, 8, "msg_1")
    assert (later.failed_after, later.charge) == (3, Charge(4, 4, 9, "msg_1"))


def test_a_charge_changes_nothing_else() -> None:
    charged = FULL.charge_for(9, 1, 4, "msg_1")
    assert charged == FULL.replace(charge=Charge(9, 1, 5, "msg_1"))


@pytest.mark.parametrize(("first", "left"), [(2, 2), (3, NEVER)])
def test_what_is_given_back_did_not_happen(first: int, left: float) -> None:
    facts = FULL.replace(failed_after=first).give_back(3)
    assert facts == FULL.replace(charge=None, failed_after=left)


def test_a_lane_that_has_settled_down_forgets_failures_at_its_pace() -> None:
    assert FULL.settle_down() == FULL.replace(slowed=0, slowed_after=NEVER, pause=None)
    charged = CLEAN.charge_for(3, 2, 6, "msg_1")
    assert charged.settle_down() is charged


def test_of_a_delivery_to_another_endpoint_only_the_charge_is_kept() -> None:
    assert FULL.start_over() == DeliveryFacts(charge=Charge(0, 1, 4, "msg_1"))
    assert FULL.replace(charge=None).start_over() == CLEAN


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_what_an_opening_gives_back_is_what_failed_since_the_last_success(
    counts: list[int],
) -> None:
    """Each number is how many attempts failed after one success, up to the opening."""
    facts, attempts, before = CLEAN, 0, 0
    for after, count in enumerate(counts):
        before = attempts
        for _ in range(count):
            facts = facts.charge_for(after, attempts, attempts, "msg_1")
            attempts += 1
    last = len(counts) - 1
    if counts[-1]:
        assert facts.charge == Charge(last, before, attempts, "msg_1")
    else:
        assert facts.charge is None or facts.charge.after < last
    failed = [after for after, count in enumerate(counts) if count]
    assert facts.failed_after == min(failed, default=NEVER)
    assert facts.give_back(last).failed_after == min(set(failed) - {last}, default=NEVER)


def test_failures_of_an_event_type_count_from_the_first() -> None:
    failing = UNSEEN.fail(4.0)
    assert failing == EventTypeFacts(accepted=False, failures=1, failing_since=4.0)
    assert failing.fail(6.0) == EventTypeFacts(accepted=False, failures=2, failing_since=4.0)
    assert ACCEPTED.fail(6.0) == EventTypeFacts(accepted=True, failures=1, failing_since=6.0)


def test_a_lane_is_healthy_for_a_minute_after_a_success() -> None:
    lane = LaneFacts(accepted_at=100.0)
    assert lane.is_healthy(100.0 + HEALTHY_WITHIN - 1)
    assert not lane.is_healthy(100.0 + HEALTHY_WITHIN)
    assert not LaneFacts().is_healthy(0.0)
