"""Recommend a policy for a wish: search, then predict its results with new random numbers."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.estimate import Estimate, estimate
from tarry.sim.recommend import coordinated
from tarry.sim.recommend.candidates import Candidate, candidates
from tarry.sim.recommend.limits import limited
from tarry.sim.recommend.miniature import Floor, Size, Trial, cost, fitting, play
from tarry.sim.recommend.search import (
    SHORTLIST,
    WORLDS,
    Measured,
    chosen,
    front,
    measure,
    prices,
    recovered,
    shortlist,
)
from tarry.sim.recommend.wish import Wish
from tarry.sim.run import PACED

FIRST_LOOK, SECOND_LOOK, THIRD_LOOK = 1_000_000, 2_000_000, 3_000_000
PREDICTION, LANE = 4_000_000, 5_000_000
"""The first run number of each part. So no two parts have the same random numbers, nor does a storm
that somebody simulates later with the recommended policy."""
SCREEN = (0.012, Floor(200.0, 20.0))
CLOSER = (0.2, Floor(500.0, 200.0))
TRUE = (2.5, Floor(1000.0, 1000.0))
"""For each part, the seconds that a run may take, and the limits of shrinking the world."""
LOOKS = (1, 3)
"""The least and the most runs of each condition, depending on the time they take."""
LOOKING = 0.3
PREDICTING = 8.0
LEAST_RUNS = 4
LEADERS = 5
"""How many leaders get more runs at most."""
CONFIRMING, MOST_CONFIRMING = 1.0, 24
"""Seconds for the additional runs of each leader, and how many runs at most."""


class Prediction(NamedTuple):
    """What to expect; `slowest` is the longest recovery, None if some run never recovered."""

    recovery: Estimate
    slowest: float | None
    peak_ratio: float
    attempts: float


class Point(NamedTuple):
    """A point of the Pareto front: the means of its runs."""

    name: str
    policy: Policy | None
    recovery: float
    peak_ratio: float
    attempts: float


class Recommendation(NamedTuple):
    """The result. After an interruption the last parts are missing, or based on fewer runs.

    `size` is the size of the world for which the prediction was made.
    """

    wish: Wish
    seed: int
    candidate: Candidate
    policy: Policy
    predicted: Prediction
    coordinated: Prediction | None
    front: tuple[Point, ...]
    size: Size
    complete: bool

    @property
    def feasible(self) -> bool:
        """Whether everybody was served in time in every run."""
        slowest = self.predicted.slowest
        return slowest is not None and slowest <= self.wish.latency


def steps(wish: Wish, runs: int) -> int:
    """Return how many simulations the search takes at most."""
    screened, looked = len(candidates(wish)), 2 * SHORTLIST * _looks(wish)
    confirmed = LEADERS * _confirming(wish)
    predicted = _runs(wish, runs) + coordinated.paced(wish).runs
    return WORLDS * (screened + looked) + confirmed + predicted


def recommend(
    wish: Wish, *, seed: int, runs: int, on_step: Callable[[], None] = lambda: None
) -> Recommendation | None:
    """Search and predict; `on_step` is called after each simulation.

    Ctrl-C ends the search early and returns what is known by then; None if that is nothing.
    """
    search = _Search(wish, seed, on_step)
    try:
        search.screen()
        search.look_closer()
        search.confirm()
        search.predict(runs)
        search.ask_the_lane()
    except KeyboardInterrupt:
        return search.result(complete=False)
    return search.result(complete=True)


class _Search:
    """The state of the search, from the first look to the prediction."""

    def __init__(self, wish: Wish, seed: int, on_step: Callable[[], None]) -> None:
        self._wish, self._seed, self._on_step = wish, seed, on_step
        self._size = fitting(wish, *TRUE)
        self._screened: list[Measured] = []
        self._looked: list[Measured] = []
        self._confirmed: list[Measured] = []
        self._predicted: list[Trial] = []
        self._lane: list[Trial] = []

    def screen(self) -> None:
        """Measure all candidates in a short run of a small model."""
        size = fitting(self._wish, *SCREEN)
        chances = [Chance(self._seed, FIRST_LOOK)]
        all_candidates = candidates(self._wish)
        measure(
            all_candidates, self._wish, size, chances, into=self._screened, on_step=self._on_step
        )

    def look_closer(self) -> None:
        size = fitting(self._wish, *CLOSER)
        chances = [Chance(self._seed, SECOND_LOOK + run) for run in range(_looks(self._wish))]
        few = shortlist(self._screened)
        measure(few, self._wish, size, chances, into=self._looked, on_step=self._on_step)

    def confirm(self) -> None:
        """Give the current leader more runs, until a leader stays in front after them.

        This finds out a policy that does well except in one run of ten.
        """
        size, more = fitting(self._wish, *CLOSER), _confirming(self._wish)
        chances = [Chance(self._seed, THIRD_LOOK + run) for run in range(more)]
        field = list(self._looked)
        while len(self._confirmed) < LEADERS:
            leader = chosen(self._wish, field)
            if leader in self._confirmed:
                break
            trials = list(leader.plain)
            for chance in chances:
                trials.append(play(self._wish, size, leader.candidate, chance))
                self._on_step()
            field[field.index(leader)] = leader = leader._replace(plain=tuple(trials))
            self._confirmed.append(leader)

    def predict(self, runs: int) -> None:
        candidate = chosen(self._wish, self._confirmed).candidate
        for run in range(_runs(self._wish, runs)):
            chance = Chance(self._seed, PREDICTION + run)
            self._predicted.append(play(self._wish, self._size, candidate, chance))
            self._on_step()

    def ask_the_lane(self) -> None:
        how = coordinated.paced(self._wish)
        for run in range(how.runs):
            self._lane.append(coordinated.play(self._wish, how, Chance(self._seed, LANE + run)))
            self._on_step()

    def result(self, *, complete: bool) -> Recommendation | None:
        known = self._looked or self._screened
        if not known:
            return None
        best = chosen(self._wish, self._confirmed or known)
        slowest = best.worst if math.isfinite(best.worst) else self._wish.outage
        return Recommendation(
            wish=self._wish,
            seed=self._seed,
            candidate=best.candidate,
            policy=limited(best.candidate.policy, outage=self._wish.outage, recovery=slowest),
            predicted=_prediction(self._predicted or best.plain),
            coordinated=_prediction(self._lane) if self._lane else None,
            front=_front(recovered(known), self._lane),
            size=self._size,
            complete=complete,
        )


def _looks(wish: Wish) -> int:
    least, most = LOOKS
    return max(least, min(most, int(LOOKING / cost(wish, fitting(wish, *CLOSER)))))


def _confirming(wish: Wish) -> int:
    return min(MOST_CONFIRMING, int(CONFIRMING / cost(wish, fitting(wish, *CLOSER))))


def _runs(wish: Wish, asked: int) -> int:
    affordable = int(PREDICTING / cost(wish, fitting(wish, *TRUE)))
    return min(asked, max(LEAST_RUNS, affordable))


def _prediction(trials: Sequence[Trial]) -> Prediction:
    recovery = estimate([trial.recovery for trial in trials])
    times = [math.inf if trial.recovery is None else trial.recovery for trial in trials]
    slowest = max(times)
    _, peak, attempts = prices(trials)
    return Prediction(recovery, slowest if math.isfinite(slowest) else None, peak, attempts)


def _front(measured: Sequence[Measured], lane: Sequence[Trial]) -> tuple[Point, ...]:
    points = [
        Point(result.candidate.name, result.candidate.policy, *result.prices) for result in measured
    ]
    if lane:
        points.append(Point(PACED, None, *prices(lane)))
    return tuple(front([(point, point[2:]) for point in points]))
