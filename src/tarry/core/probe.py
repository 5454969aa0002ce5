"""When an open lane sends its next probe: often while the outage is young, then ever more rarely.

In the first ten minutes there are never more probes than the rule's allowance, and never more than
help: a probe every 4 % of the time that the backlog takes to drain notices the recovery soon
enough. After that, the age of the outage decides (`ProbeRule`): an endpoint with one message
waiting gets 283 requests in five days, and not 13,700.
"""

import math

from tarry.core.pace import Pace, PacerRule

SHORTEST, LONGEST = 1.0, 3600.0
OF_THE_DRAIN = 0.04
JITTER = 0.1
"""Probes come later by up to this share, never sooner: sooner would break the allowance."""
ROUNDING = 1e-6
STEADY_SHORTEST = 2.5
"""The least number of seconds between probes after the first ten minutes, unless the rule wants a
probe sooner. So 10,000 waiting deliveries cost 2,000 requests in five days; the allowance alone
would be 1,800 in the first hour."""
LONGEST_ASKED = 3600.0
"""However long a wait an endpoint asks for, it is probed after an hour."""


def interval(rule: PacerRule, pace: Pace, *, now: float, waiting: int) -> float:
    """Return the seconds between probes, before jitter."""
    age = now - pace.down_since
    drain = 0.0 if pace.capacity is None else OF_THE_DRAIN * waiting / pace.capacity
    if age < rule.span:
        pause = min(rule.span / 2, max(_first_span_interval(rule, age, waiting), drain))
        # The last of these probes comes after the first ten minutes, and must not be too late then.
        latest = rule.span + rule.probe.latest(rule.span, waiting=waiting) - age
        return max(SHORTEST, min(pause, latest / (1 + JITTER)))
    latest = rule.probe.latest(age, waiting=waiting) / (1 + JITTER)
    if age >= rule.probe.steady:
        return max(SHORTEST, latest)
    apart = max(STEADY_SHORTEST, rule.span / _allowed(rule, waiting) * (1 + ROUNDING), drain)
    return max(SHORTEST, min(latest, apart))


def _allowed(rule: PacerRule, waiting: int) -> int:
    """Return how many probes may be sent in a span."""
    return math.floor(max(rule.allowance * waiting, rule.least_probes))


def _first_span_interval(rule: PacerRule, age: float, waiting: int) -> float:
    """Return the seconds between probes in the first span.

    With a small backlog, wait as long as the outage has lasted. With a larger one, probe sooner: a
    short outage is followed by a short drain, and a late probe would cost a large share of it.
    """
    allowed = _allowed(rule, waiting)
    eager = (rule.least_probes / allowed) ** 1.4
    return min(_young_interval(age, eager), _rest_interval(rule, allowed, eager)) * (1 + ROUNDING)


def _young_interval(age: float, eager: float) -> float:
    """Return the seconds between probes of a young outage: they grow from the first second on.

    A constant interval at first would cost more probes and gain less than shorter ones later.
    """
    return SHORTEST + (age - SHORTEST) * eager


def _rest_interval(rule: PacerRule, allowed: int, eager: float) -> float:
    """Return the seconds between probes in the rest of the first span, after the young outage.

    The failures that opened the lane and the early probes are subtracted from the allowance. The
    interval is computed once, not from the remaining allowance at each probe: that would lead every
    lane to the same moment at the end.
    """
    age, remaining = SHORTEST, allowed - rule.failures - 1
    while (young := _young_interval(age, eager)) < (rule.span - age) / remaining:
        age, remaining = age + young, remaining - 1
    return (rule.span - age) / remaining


def scheduled(rule: PacerRule, pace: Pace, *, now: float, waiting: int, draw: float) -> Pace:
    """Return the open state with the time of its next probe set."""
    # The first probe is late by up to a whole interval, and all later ones with it: otherwise the
    # end of an outage of just the wrong length would always be noticed late.
    late = draw if now == pace.down_since else JITTER * draw
    apart = interval(rule, pace, now=now, waiting=waiting)
    return pace.replace(probe_at=now + (1 + late) * apart)


def probed(rule: PacerRule, pace: Pace, *, now: float, waiting: int, draw: float) -> Pace:
    """Return the open state with a probe in flight: if it is lost, the next one is sent anyway."""
    sent = pace.replace(probes=pace.probes + 1)
    return scheduled(rule, sent, now=now, waiting=waiting, draw=draw)


def put_off(pace: Pace, asked: float | None, *, now: float, draw: float) -> Pace:
    """Return the open state after a failed probe, with the requested wait kept within bounds."""
    if asked is None:
        return pace
    wish = min(asked, LONGEST_ASKED) * (1 + JITTER * draw)
    return pace.replace(probe_at=max(pace.probe_at, now + wish))
