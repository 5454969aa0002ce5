"""What a lane remembers: one value a delivery, compared with the last message that was accepted."""

from hypothesis import given
from hypothesis import strategies as st

from tarry.core.blame_facts import (
    ACCEPTED_TYPE,
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
    failed_at=3,
    charge=Charge(3, 1, 4, "msg_1"),
    slowed=2,
    slowed_at=1,
    pause=0.5,
)


def test_the_first_refusal_is_remembered() -> None:
    assert CLEAN.refused_at == NEVER
    refused = CLEAN.refuse(7.0)
    assert refused == DeliveryFacts(refused_at=7.0)
    assert refused.refuse(9.0) is refused


def test_failures_at_a_pace_are_counted_and_the_last_pause_holds() -> None:
    once = CLEAN.slow(3, 0.25)
    assert once == DeliveryFacts(slowed=1, slowed_at=3, pause=0.25)
    assert once.slow(8, 0.5) == DeliveryFacts(slowed=2, slowed_at=3, pause=0.5)


def test_an_attempt_that_counts_is_charged_with_the_attempts_before_it() -> None:
    charge = Charge(3, 2, 7, "msg_1")
    assert CLEAN.charge_for(charge, 1) == DeliveryFacts(failed_at=3, charge=charge)


def test_charges_after_one_success_are_one_and_after_another_a_new_one() -> None:
    charged = CLEAN.charge_for(Charge(3, 2, 7, "msg_1"), 1)
    again = charged.charge_for(Charge(4, 3, 8, "msg_1"), 3)
    assert again.charge == Charge(4, 2, 8, "msg_1")
    later = again.charge_for(Charge(6, 4, 9, "msg_1"), 5)
    assert (later.failed_at, later.charge) == (6, Charge(6, 4, 9, "msg_1"))


def test_a_charge_changes_nothing_else() -> None:
    charge = Charge(9, 2, 5, "msg_1")
    assert FULL.charge_for(charge, 8) == FULL.replace(failed_at=9, charge=charge)


def test_what_is_given_back_did_not_happen() -> None:
    assert FULL.give_back(3) == FULL.replace(charge=None, failed_at=NEVER)
    assert FULL.give_back(3.1) is FULL


def test_a_lane_that_has_settled_down_forgets_failures_at_its_pace() -> None:
    assert FULL.settle_down() == FULL.replace(slowed=0, slowed_at=NEVER, pause=None)
    charged = CLEAN.charge_for(Charge(3, 2, 7, "msg_1"), 1)
    assert charged.settle_down() is charged


def test_of_a_delivery_to_another_endpoint_only_the_charge_is_kept() -> None:
    assert FULL.start_over() == DeliveryFacts(charge=FULL.charge)
    assert FULL.replace(charge=None).start_over() == CLEAN


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_what_an_opening_gives_back_is_what_failed_since_the_last_success(
    counts: list[int],
) -> None:
    """Each number is how many attempts failed after one success, up to the opening."""
    facts, attempts, before = CLEAN, 0, 0
    for accepted, count in enumerate(counts):
        before = attempts
        for _ in range(count):
            charge = Charge(accepted + 0.5, attempts, attempts + 1, "msg_1")
            facts = facts.charge_for(charge, accepted)
            attempts += 1
    last = len(counts) - 1
    if counts[-1]:
        assert facts.charge == Charge(last + 0.5, before, attempts, "msg_1")
    else:
        assert facts.charge is None or facts.charge.at < last
    failed = [accepted + 0.5 for accepted, count in enumerate(counts) if count]
    assert facts.failed_at == max(failed, default=NEVER)


def test_failures_of_an_event_type_count_from_the_first() -> None:
    failing = UNSEEN.fail(4.0, enough=3)
    assert failing == EventTypeFacts(accepted=False, failures=1, failing_since=4.0)
    again = failing.fail(6.0, enough=3)
    assert again == EventTypeFacts(accepted=False, failures=2, failing_since=4.0)
    assert ACCEPTED_TYPE.fail(6.0, enough=3) == again.replace(
        accepted=True, failures=1, failing_since=6.0
    )


def test_an_event_type_only_fails_since_it_failed_often_enough() -> None:
    facts, since = UNSEEN, []
    for now in range(5):
        facts = facts.fail(now, enough=3)
        since.append(facts.only_fails_since)
    assert since == [NEVER, NEVER, 2, 2, 2]


def test_a_lane_is_healthy_for_a_minute_after_a_success() -> None:
    lane = LaneFacts(accepted_at=100.0)
    assert lane.is_healthy(100.0 + HEALTHY_WITHIN - 1)
    assert not lane.is_healthy(100.0 + HEALTHY_WITHIN)
    assert not LaneFacts().is_healthy(0.0)
