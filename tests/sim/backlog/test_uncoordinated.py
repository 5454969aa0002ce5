"""Deliveries that retry for themselves, against the known numbers of such recoveries."""

import math
import pickle

import numpy as np
import pytest

from tarry.core.backoff import Backoff, Exponential, Fixed, Schedule
from tarry.core.jitter import Equal, Full, Jitter, NoJitter, Percent
from tarry.core.policy import Policy, RetryAfter
from tarry.sim.backlog.delivery_log import DeliveryLog
from tarry.sim.backlog.endpoint import Manner
from tarry.sim.backlog.settings import BacklogSettings
from tarry.sim.backlog.uncoordinated import simulate
from tarry.sim.chance import Chance

FULL, EQUAL = Full(), Equal()
LADDER = Schedule([10, 30, 120, 600])


def exponential(cap: float) -> Backoff:
    return Exponential(base=1, cap=cap)


def endless(backoff: Backoff, jitter: Jitter) -> Policy:
    return Policy(backoff=backoff, jitter=jitter, attempts=None, within=None)


def known(endpoint: Manner, backoff: Backoff, jitter: Jitter, run: int = 0) -> DeliveryLog:
    """10,000 deliveries wait ten minutes for an endpoint that does 200 a second."""
    settings = BacklogSettings(waiting=10_000, capacity=200, endpoint=endpoint)
    return simulate(settings, endless(backoff, jitter), Chance(1, run))


def recoveries(endpoint: Manner, backoff: Backoff, jitter: Jitter) -> list[float | None]:
    return [known(endpoint, backoff, jitter, run).recovery for run in range(5)]


# --- Known numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backoff", "jitter", "attempts"),
    [
        (exponential(60), FULL, 256_364),
        (exponential(60), EQUAL, 188_125),
        (exponential(300), FULL, 119_796),
        (exponential(85), EQUAL, 154_500),
    ],
    ids=["full 60", "equal 60", "full 300", "equal 85"],
)
def test_attempts_during_the_outage(backoff: Backoff, jitter: Jitter, attempts: int) -> None:
    assert known("shed", backoff, jitter).spent == pytest.approx(attempts, rel=0.005)


def test_a_schedule_makes_each_delivery_try_four_times() -> None:
    assert known("brittle", LADDER, Percent(0.2)).spent == 40_000


@pytest.mark.parametrize(
    ("endpoint", "backoff", "jitter", "seconds"),
    [
        ("shed", exponential(60), FULL, (81, 95)),
        ("shed", exponential(60), EQUAL, (84, 100)),
        ("brittle", exponential(60), EQUAL, (130, 180)),
        ("shed", exponential(300), FULL, (290, 301)),
        ("brittle", exponential(300), FULL, (290, 301)),
        ("shed", LADDER, Percent(0.2), (300, 312)),
        ("brittle", LADDER, Percent(0.2), (300, 312)),
        ("brittle", exponential(85), EQUAL, (80, 90)),
    ],
)
def test_recoveries(
    endpoint: Manner, backoff: Backoff, jitter: Jitter, seconds: tuple[float, float]
) -> None:
    low, high = seconds
    found = [recovery for recovery in recoveries(endpoint, backoff, jitter) if recovery]
    assert len(found) == 5
    assert low <= sum(found) / 5 <= high


@pytest.mark.slow
def test_full_jitter_to_a_minute_never_gets_past_a_brittle_endpoint() -> None:
    log = known("brittle", exponential(60), FULL)
    assert log.recovery is None
    assert log.ended == 3600
    assert log.done < 1_000
    assert log.spent + len(log.attempts) > 1_100_000


@pytest.mark.slow
@pytest.mark.parametrize(("jitter", "least", "ample"), [(FULL, 2.0, 2.2), (EQUAL, 1.33, 1.7)])
def test_the_cap_decides_whether_a_brittle_endpoint_recovers(
    jitter: Jitter, least: float, ample: float
) -> None:
    drain = 50.0
    for recovery in recoveries("brittle", exponential(ample * drain), jitter):
        assert recovery is not None
        assert 0.9 < recovery / (ample * drain) < 1.2  # about one cap
    assert known("brittle", exponential(0.75 * least * drain), jitter).recovery is None


# --- How it works -------------------------------------------------------------------------------


def test_without_jitter_all_come_at_once() -> None:
    settings = BacklogSettings(waiting=100, capacity=1_000, outage=10, latency=0.5, endpoint="shed")
    log = simulate(settings, endless(Fixed(4), NoJitter()), Chance(1))
    assert log.spent == 300  # at -10, -5.5 and -1
    assert (log.attempts == 3.5).sum() == 100
    assert log.recovery == pytest.approx(4.0)


def test_a_world_that_was_never_down_is_done_at_once() -> None:
    settings = BacklogSettings(waiting=50, capacity=1_000, outage=0)
    log = simulate(settings, endless(Fixed(4), NoJitter()), Chance(1))
    assert (log.spent, len(log.attempts)) == (0, 50)
    assert log.recovery == pytest.approx(0.05)


def test_who_got_through_does_not_try_again_in_the_same_second() -> None:
    settings = BacklogSettings(waiting=50, capacity=1_000, outage=0)
    log = simulate(settings, endless(Fixed(0.1), NoJitter()), Chance(1))
    assert (len(log.attempts), log.lost) == (50, 0)
    once = Policy(backoff=Fixed(0.1), jitter=NoJitter(), attempts=1, within=None)
    assert simulate(settings, once, Chance(1)).lost == 0


def test_a_delivery_that_does_not_wait_has_one_attempt_a_tick() -> None:
    settings = BacklogSettings(waiting=2, capacity=1, outage=0, latency=0.001, watch=3)
    log = simulate(settings, endless(Fixed(0), NoJitter()), Chance(1))
    assert len(log.attempts) == 2 * 10 * 3
    assert (log.done, log.lost, log.ended) == (0, 0, 3)


def test_what_is_due_after_the_watch_does_not_happen() -> None:
    settings = BacklogSettings(waiting=2, capacity=1, outage=0, watch=3600)
    log = simulate(settings, endless(Fixed(3599.98), NoJitter()), Chance(1))
    assert (log.attempts.tolist(), log.ended) == ([0, 0], 3600)


def test_what_is_not_done_when_the_watch_ends_is_not_made() -> None:
    settings = BacklogSettings(waiting=100, capacity=5, outage=10, endpoint="shed", watch=8)
    log = simulate(settings, endless(exponential(10), FULL), Chance(1))
    assert (log.ended, log.recovery, log.lost) == (8, None, 0)
    assert 30 <= log.done <= 45
    assert log.attempts.max() < 8


def test_who_may_not_try_again_is_lost() -> None:
    settings = BacklogSettings(waiting=100, capacity=1_000, outage=60)
    for limited in (
        Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=5, within=None),
        Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=None, within=30),
    ):
        log = simulate(settings, limited, Chance(1))
        assert (log.lost, log.done, log.recovery, log.ended) == (100, 0, None, 0)
        assert log.spent == (500 if limited.attempts else 100 * 29)


def test_who_is_left_when_others_are_lost_is_still_delivered() -> None:
    settings = BacklogSettings(waiting=1_000, capacity=10_000, outage=60, endpoint="shed")
    policy = Policy(backoff=Exponential(base=1, cap=60), jitter=Full(), attempts=8, within=None)
    log = simulate(settings, policy, Chance(1))
    assert 0 < log.lost < 1_000
    assert log.done == 1_000 - log.lost
    assert log.recovery is None


def test_a_wish_of_the_down_endpoint_is_honoured_and_may_be_more_than_is_allowed() -> None:
    asking = BacklogSettings(
        waiting=100, capacity=1_000, outage=60, retry_after=50, endpoint="shed"
    )
    patient = endless(Fixed(1), NoJitter())
    assert simulate(asking, patient, Chance(1)).spent < 250
    impatient = patient.replace(retry_after=RetryAfter(at_most=10))
    assert simulate(asking, impatient, Chance(1)).lost == 100
    deaf = patient.replace(retry_after=RetryAfter(honour=False))
    assert simulate(asking, deaf, Chance(1)).spent == 100 * math.ceil(60 / 1.05)


def test_random_errors_cost_their_share_of_attempts() -> None:
    settings = BacklogSettings(
        waiting=5_000, capacity=2_000, outage=60, error_rate=0.2, endpoint="shed"
    )
    log = simulate(settings, endless(exponential(60), FULL), Chance(1))
    assert len(log.attempts) / log.done == pytest.approx(1 / 0.8, rel=0.03)


def test_fresh_messages_come_in_and_are_delivered() -> None:
    settings = BacklogSettings(
        waiting=100, capacity=1_000, outage=10, arrivals=20, endpoint="shed", watch=300
    )
    log = simulate(settings, endless(exponential(60), FULL), Chance(1))
    assert len(log.fresh_at) == pytest.approx(20 * log.ended, rel=0.3)
    assert np.isfinite(log.fresh_delivered).mean() > 0.9
    assert (log.fresh_delivered >= log.fresh_at).all()


# --- Chance -------------------------------------------------------------------------------------


def same(one: DeliveryLog, other: DeliveryLog) -> bool:
    return pickle.dumps(one) == pickle.dumps(other)


def test_a_seed_gives_the_same_run_again_and_another_another() -> None:
    settings = BacklogSettings(
        waiting=500, capacity=50, outage=60, error_rate=0.1, arrivals=5, endpoint="degrade"
    )
    policy = endless(exponential(60), FULL)
    assert same(simulate(settings, policy, Chance(7)), simulate(settings, policy, Chance(7)))
    assert not same(simulate(settings, policy, Chance(7)), simulate(settings, policy, Chance(8)))
    assert not same(simulate(settings, policy, Chance(7)), simulate(settings, policy, Chance(7, 1)))


def test_arrivals_do_not_depend_on_the_policy() -> None:
    settings = BacklogSettings(
        waiting=500, capacity=200, outage=60, arrivals=20, endpoint="shed", watch=100
    )
    one = simulate(settings, endless(exponential(60), FULL), Chance(7)).fresh_at
    two = simulate(settings, endless(exponential(10), EQUAL), Chance(7)).fresh_at
    shorter = min(len(one), len(two))
    assert shorter > 50
    assert (one[:shorter] == two[:shorter]).all()
