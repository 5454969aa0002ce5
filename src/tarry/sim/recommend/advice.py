"""The sentences of a recommendation: whether the wish can come true, and why this policy."""

import math
from collections.abc import Iterator, Mapping

from tarry.core.backoff import Exponential
from tarry.core.duration import spoken
from tarry.sim.backlog.endpoint import Manner
from tarry.sim.recommend.coordinated import RAMP, probe_interval, rule_of_thumb
from tarry.sim.recommend.limits import MARGIN, upward
from tarry.sim.recommend.pauses import pauses
from tarry.sim.recommend.recommendation import Recommendation
from tarry.sim.recommend.search import lasting

AT_BEST = 1.33
"""Clients with jitter need at least this many drain limits, as they never fill every second."""
DIGITS = 3
TOKENS, LEAST_RETRIES = 10, 20
"""What a failed retry costs a quota, and how many retries it allows at least in an outage."""
FEW_WAITS = 3
CLEARLY = 1.05
SHORTER: Mapping[Manner, str] = {
    "shed": "Longer ones take longer, shorter ones are mostly refused.",
    "brittle": "Longer ones take longer, shorter ones offer more than it bears.",
    "degrade": "Longer ones take longer, shorter ones slow it down.",
}
"""Why other waits are worse, by how the endpoint behaves above its capacity."""


def verdict(recommendation: Recommendation) -> str:
    """Say whether everybody is served in time; if not, why, and what would help."""
    wish, predicted = recommendation.wish, recommendation.predicted
    within = spoken(wish.latency)
    if wish.latency < wish.drain:
        enough = _rate(wish.clients / wish.latency)
        return (
            f"Infeasible: no policy can. {wish.clients:,} clients at {_rate(wish.capacity)} a "
            f"second take {spoken(wish.drain)} (the drain limit), more than {within}. Add "
            f"capacity, to well above {enough} a second, or allow more time."
        )
    if predicted.slowest is None:
        return (
            "Infeasible for clients that retry for themselves: no policy that was tried recovers "
            f"in every run. {_coordination_sentence(recommendation)}"
        )
    if not recommendation.feasible:
        more = _rate(upward(wish.capacity * predicted.slowest / wish.latency, DIGITS))
        return (
            "Infeasible for clients that retry for themselves: they do not know of each other, and "
            f"seldom need less than {AT_BEST} drain limits. The one below takes up to "
            f"{spoken(predicted.slowest)}, more than {within}. "
            f"{_coordination_sentence(recommendation)} "
            f"Otherwise add capacity, to about {more} a second, or allow "
            f"{spoken(upward(predicted.slowest))}."
        )
    runs = predicted.recovery.runs
    return (
        f"Feasible: everybody is served within {spoken(predicted.slowest)} in each of {runs} runs; "
        f"{within} are allowed."
    )


def sentences(recommendation: Recommendation) -> list[str]:
    """Say why this policy, what its limits outlast, and what else to consider."""
    return [
        *_load_sentences(recommendation),
        *_wait_sentences(recommendation),
        _limits_sentence(recommendation),
        *_lane_sentences(recommendation),
        _budget_sentence(recommendation),
    ]


def _load_sentences(recommendation: Recommendation) -> Iterator[str]:
    wish, mean = recommendation.wish, pauses(recommendation.policy).mean
    if wish.clients <= wish.capacity:
        yield (
            f"All {wish.clients:,} clients fit into one second of the capacity: any wait that "
            "spreads them over a second will do."
        )
    else:
        yield (
            f"The drain limit is {spoken(wish.drain)}: {wish.clients:,} clients at "
            f"{_rate(wish.capacity)} a second."
        )
    offered = wish.clients / mean
    yield (
        f"Each waits {spoken(mean)} on average, so all together they offer {_rate(offered)} "
        f"attempts a second in a long outage, {_percent(offered / wish.capacity)} of the capacity."
    )
    if not lasting(wish, recommendation.candidate):
        yield "Careful: in an outage much longer than this one, that is more than it bears."


def _wait_sentences(recommendation: Recommendation) -> Iterator[str]:
    wish, backoff = recommendation.wish, recommendation.policy.backoff
    if wish.clients > wish.capacity:
        yield (
            f"The longest wait is {backoff.ceiling / wish.drain:.3g} x the drain limit. "
            f"{SHORTER[wish.endpoint]} Judged by its worst run it was the soonest done, or close "
            "to it: as wished for, with 10 % more clients, and with an outage half as long again."
        )
    alone = [point for point in recommendation.front if point.policy is not None]
    if any(
        point.recovery < (recommendation.predicted.recovery.mean or 0) / CLEARLY for point in alone
    ):
        yield "Those above that are quicker were slower there, or offer too much if it lasts."
    if not isinstance(backoff, Exponential):
        few = wish.outage < FEW_WAITS * backoff.ceiling
        why = "after so short an outage" if few else "here"
        yield (
            f"The first wait is as long as all others: {why} a backoff that rises from a second "
            "has not spread the clients yet. The price: a lone failure waits as long."
        )


def _limits_sentence(recommendation: Recommendation) -> str:
    policy = recommendation.policy
    return (
        f"attempts = {policy.attempts} and within = {policy.within:g} outlast an outage "
        f"{MARGIN:g} times as long and the recovery after it."
    )


def _lane_sentences(recommendation: Recommendation) -> Iterator[str]:
    lane = recommendation.coordinated
    if lane is None or lane.recovery.mean is None:
        return
    probe = probe_interval(recommendation.wish) / 2
    yield (
        "Coordinated: one dispatcher that sends them all (a paced lane) is done in "
        f"{spoken(lane.recovery.mean)} with {lane.attempts:,.0f} attempts in the outage. By rule "
        f"of thumb: {spoken(probe)} to notice + {spoken(RAMP)} to speed up + the drain at 95 % = "
        f"{spoken(rule_of_thumb(recommendation.wish))}."
    )


def _budget_sentence(recommendation: Recommendation) -> str:
    capacity = TOKENS * max(LEAST_RETRIES, math.ceil(recommendation.wish.capacity))
    return (
        "For calls somebody waits for, put a budget beside it, shared by all callers of the "
        f"service: Quota(capacity={capacity}, cost={TOKENS}), a second of its traffic. What must "
        "arrive in the end needs none. Retry at one layer only."
    )


def _coordination_sentence(recommendation: Recommendation) -> str:
    lane, latency = recommendation.coordinated, recommendation.wish.latency
    if lane is None:
        return "One dispatcher that sends them all (a paced lane) may do better."
    if lane.slowest is None:
        return "One dispatcher that sends them all (a paced lane) does not recover either."
    took = spoken(lane.slowest)
    if lane.slowest <= latency:
        return f"One dispatcher that sends them all (a paced lane) does it in {took}."
    return f"One dispatcher that sends them all (a paced lane) needs {took}: not in time either."


def _rate(number: float) -> str:
    rounded = float(f"{number:.{DIGITS}g}")
    return f"{rounded:,.0f}" if rounded >= 10**DIGITS else f"{rounded:.{DIGITS}g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
