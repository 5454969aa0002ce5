"""A lane's pacer: it opens, probes, ramps up, searches for the limit, and remembers it.

Each step is pure. The caller sends, collects the answers, and passes them to `step` every `tick`
seconds, or at once while the lane is open. In between, the state says what may be sent: nothing
before `probe_at` while it is open, and one attempt every 1 / `rate` seconds while it is paced, with
never more than `room()` in flight.
"""

import math
from collections.abc import Callable

from tarry.core.pace import MOVES, SECOND, Mode, Pace, PacerRule, Phase, Sample, Seen, counted
from tarry.core.probe import JITTER, LONGEST_ASKED, SHORTEST, put_off, scheduled
from tarry.core.search import HALF, LOWEST_GOAL, cut, overloaded, search
from tarry.core.window import Window

DEAD = 2.0
"""After how many seconds without a success a paced lane takes the endpoint for down again."""
PACED_SILENCE_ATTEMPTS = 12
"""The time of this many attempts is added to that, as long as there is a slower pace to try."""
ONE_IN_TEN = 0.1
"""Up to this share of failures by chance, the rule's number of failures in a row is an outage.
Above it, it takes a longer row: one that is as unlikely by chance."""
UNSURE = 4
"""How many answers of a new lane are assumed to have passed."""
BRISK = 20
"""How many times faster than usual a lane starts that was probably opened by chance."""
GENTLER = 0.8
"""The share of a remembered capacity that is kept if the endpoint goes down during a drain."""


def step(  # noqa: PLR0913  a state, answers, with the time and the draw as arguments
    rule: PacerRule,
    pace: Pace,
    seen: Seen,
    *,
    now: float,
    waiting: int,
    draw: Callable[[], float],
) -> Pace:
    """Return the state after these answers; `waiting` deliveries wait and are not in flight."""
    by_chance = rule.failures <= pace.streak < in_a_row(rule, pace)
    pace = counted(pace, seen, now)
    if pace.phase is Phase.OPEN:
        pace = _probing(rule, pace, seen, by_chance=by_chance, now=now)
        if pace.phase is not Phase.OPEN:
            return pace
        return put_off(pace, seen.retry_after, now=now, draw=draw())
    if pace.streak >= in_a_row(rule, pace) and _is_silent(rule, pace, now):
        return opened(rule, pace, now=now, waiting=waiting, draw=draw())
    if pace.phase is Phase.CLOSED:
        return _slowed(rule, pace, now) if overloaded(pace, now=now) else pace
    return search(rule, pace, seen, now=now) if waiting else _closed(pace)


def _probing(rule: PacerRule, pace: Pace, seen: Seen, *, by_chance: bool, now: float) -> Pace:
    """Return the open state after these answers, or the paced state if the endpoint is back.

    A late success was sent before the lane opened. If that was just before, the endpoint works. If
    it was longer ago, a probe has to show that, and soon: an endpoint that is down may still answer
    older requests. The next probe comes soon, too, if the row of failures may be there `by_chance`:
    how many fail by chance may have become known only since the lane opened.
    """
    just_before = now - seen.took >= pace.down_since - rule.silence
    if seen.passed or (seen.late and just_before):
        # The latency of failed probes says nothing about an endpoint that is back.
        brisk = by_chance or now - pace.down_since < rule.silence
        return ramped(rule, pace.replace(latency=seen.took), now=now, brisk=brisk)
    if seen.late and not pace.probes:
        return _probed_by(pace, now + SHORTEST)
    return _probed_by(pace, now + rule.silence) if by_chance else pace


def _probed_by(pace: Pace, time: float) -> Pace:
    """Return the open state with the next probe at this time, or sooner if it was planned so."""
    return pace.replace(probe_at=min(pace.probe_at, max(time, pace.held_until)))


def in_a_row(rule: PacerRule, pace: Pace) -> int:
    """Return how many failures in a row are an outage.

    The rule's number applies if at most one delivery in ten fails by chance. If more fail, it takes
    a row that is as unlikely: 17 instead of 5 if half of them fail.
    """
    if pace.phase is Phase.PACED:
        return _row(rule, pace.baseline)
    return row_of_outage(rule, pace.history)


def row_of_outage(rule: PacerRule, sample: Sample) -> int:
    """Return how many failures in a row are an outage where this sample shows the usual share."""
    return _row(rule, sample.failed / (sample.answers + UNSURE))


def _row(rule: PacerRule, share: float) -> int:
    """Return the length of a row that is as unlikely as the rule's number at one in ten."""
    return math.ceil(rule.failures / -math.log10(min(max(share, ONE_IN_TEN), HALF)))


def _is_silent(rule: PacerRule, pace: Pace, now: float) -> bool:
    """Return whether nothing has passed for so long that a row of failures is an outage.

    A paced lane first tries slower paces, since the failures may be due to its pace. Once attempts
    fail at the slowest one, there is nothing left to try. While the endpoint is to receive nothing,
    because it asked for a pause, it is not silent.
    """
    silence = now - pace.passed_at
    if pace.phase is Phase.CLOSED:
        return silence >= rule.silence
    if pace.rate <= LOWEST_GOAL and now - pace.since >= DEAD + pace.latency and pace.recent(now)[1]:
        return silence >= DEAD
    return min(silence, now - pace.held_until) >= DEAD + PACED_SILENCE_ATTEMPTS / pace.rate


def opened(rule: PacerRule, pace: Pace, *, now: float, waiting: int, draw: float) -> Pace:
    """Return the state, open from now on. If it was paced just before, the old outage continues.

    By what is known now, so many failures in a row are an outage. It may turn out later that more
    of them may be chance: see `_probing`.
    """
    fresh = pace.phase is Phase.CLOSED or now - pace.begun > rule.span
    gentler = 1.0 if fresh else GENTLER
    row = max(in_a_row(rule, pace), row_of_outage(rule, pace.history))
    moved = _in_phase(pace, Phase.OPEN).replace(
        streak=max(pace.streak, row),
        rate=0.0,
        capacity=None if pace.capacity is None else gentler * pace.capacity,
        down_since=now if fresh else pace.down_since,
        probes=0 if fresh else pace.probes,
    )
    return scheduled(rule, moved, now=now, waiting=waiting, draw=draw)


def ramped(rule: PacerRule, pace: Pace, *, now: float, brisk: bool = False) -> Pace:
    """Return the paced state after a probe passed: it starts low, or near a known capacity.

    It starts at a `brisk` rate if the endpoint was probably not down.
    A closed lane is paced when many deliveries wait at once. Its failures in a row still count, and
    if it opens later, its outage began no earlier than the pace.
    """
    if pace.phase is Phase.CLOSED:
        pace = pace.replace(down_since=now, probes=0)
    goal = None if pace.capacity is None else max(LOWEST_GOAL, pace.capacity)
    rate = rule.first if goal is None else max(min(rule.first, goal), rule.head_start * goal)
    if brisk:
        rate = max(rate, BRISK * rule.first)
    return _in_phase(pace, Phase.PACED).replace(
        rate=rate,
        goal=goal,
        since=now,
        begun=now,
        judged=0,
        climb=rule.creep,
        hold=rule.hold,
        failed_at=math.inf,
        flow=Window(),
        usual=math.inf,
        streak=pace.streak,
    )


def handed_over(pace: Pace, *, now: float) -> Pace:
    """Return the state for a new owner, which does not get the answers to attempts in flight.

    The clocks of owners agree only roughly. So no time is set further away than the longest wait
    that an endpoint may ask for.
    """
    latest = now + LONGEST_ASKED * (1 + JITTER)
    return pace.replace(
        probe_at=min(pace.probe_at, latest),
        held_until=min(pace.held_until, latest),
        mode=Mode.CLIMB,
        rate=pace.rate if pace.mode is Mode.CLIMB else min(pace.rate, pace.goal or pace.rate),
        epoch=pace.epoch + 1,
        since=now,
        begun=now,
        passed_at=now,
        streak=0,
        answered=Window(),
        flow=Window(),
    )


def _slowed(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Return the closed state as paced from now on, because more than half of the attempts fail."""
    offered = pace.replace(begun=now - SECOND).offered(now)
    paced = _in_phase(pace, Phase.PACED).replace(
        begun=now - SECOND, down_since=now, tried=offered, hold=rule.hold, failed_at=math.inf
    )
    return cut(rule, paced, now)


def _closed(pace: Pace) -> Pace:
    """Return the paced state as closed. Failures in a row still count: they may be an outage."""
    return _in_phase(pace, Phase.CLOSED).replace(rate=math.inf, streak=pace.streak)


def _in_phase(pace: Pace, phase: Phase) -> Pace:
    """Return the state in another phase, without the counts of the old one."""
    if phase not in MOVES[pace.phase]:
        raise ValueError(f"a lane does not move from {pace.phase} to {phase}")
    return pace.replace(
        phase=phase, mode=Mode.CLIMB, epoch=pace.epoch + 1, streak=0, answered=Window()
    )
