"""Search for the policy that serves everybody soonest, even if conditions are a little worse.

All candidates get the same random numbers. Each is simulated as wished for, with a tenth more
clients, and with an outage half as long again. Its worst run counts, so nothing near a cliff is
chosen.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

from tarry.sim.backlog.settings import MOST_DELIVERIES
from tarry.sim.chance import Chance
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.miniature import Size, Trial, play
from tarry.sim.recommend.pauses import pauses
from tarry.sim.recommend.wish import LONGEST_DRAIN, LONGEST_OUTAGE, Wish

MORE_CLIENTS = 1.1
LONGER_OUTAGE = 1.5
WORLDS = 3
CUT = 2.5
"""A candidate that takes this many times as long as the best one is stopped early."""
CLOSE = 1.1
"""Among candidates within a tenth of the best, other merits decide."""
BEARABLE, WORTH = 3.0, 1.5
"""Refusing attempts costs a service something. So a peak above `BEARABLE` is accepted only if every
gentler candidate takes more than `WORTH` times as long."""
OFFERED = 0.95
"""The share of the capacity that all clients together may demand in an endless outage."""
SHORTLIST = 6

Step = Callable[[], None]
Found = TypeVar("Found")
Prices = tuple[float, ...]


class Measured(NamedTuple):
    """The results of a candidate, as wished for and under worse conditions."""

    candidate: Candidate
    plain: tuple[Trial, ...]
    worse: tuple[Trial, ...]

    @property
    def worst(self) -> float:
        """The longest recovery of all runs, or inf."""
        return max(_time(trial) for trial in (*self.plain, *self.worse))

    @property
    def peak(self) -> float:
        """The highest peak of all runs, divided by the capacity."""
        return max(trial.peak_ratio for trial in (*self.plain, *self.worse))

    @property
    def load(self) -> float:
        """The mean peak of all runs, divided by the capacity."""
        return fmean(trial.peak_ratio for trial in (*self.plain, *self.worse))

    @property
    def prices(self) -> tuple[float, float, float]:
        """The criteria of the Pareto front: recovery, peak and attempts, as wished for."""
        return prices(self.plain)


def prices(trials: Sequence[Trial]) -> tuple[float, float, float]:
    """Return the means of recovery, peak, and attempts during the outage."""
    return (
        fmean(_time(trial) for trial in trials),
        fmean(trial.peak_ratio for trial in trials),
        fmean(trial.attempts for trial in trials),
    )


def conditions(wish: Wish) -> tuple[Wish, Wish, Wish]:
    """Return the wish and two slightly worse versions of it, within the limits of a wish."""
    most = min(MOST_DELIVERIES, int(LONGEST_DRAIN * wish.capacity))
    return (
        wish,
        wish.replace(clients=min(math.ceil(wish.clients * MORE_CLIENTS), most)),
        wish.replace(outage=min(wish.outage * LONGER_OUTAGE, LONGEST_OUTAGE)),
    )


def measure(  # noqa: PLR0913  what to measure, how, and where the results go
    candidates: Iterable[Candidate],
    wish: Wish,
    size: Size,
    chances: Sequence[Chance],
    *,
    into: list[Measured],
    on_step: Step,
) -> None:
    """Simulate all candidates, and add the results to `into` one by one."""
    worlds = conditions(wish)
    best = math.inf
    for candidate in candidates:
        trials: list[list[Trial]] = [[] for _ in worlds]
        given_up = False
        for chance in chances:
            for world, results in zip(worlds, trials, strict=True):
                if not given_up:
                    results.append(play(world, size, candidate, chance, watch=CUT * best))
                    given_up = results[-1].recovery is None
                on_step()
        plain, more_clients, longer_outage = map(tuple, trials)
        into.append(Measured(candidate, plain, more_clients + longer_outage))
        best = min(best, into[-1].worst)


def recovered(measured: Sequence[Measured]) -> list[Measured]:
    """Return the candidates that recovered in every run; if there are none, all."""
    return [result for result in measured if math.isfinite(result.worst)] or list(measured)


def dominates(left: Prices, right: Prices) -> bool:
    """Return whether `left` is nowhere more expensive than `right`, and somewhere cheaper.

    >>> dominates((1, 2), (1, 3)), dominates((1, 2), (2, 1))
    (True, False)
    """
    return left != right and all(mine <= theirs for mine, theirs in zip(left, right, strict=True))


def front(priced: Sequence[tuple[Found, Prices]]) -> list[Found]:
    """Return the Pareto front: what nothing else dominates.

    The cheapest by the first criterion comes first.
    """
    kept = [
        (prices, place)
        for place, (_, prices) in enumerate(priced)
        if not any(dominates(other, prices) for _, other in priced)
    ]
    return [priced[place][0] for _, place in sorted(kept)]


def shortlist(measured: Sequence[Measured]) -> list[Candidate]:
    """Return the fastest candidates, and as many spread evenly along the Pareto front."""
    good = recovered(measured)
    soonest = sorted(good, key=lambda result: result.worst)[:SHORTLIST]
    along = front([(result, result.prices) for result in good])
    places = (round(place * (len(along) - 1) / (SHORTLIST - 1)) for place in range(SHORTLIST))
    return list(
        dict.fromkeys(result.candidate for result in (*soonest, *(along[at] for at in places)))
    )


def lasting(wish: Wish, candidate: Candidate) -> bool:
    """Return whether the clients' steady retries stay below the capacity.

    A crowd that only its first wait has spread would become a storm in a longer outage.
    """
    if wish.endpoint == "shed":
        return True
    return wish.clients <= OFFERED * wish.capacity * pauses(candidate.policy).mean


def chosen(wish: Wish, measured: Sequence[Measured]) -> Measured:
    """Return the candidate with the best worst run, or a better one that is close to it.

    Better is one that never overloads, and then one that suits single failures, too. If none
    recovers, return the one with the longest waits.
    """
    best = min(result.worst for result in measured)
    if math.isinf(best):
        return max(measured, key=lambda result: result.candidate.backoff.ceiling)
    able = [
        result
        for result in measured
        if result.worst <= WORTH * best
        and result.load <= BEARABLE
        and lasting(wish, result.candidate)
    ] or measured
    close = CLOSE * min(result.worst for result in able)
    return min(
        (result for result in able if result.worst <= close),
        key=lambda result: (result.peak > 1, not result.candidate.rising, result.worst),
    )


def _time(trial: Trial) -> float:
    return math.inf if trial.recovery is None else trial.recovery
