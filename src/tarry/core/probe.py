"""When an open lane sends its next probe: often while the outage is young, then ever more rarely.

Never more than the rule's allowance in any ten minutes, and never so often that it would not
matter: a probe every 4 % of the time that the backlog takes to drain finds the endpoint soon
enough.
"""

from tarry.core.pace import Pace, PacerRule

SHORTEST, LONGEST = 1.0, 300.0
OF_THE_DRAIN = 0.04
SPENT_EARLY = 10
"""Probes of the first span that go while the outage is young, and those that opened the lane."""
SPARE = 1.03
"""A little slower than the allowance, for the jitter."""
JITTER = 0.1
LONGEST_ASKED = 3600.0
"""However long an endpoint asks to be left alone, it is looked at after an hour."""


def interval(rule: PacerRule, pace: Pace, *, now: float, waiting: int) -> float:
    """Seconds between probes, before jitter."""
    allowed = max(rule.allowance * waiting, rule.least_probes)
    age = now - pace.down_since
    pause = SPARE * rule.span / allowed
    if age < rule.span:
        # As long as it has lasted itself, if little waits; sooner the more does.
        young = age * rule.least_probes / allowed
        pause = min(young, SPARE * rule.span / (allowed - SPENT_EARLY))
    drain = 0.0 if pace.capacity is None else OF_THE_DRAIN * waiting / pace.capacity
    return max(SHORTEST, pause, min(drain, LONGEST))


def scheduled(rule: PacerRule, pace: Pace, *, now: float, waiting: int, draw: float) -> Pace:
    """The open state with the time of its next probe set."""
    spread = 1 + JITTER * (2 * draw - 1)
    return pace.replace(probe_at=now + spread * interval(rule, pace, now=now, waiting=waiting))


def probed(rule: PacerRule, pace: Pace, *, now: float, waiting: int, draw: float) -> Pace:
    """The open state with a probe on its way: should it be lost, the next goes all the same."""
    sent = pace.replace(probes=pace.probes + 1)
    return scheduled(rule, sent, now=now, waiting=waiting, draw=draw)


def put_off(pace: Pace, asked: float | None, *, now: float, draw: float) -> Pace:
    """The open state after a probe that failed: the endpoint's own wish counts, in bounds."""
    if asked is None:
        return pace
    wish = min(asked, LONGEST_ASKED) * (1 + JITTER * draw)
    return pace.replace(probe_at=max(pace.probe_at, now + wish))
