"""The search as a whole, and its predictions held to simulations it has never seen."""

import math
from random import Random
from statistics import fmean

import pytest

from tarry.core.text import from_toml, to_toml
from tarry.sim.backlog.endpoint import MANNERS
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.recommend import coordinated, recommendation, search
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.miniature import Size, Trial, play
from tarry.sim.recommend.recommendation import (
    LEADERS,
    LOOKS,
    MOST_CONFIRMING,
    Recommendation,
    recommend,
    steps,
)
from tarry.sim.recommend.search import SHORTLIST, WORLDS, dominates
from tarry.sim.recommend.wish import Wish
from tarry.sim.run import Contestant

USUALLY = 7
"""How many of the wishes are tried in a run that is not long."""
SMALL = Wish(clients=100, capacity=50, outage=5, latency=20)


def wishes() -> list[Wish]:
    """Draw 20 cases, evenly on a logarithmic scale."""
    random = Random(20)

    def drawn(low: float, high: float) -> float:
        return math.exp(random.uniform(math.log(low), math.log(high)))

    return [
        Wish(
            clients=round(drawn(200, 2_000)),
            capacity=round(drawn(30, 1_000)),
            outage=round(drawn(5, 400)),
            latency=3_600,
            endpoint=MANNERS[number % 3],
        )
        for number in range(20)
    ]


CASES = [
    pytest.param(
        wish,
        id=f"{wish.clients}-{wish.capacity:g}",
        marks=[pytest.mark.long] if number >= USUALLY else [],
    )
    for number, wish in enumerate(wishes())
]


@pytest.fixture(scope="module")
def found() -> Recommendation:
    told = recommend(SMALL, seed=1, runs=20)
    assert told is not None
    return told


def interrupt_after(simulations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when so many simulations are done."""
    left = [None] * simulations
    simulate = Backlog.simulate

    def some(self: Backlog, contestant: Contestant, chance: Chance) -> object:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return simulate(self, contestant, chance)

    monkeypatch.setattr(Backlog, "simulate", some)


@pytest.mark.slow
@pytest.mark.parametrize("wish", CASES)
def test_predictions_hold_on_chance_that_was_not_seen(wish: Wish) -> None:
    told = recommend(wish, seed=1, runs=20)
    assert told is not None
    assert told.feasible
    predicted = told.predicted.recovery.mean
    backlog = Backlog(
        waiting=wish.clients, capacity=wish.capacity, outage=wish.outage, endpoint=wish.endpoint
    )
    policy = from_toml(to_toml(told.policy))
    runs = [
        backlog.simulate(Contestant("told", policy), Chance(99, run)).metrics for run in range(8)
    ]
    recoveries = [run["recovery"] for run in runs]
    assert fmean(time for time in recoveries if time is not None) == pytest.approx(
        predicted, rel=0.15
    )
    assert None not in recoveries
    during = fmean(run["attempts_during_outage"] or 0 for run in runs)
    assert told.predicted.attempts == pytest.approx(during, rel=0.05)


def test_cases_include_outages_shorter_than_the_cap_and_all_endpoints() -> None:
    cases = wishes()
    assert sum(wish.outage < 2 * wish.drain for wish in cases) >= 3
    assert any(wish.outage < 2 * wish.drain for wish in cases[:USUALLY])
    assert {wish.endpoint for wish in cases[:USUALLY]} == set(MANNERS)


def test_it_is_predicted_by_as_many_runs_as_were_asked_for(found: Recommendation) -> None:
    assert found.complete
    assert found.predicted.recovery.runs == 20
    assert found.size == Size()
    low, mean, high = (
        found.predicted.recovery.low,
        found.predicted.recovery.mean,
        found.predicted.recovery.high,
    )
    assert low is not None
    assert mean is not None
    assert high is not None
    assert low <= mean <= high
    assert found.predicted.slowest is not None
    assert found.predicted.slowest >= mean


def test_the_policy_is_the_candidate_with_limits(found: Recommendation) -> None:
    assert found.policy.backoff == found.candidate.backoff
    assert found.policy.jitter == found.candidate.jitter
    assert found.policy.name == found.candidate.name
    assert found.policy.within is not None
    assert found.policy.within >= 2 * SMALL.outage
    assert found.policy.attempts is not None


def test_no_point_of_the_front_is_dominated(found: Recommendation) -> None:
    prices = [point[2:] for point in found.front]
    assert len(prices) > 1
    assert not any(dominates(price, other) for price in prices for other in prices)
    assert prices == sorted(prices)


def test_the_lane_is_in_the_front_or_beaten(found: Recommendation) -> None:
    assert found.coordinated is not None
    assert found.coordinated.recovery.mean is not None
    lane = (
        found.coordinated.recovery.mean,
        found.coordinated.peak_ratio,
        found.coordinated.attempts,
    )
    shown = any(point.policy is None for point in found.front)
    assert shown or any(dominates(point[2:], lane) for point in found.front)


def test_the_same_seed_gives_the_same_answer(found: Recommendation) -> None:
    assert recommend(SMALL, seed=1, runs=20) == found
    other = recommend(SMALL, seed=2, runs=20)
    assert other is not None
    assert other.predicted != found.predicted


def test_steps_are_counted_beforehand() -> None:
    heard: list[None] = []
    recommend(SMALL, seed=1, runs=5, on_step=lambda: heard.append(None))
    most = steps(SMALL, 5)
    again = WORLDS * 2 * SHORTLIST * LOOKS[-1] + LEADERS * MOST_CONFIRMING
    assert most - again <= len(heard) <= most  # fewer may have to be looked at again


def test_more_runs_only_add_to_the_prediction(found: Recommendation) -> None:
    fewer = recommend(SMALL, seed=1, runs=4)
    assert fewer is not None
    assert fewer.predicted.recovery.runs == 4
    assert fewer.policy == found.policy
    assert fewer.front == found.front


def test_a_wish_is_feasible_if_its_slowest_run_is_in_time(found: Recommendation) -> None:
    slowest = found.predicted.slowest
    assert slowest is not None
    assert found.feasible
    assert found._replace(wish=SMALL.replace(latency=slowest)).feasible
    assert not found._replace(wish=SMALL.replace(latency=slowest - 0.01)).feasible
    assert not found._replace(predicted=found.predicted._replace(slowest=None)).feasible


def test_a_great_many_clients_are_predicted_from_fewer_runs() -> None:
    wish = Wish(clients=1_000_000, capacity=5_000, outage=600, latency=900)
    assert steps(wish, 20) < steps(SMALL, 20)


def test_a_leader_that_fails_now_and_then_is_found_out(
    found: Recommendation, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = found.candidate

    def played(
        wish: Wish, size: Size, candidate: Candidate, chance: Chance, *, watch: float = math.inf
    ) -> Trial:
        """Let one run of the third look go wrong for the leader."""
        trial = play(wish, size, candidate, chance, watch=watch)
        wrong = candidate == leader and chance.run == recommendation.THIRD_LOOK + 7
        return trial._replace(recovery=1_000.0) if wrong else trial

    monkeypatch.setattr(recommendation, "play", played)
    told = recommend(SMALL, seed=1, runs=20)
    assert told is not None
    assert told.candidate != leader
    assert told.front == found.front


def test_ctrl_c_before_anything_is_known_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(0, monkeypatch)
    assert recommend(SMALL, seed=1, runs=5) is None


@pytest.mark.parametrize("simulations", [3, 50, 260])
def test_ctrl_c_leaves_what_is_known(simulations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(simulations, monkeypatch)
    told = recommend(SMALL, seed=1, runs=5)
    assert told is not None
    assert not told.complete
    assert told.coordinated is None
    assert told.front
    assert told.predicted.recovery.runs >= 1


def test_ctrl_c_at_the_last_step_keeps_the_prediction(
    found: Recommendation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> Trial:
        raise KeyboardInterrupt

    monkeypatch.setattr(coordinated, "play", stopped)
    told = recommend(SMALL, seed=1, runs=20)
    assert told is not None
    assert (told.complete, told.coordinated) == (False, None)
    assert told.predicted == found.predicted
    assert told.policy == found.policy


def test_if_nothing_recovers_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> Trial:
        return Trial(None, 5.0, 1_000.0)

    monkeypatch.setattr(search, "play", never)
    monkeypatch.setattr(recommendation, "play", never)
    told = recommend(SMALL, seed=1, runs=3)
    assert told is not None
    assert not told.feasible
    assert told.predicted.recovery.mean is None
    assert told.predicted.slowest is None
    assert told.policy.within is not None
