"""Whose failures are those at a pace: second tries tell, while the endpoint accepts others."""

import random

import pytest

from tarry.core.second_tries import MOST_CREDIT, NO_TRIES, PRIOR, SecondTries


def seen(poison: float, overload: float, *, tries: int = 2000, seed: int = 3) -> SecondTries:
    """What is known after so many messages, some of which always fail, and all at times."""
    chance = random.Random(seed).random
    known = NO_TRIES
    for _ in range(tries):
        bad = chance() < poison
        failed = bad or chance() < overload
        known = known.first(failed=failed)
        if failed:
            known = known.second(failed=bad or chance() < overload)
    return known


def test_without_second_tries_nothing_is_known() -> None:
    assert NO_TRIES.own == 0
    known = NO_TRIES
    for _ in range(100):
        known = known.first(failed=True)
    assert known.own == 0
    assert not known.spares


@pytest.mark.parametrize("poison", [0.05, 0.1, 0.3, 0.5])
def test_what_fails_again_while_others_are_accepted_fails_by_itself(poison: float) -> None:
    assert seen(poison, 0.0).own > 0.85


@pytest.mark.parametrize("overload", [0.05, 0.3, 0.6])
def test_what_fails_again_as_often_as_others_fail_does_not(overload: float) -> None:
    owns = [seen(0.0, overload, seed=seed).own for seed in range(20)]
    assert sum(owns) / len(owns) < 0.15


def test_of_both_at_once_the_estimate_is_rather_too_low() -> None:
    owns = [seen(0.3, 0.3, seed=seed).own for seed in range(20)]
    truth = 0.3 / (0.3 + 0.7 * 0.3)
    assert 0.3 * truth < sum(owns) / len(owns) < truth


def test_a_few_second_tries_are_not_believed_at_once() -> None:
    known = NO_TRIES.first(failed=False)
    for many in range(1, 5):
        known = known.second(failed=True)
        assert known.own == pytest.approx(many / (many + PRIOR), abs=0.02)


def test_as_many_failures_are_spared_as_are_usual_and_no_more_when_all_fail() -> None:
    known, spared, failures = seen(0.5, 0.0), 0, 0
    for turn in range(400):
        known = known.first(failed=turn % 2 == 0)
        if turn % 2 == 0:
            failures += 1
            if known.spares:
                known, spared = known.spared(), spared + 1
    assert spared > 0.8 * failures
    counted = 0
    for _ in range(20):
        known = known.first(failed=True)
        counted += not known.spares
        known = known.spared() if known.spares else known
    assert counted >= 20 - MOST_CREDIT - 0.7 * 20


def test_credit_is_limited_and_used_up_one_by_one() -> None:
    known = seen(0.5, 0.0)
    for _ in range(100):
        known = known.first(failed=False)
    assert known.credit == MOST_CREDIT
    for left in (3, 2, 1, 0):
        assert known.spares
        known = known.spared()
        assert known.credit == left
    assert not known.spares


def test_an_endpoint_that_is_overloaded_now_is_soon_noticed() -> None:
    known = seen(0.5, 0.0)
    before = known.own
    for _ in range(100):
        known = known.first(failed=True).second(failed=False)
    assert known.own < 0.4 * before
