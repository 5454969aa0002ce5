from statistics import fmean

import pytest

from tarry.sim.backlog.endpoint import MANNERS, Manner
from tarry.sim.chance import Chance
from tarry.sim.recommend.coordinated import Paced, paced, play, probe_interval, rule_of_thumb
from tarry.sim.recommend.wish import Wish

PLAIN = Wish(clients=2_000, capacity=200, outage=600, latency=120)


def test_few_clients_are_played_at_full_size_five_times() -> None:
    assert paced(PLAIN) == Paced(thinned=1.0, shorter=1.0, runs=5)


@pytest.mark.parametrize(
    ("clients", "capacity", "how"),
    [
        (20_000, 200, Paced(1.0, 1.0, 2)),
        (1_000_000, 5_000, Paced(50.0, 1.0, 2)),
        (36_000, 10, Paced(1.0, 2.0, 2)),
        (360_000, 50, Paced(4.5, 4.0, 2)),
    ],
)
def test_many_clients_are_thinned_and_long_drains_shortened(
    clients: int, capacity: float, how: Paced
) -> None:
    assert paced(PLAIN.replace(clients=clients, capacity=capacity)) == how


def test_the_lane_is_done_about_when_the_rule_of_thumb_says() -> None:
    trial = play(PLAIN, paced(PLAIN), Chance(1))
    assert trial.recovery == pytest.approx(rule_of_thumb(PLAIN), rel=0.5)
    assert trial.recovery is not None
    assert trial.recovery >= PLAIN.drain
    assert trial.attempts < PLAIN.clients / 10


def test_the_rule_of_thumb_adds_up() -> None:
    probe = probe_interval(PLAIN)
    assert probe >= 1
    assert rule_of_thumb(PLAIN) == pytest.approx(probe / 2 + 4 + 10 / 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", MANNERS)
@pytest.mark.parametrize(
    ("clients", "capacity"), [(3_000, 30), (3_000, 300), (4_000, 1_000), (6_000, 200)]
)
def test_after_a_long_outage_the_rule_of_thumb_is_close_to_what_lanes_take(
    clients: int, capacity: float, endpoint: Manner
) -> None:
    wish = PLAIN.replace(clients=clients, capacity=capacity, endpoint=endpoint)
    trials = [play(wish, Paced(1.0, 1.0, 1), Chance(1, run)) for run in range(4)]
    recoveries = [trial.recovery for trial in trials if trial.recovery is not None]
    assert len(recoveries) == len(trials)
    assert fmean(recoveries) == pytest.approx(rule_of_thumb(wish), rel=0.3)


def test_a_shortened_drain_is_told_in_full() -> None:
    wish = PLAIN.replace(capacity=50, outage=60)
    full = play(wish, Paced(1.0, 1.0, 1), Chance(1)).recovery
    short = play(wish, Paced(1.0, 2.0, 1), Chance(1)).recovery
    assert short == pytest.approx(full, rel=0.35)


def test_an_outage_of_days_is_probed_rarely_and_told_in_full() -> None:
    hours, days = (
        play(PLAIN.replace(outage=outage), paced(PLAIN), Chance(1)) for outage in (7_200, 432_000)
    )
    assert 300 < hours.attempts < days.attempts < 1_000
    assert days.recovery is not None
    assert PLAIN.drain < days.recovery < 1.1 * 3_600 + 2 * PLAIN.drain


def test_an_outage_of_months_goes_on_as_one_of_a_month() -> None:
    month, months = (
        play(PLAIN.replace(outage=days * 86_400), paced(PLAIN), Chance(1)) for days in (30, 60)
    )
    assert months.recovery == month.recovery
    assert months.attempts == pytest.approx(month.attempts + 30 * 24, rel=0.1)
