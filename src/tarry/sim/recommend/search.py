"""Look for the policy that serves everybody soonest, also when things are a little worse.

Every candidate meets the same chance. Each is played as wished for, with a tenth more clients, and
with an outage half as long again; what counts is its worst run, so nothing near a cliff is chosen.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

from tarry.sim.chance import Chance
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.miniature import Size, Trial, play
from tarry.sim.recommend.pauses import pauses
from tarry.sim.recommend.wish import LONGEST_DRAIN, LONGEST_OUTAGE, Wish
from tarry.sim.world import MOST

MORE_CLIENTS = 1.1
LONGER_OUTAGE = 1.5
WORLDS = 3
CUT = 2.5
"""Who takes so many times as long as the best one is not played to the end."""
CLOSE = 1.1
"""Within a tenth of the best, the choice is by other merits."""
BEARABLE, WORTH = 3.0, 1.5
"""No service refuses for free: a higher peak than this must be worth it, in time."""
OFFERED = 0.95
"""How much of the capacity all clients together may ask for, in an outage without end."""
SHORTLIST = 6

Step = Callable[[], None]
Found = TypeVar("Found")
Prices = tuple[float, ...]


class Measured(NamedTuple):
    """What a candidate did as wished for, and under worse conditions."""

    candidate: Candidate
    plain: tuple[Trial, ...]
    worse: tuple[Trial, ...]

    @property
    def worst(self) -> float:
        """The longest recovery of all runs, or inf."""
        return max(_time(trial) for trial in (*self.plain, *self.worse))

    @property
    def peak(self) -> float:
        """The highest peak of all runs, to the capacity."""
        return max(trial.peak_ratio for trial in (*self.plain, *self.worse))

    @property
    def load(self) -> float:
        """The mean peak of all runs, to the capacity."""
        return fmean(trial.peak_ratio for trial in (*self.plain, *self.worse))

    @property
    def prices(self) -> tuple[float, float, float]:
        """What the front is about: recovery, peak and attempts, as wished for."""
        return prices(self.plain)


def prices(trials: Sequence[Trial]) -> tuple[float, float, float]:
    """The means of recovery, peak and attempts during the outage."""
    return (
        fmean(_time(trial) for trial in trials),
        fmean(trial.peak_ratio for trial in trials),
        fmean(trial.attempts for trial in trials),
    )


def conditions(wish: Wish) -> tuple[Wish, Wish, Wish]:
    """The wish, and what is a little worse, as far as a wish may go."""
    most = min(MOST, int(LONGEST_DRAIN * wish.capacity))
    return (
        wish,
        wish.replace(clients=min(math.ceil(wish.clients * MORE_CLIENTS), most)),
        wish.replace(outage=min(wish.outage * LONGER_OUTAGE, LONGEST_OUTAGE)),
    )


def measure(  # noqa: PLR0913  whom, where, how often, and who is told
    candidates: Iterable[Candidate],
    wish: Wish,
    size: Size,
    chances: Sequence[Chance],
    *,
    into: list[Measured],
    on_step: Step,
) -> None:
    """Play all candidates and add what they did, one by one, as far as it gets."""
    worlds = conditions(wish)
    best = math.inf
    for candidate in candidates:
        trials: list[list[Trial]] = [[] for _ in worlds]
        given_up = False
        for chance in chances:
            for world, found in zip(worlds, trials, strict=True):
                if not given_up:
                    found.append(play(world, size, candidate, chance, watch=CUT * best))
                    given_up = found[-1].recovery is None
                on_step()
        plain, more_clients, longer_outage = map(tuple, trials)
        into.append(Measured(candidate, plain, more_clients + longer_outage))
        best = min(best, into[-1].worst)


def recovered(found: Sequence[Measured]) -> list[Measured]:
    """Those that recovered in every run; if there are none, all."""
    return [one for one in found if math.isfinite(one.worst)] or list(found)


def dominates(one: Prices, other: Prices) -> bool:
    """Whether one is nowhere dearer than the other, and somewhere cheaper.

    >>> dominates((1, 2), (1, 3)), dominates((1, 2), (2, 1))
    (True, False)
    """
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def front(found: Sequence[tuple[Found, Prices]]) -> list[Found]:
    """What cannot be had better in one respect without being worse in another.

    The cheapest in the first respect comes first.
    """
    kept = [
        (prices, place)
        for place, (_, prices) in enumerate(found)
        if not any(dominates(other, prices) for _, other in found)
    ]
    return [found[place][0] for _, place in sorted(kept)]


def shortlist(found: Sequence[Measured]) -> list[Candidate]:
    """The soonest done, and as many of the front between the quickest and the gentlest."""
    good = recovered(found)
    soonest = sorted(good, key=lambda one: one.worst)[:SHORTLIST]
    along = front([(one, one.prices) for one in good])
    places = (round(place * (len(along) - 1) / (SHORTLIST - 1)) for place in range(SHORTLIST))
    return list(dict.fromkeys(one.candidate for one in (*soonest, *(along[at] for at in places))))


def lasting(wish: Wish, candidate: Candidate) -> bool:
    """Whether all of them, retrying for however long, offer no more than can be served.

    What was spread by its first wait only would become a storm in a longer outage.
    """
    if wish.endpoint == "shed":
        return True
    return wish.clients <= OFFERED * wish.capacity * pauses(candidate.policy).mean


def chosen(wish: Wish, found: Sequence[Measured]) -> Measured:
    """The one with the best worst run, or one close to it that has more to speak for it.

    Best one that never overloads, then one that suits lone failures too. If none recovers, the
    gentlest.
    """
    best = min(one.worst for one in found)
    if math.isinf(best):
        return max(found, key=lambda one: one.candidate.backoff.ceiling)
    able = [
        one
        for one in found
        if one.worst <= WORTH * best and one.load <= BEARABLE and lasting(wish, one.candidate)
    ] or found
    close = CLOSE * min(one.worst for one in able)
    return min(
        (one for one in able if one.worst <= close),
        key=lambda one: (one.peak > 1, not one.candidate.rising, one.worst),
    )


def _time(trial: Trial) -> float:
    return math.inf if trial.recovery is None else trial.recovery
