"""How a paced lane finds what its endpoint can take, and stays just below.

It climbs until failures tell of the limit, and cuts back. Two things make that hard. An endpoint
may fail by chance, whatever the pace: so failures are weighed against its baseline, looked at
twice, and tested by going slower, which heals an overload but not a baseline. And an endpoint may
feel the last second for another one: so a new pace is judged by what was sent under it alone.
"""

import math

from tarry.core.pace import MOMENT, Mode, Pace, PacerRule, Sample, Seen
from tarry.core.window import Window

CLEAN = 0.03
"""With a baseline below this, any failure is news."""
RARE = 0.005
"""What the baseline is taken for at least: once in a while anything fails."""
CEILING = 0.12
"""Most of a baseline that is learned in passing; more takes a test."""
BELIEVABLE = 0.6
"""Larger shares of failures are never put down to chance: the worst mistake is to go on."""
HALF = 0.5
"""If significantly more than this share fails, there is nothing to weigh."""
BELOW = 0.98
"""How far under a limit that was found it stays."""
UNDERSTOOD = 1000
"""After so many answers a baseline is known, and changes slowly."""
UNSURE = 50
"""So many answers count as if none of them had failed, before a baseline is learned."""
TELLING = 80
"""So many answers tell one failure in ten from none."""
PLENTY = 300
"""After so many with hardly a failure, failures beyond the goal are the limit's."""
SPEAKING = 0.1
"""The share of what is sent that has to speak for a pace: what was spared says nothing."""
FEW = 20.0
"""A slower lane has seconds in which nothing speaks for it anyway."""
STEP, CREEP_STEP = 0.25, 0.5
"""Seconds between steps up: towards a goal, and beyond it."""
SETTLED = 1.0
"""For how many seconds an endpoint may feel what it was offered before."""
FAST = 1.6
STEEPEST = 0.4
LEAST = 1.0
"""The lowest goal: one a second."""
LONG_ENOUGH = 2.0
"""For how many seconds a test counts at most, unless the lane is slow."""


def search(rule: PacerRule, pace: Pace, seen: Seen, *, now: float) -> Pace:
    """The paced state after a tick."""
    if pace.mode is Mode.SETTLE:
        return _settle(rule, _sampled(pace, seen), now)
    if pace.mode is Mode.TEST:
        return _test(rule, pace, seen, now)
    if pace.mode is Mode.LOOK:
        return _look(rule, pace, now)
    passed, failed = pace.recent(now)
    if _failing(pace, passed, failed, now) or _slow(pace):
        return _alarmed(pace, now)
    learned = _learned(_sampled(pace, seen), seen)
    if not _calm(learned, passed, failed):
        return learned
    return _climb(rule, learned, passed + failed, now)


def overloaded(pace: Pace, *, now: float) -> bool:
    """Whether more than half of what a closed lane sends comes to nothing, and not by chance."""
    passed, failed = pace.recent(now)
    enough = failed >= 20  # noqa: PLR2004  a handful says nothing
    return enough and _significant(passed + failed, failed, max(HALF, pace.baseline))


# --- Climb --------------------------------------------------------------------------------------


def _climb(rule: PacerRule, pace: Pace, answers: int, now: float) -> Pace:
    """One step up, if this pace has been held long enough to be sure of it."""
    waited = now - pace.since
    if answers < SPEAKING * pace.rate and pace.rate >= FEW:
        return _unspoken(pace, now)
    # Two answers may be luck. Where three a second never come, it takes more of them and longer.
    few = answers < 3 and (pace.run < 5 or waited < 10 / pace.rate)  # noqa: PLR2004  as just said
    if few or waited < max(STEP, 1.5 * pace.latency) or not pace.busy(now):
        return pace
    if pace.goal is None:
        # By as much as the answers can vouch for, and less where some fail anyway.
        growth = (
            min(rule.growth, 1.2 + answers / 400)
            if pace.baseline < CLEAN
            else min(rule.growth, 1.3)
        )
        return pace.replace(rate=pace.rate * growth, since=now)
    if pace.rate < pace.goal:
        return pace.replace(rate=min(pace.goal, FAST * pace.rate), since=now)
    return _creep(pace, pace.goal, now)


def _unspoken(pace: Pace, now: float) -> Pace:
    """Next to nothing that is sent speaks for the pace: an overload would go unseen.

    So it goes slower, down to three quarters of what was proven, until something does.
    """
    if pace.goal is None or now - pace.since < SETTLED + pace.latency or not pace.busy(now):
        return pace
    return pace.replace(rate=max(0.75 * pace.goal, 0.9 * min(pace.rate, pace.goal)), since=now)


def _creep(pace: Pace, goal: float, now: float) -> Pace:
    """A small step beyond the goal; the further it holds, the bolder the next.

    Up to just below a pace that failed it goes step by step. Before it tries that again, it holds.
    """
    waited = now - pace.since
    if pace.rate > goal and waited >= 2 * SETTLED:
        if pace.baseline > CEILING and not _explained(pace.sample, pace.baseline, 1.5):
            return _back(pace, goal, now)
        goal = pace.rate
    known = pace.failed_at < math.inf
    edge = BELOW * pace.failed_at if known else goal
    bold = known and 1.2 * pace.rate < 0.9 * pace.failed_at
    higher = pace.rate * (1.2 if bold else 1 + pace.climb)
    if known and pace.rate < edge:
        higher = min(higher, edge)
    patience = pace.hold if pace.rate <= edge < higher else CREEP_STEP
    if waited < max(patience, 1.5 * pace.latency):
        return pace if goal == pace.goal else pace.replace(goal=goal)
    beyond = pace.rate > 1.05 * max(goal, pace.failed_at if known else goal)
    return pace.replace(
        rate=higher,
        goal=goal,
        capacity=None if pace.capacity is None else max(pace.capacity, goal),
        climb=min(1.5 * pace.climb, STEEPEST) if beyond else pace.climb,
        since=now,
        answered=Window(),
        sample=Sample(),
    )


def _back(pace: Pace, goal: float, now: float) -> Pace:
    """The state at its goal again: beyond it a little more failed than the baseline explains.

    In a second that is within chance, over several it is not.
    """
    return pace.replace(
        rate=goal,
        failed_at=pace.rate,
        epoch=pace.epoch + 1,
        since=now,
        answered=Window(),
        sample=Sample(),
    )


def _learned(pace: Pace, seen: Seen) -> Pace:
    """The state with the baseline moved towards what was seen, where the pace is not in doubt."""
    if not seen.judged:
        return pace
    judged = pace.judged + seen.judged
    if pace.goal is not None and pace.rate > 1.02 * pace.goal:
        return pace.replace(judged=judged)
    weight = seen.judged / (seen.judged + min(pace.judged + UNSURE, UNDERSTOOD))
    share = (1 - weight) * pace.baseline + weight * seen.failed / seen.judged
    baseline = min(share, max(CEILING, pace.most))
    # The more is known, the less may be put down to chance without a test.
    most = min(pace.most, _most(baseline, min(judged, UNDERSTOOD)))
    return pace.replace(judged=judged, baseline=baseline, most=most)


def _most(share: float, answers: int) -> float:
    """The highest baseline that so many answers, of which this share failed, speak for."""
    return min(BELIEVABLE, share + 2 * _deviation(answers, share) / answers)


# --- Look and test ------------------------------------------------------------------------------


def _alarmed(pace: Pace, now: float) -> Pace:
    """The state that looks twice: no faster than the last second, and counting anew."""
    return pace.replace(
        mode=Mode.LOOK,
        tried=pace.rate,
        found=pace.accepted(now),
        rate=max(LEAST, min(pace.rate, pace.offered(now))),
        since=now,
        answered=Window(),
    )


def _look(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Nearly all fail: cut. More fail than chance explains: test. Otherwise it was a chance."""
    passed, failed = pace.recent(now)
    answers, waited = passed + failed, now - pace.since
    if _hopeless(pace, passed, failed):
        return cut(rule, pace, now)
    enough = 40 if pace.baseline < CLEAN else 100
    patience = max(0.4 * pace.latency, max(enough / 80, 8 / pace.rate) if answers < enough else 0)
    if waited < patience:
        return pace
    if _slow(pace):
        return cut(rule, pace.replace(top=pace.accepted(now), topped_at=now), now)
    if _explained(Sample(passed, failed), pace.baseline, 2.0 if pace.baseline < CLEAN else 2.5):
        return pace.replace(mode=Mode.CLIMB, rate=min(pace.tried, 1.25 * pace.rate), since=now)
    return _doubted(rule, pace, Sample(passed, failed), now)


def _doubted(rule: PacerRule, pace: Pace, sample: Sample, now: float) -> Pace:
    """More fail than chance explains, though not nearly all."""
    share = sample.share
    below_memory = (
        pace.goal is not None and pace.tried < 0.85 * pace.goal and pace.failed_at == math.inf
    )
    if share < CEILING and below_memory:  # far from what it took before: then it is the baseline
        return pace.replace(mode=Mode.CLIMB, rate=pace.tried, since=now, baseline=share)
    excess = (share - pace.baseline) / (1 - pace.baseline)
    offered = min(pace.tried, pace.offered(now))
    # An endpoint that sheds takes offered x (1 - excess), one that degrades the root of it more.
    limit = max(offered * (1 - excess) ** 0.75, pace.found)
    found = max(LEAST, BELOW * min(pace.tried, limit))
    clean = pace.judged >= PLENTY and pace.baseline < 2 * RARE
    if clean and pace.goal is not None and pace.tried > pace.goal:  # no need to test
        return _limited(rule, pace.replace(found=found), now)
    return pace.replace(
        mode=Mode.TEST,
        suspect=sample,
        sample=Sample(),
        found=found,
        rate=max(LEAST, 0.9 * offered * (1 - excess)),
        epoch=pace.epoch + 1,
        since=now,
        answered=Window(),
    )


def _test(rule: PacerRule, pace: Pace, seen: Seen, now: float) -> Pace:
    """Count answers at the slower pace until they tell whether going slower helps."""
    if _hopeless(pace, *pace.recent(now)):
        return cut(rule, pace, now)
    counting = now - pace.since - SETTLED - pace.latency
    if counting < 0:
        return pace
    pace = _sampled(pace, seen)
    excess = max(pace.suspect.share - pace.baseline, RARE)
    telling = min(TELLING, 25 * pace.suspect.share * (1 - pace.suspect.share) / excess**2)
    all_failed = pace.sample.failed > 0 and not pace.sample.passed  # if it stays so, it opens
    goes_on = counting < max(LONG_ENOUGH, 12 / pace.rate) or all_failed
    if pace.sample.answers < telling and goes_on:
        return pace
    return _judged(rule, pace, now)


def _judged(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """If failures stay though it goes slower, they are the baseline; if not, it was the limit."""
    again = pace.replace(
        mode=Mode.CLIMB,
        epoch=pace.epoch + 1,
        since=now,
        climb=rule.creep,
        answered=Window(),
    )
    before, slower = pace.suspect, pace.sample
    if _hopeless(pace, slower.passed, slower.failed):
        return cut(rule, pace, now)  # neither chance nor the pace: it is going down
    if not _explained(slower, pace.baseline, 2.0, 1):
        if not _fewer(before, slower):
            both = before.add(slower.passed, slower.failed)
            return _unlimited(_based(again, both)).replace(rate=pace.tried)
        pace, again = _based(pace, slower), _based(again, slower)
    else:
        weight = slower.answers / (slower.answers + 100)
        baseline = (1 - weight) * pace.baseline + weight * slower.share
        pace, again = pace.replace(baseline=baseline), again.replace(baseline=baseline)
    if 0 < slower.answers < TELLING and pace.goal is None and pace.failed_at == math.inf:
        # A slow ramp may have met bad luck: up once more, and if it fails again, it is so.
        return again.replace(rate=pace.found, failed_at=min(pace.tried, 1.25 * pace.found))
    return _limited(rule, pace, now)


def _based(pace: Pace, sample: Sample) -> Pace:
    """The state with the share of a sample as its baseline, and as much in doubt as that is."""
    share = min(sample.share, BELIEVABLE)
    return pace.replace(baseline=share, most=_most(share, sample.answers), judged=sample.answers)


def _unlimited(pace: Pace) -> Pace:
    """The state without a limit that was found: the failures that spoke for it are the baseline."""
    return pace if pace.failed_at == math.inf else pace.replace(goal=None, failed_at=math.inf)


def _fewer(before: Sample, slower: Sample) -> bool:
    """Whether significantly fewer fail at the slower pace (two proportions, three deviations).

    The first sample is one that raised an alarm, and so has more failures than there are.
    """
    answers = before.answers + slower.answers
    share = (before.failed + slower.failed) / answers
    deviation = math.sqrt(share * (1 - share) * (1 / before.answers + 1 / slower.answers))
    return before.share - slower.share > 3 * deviation


def _limited(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """The limit was found: just below it from here on."""
    return pace.replace(
        mode=Mode.CLIMB,
        rate=pace.found,
        goal=pace.found,
        capacity=pace.found,
        failed_at=min(pace.tried, 1.25 * pace.found),
        hold=_held(rule, pace),
        climb=rule.creep,
        epoch=pace.epoch + 1,
        since=now,
        answered=Window(),
    )


# --- Cut and settle -----------------------------------------------------------------------------


def cut(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Half of what has passed lately, until it answers again."""
    passed = pace.best(now) / (1 - pace.baseline)
    goal = max(LEAST, BELOW * min(passed, pace.tried))
    return pace.replace(
        mode=Mode.SETTLE,
        rate=goal / 2,
        goal=goal,
        failed_at=min(pace.tried, max(goal, pace.offered(now))),
        hold=_held(rule, pace),
        climb=rule.creep,
        epoch=pace.epoch + 1,
        since=now,
        run=0,
        answered=Window(),
        sample=Sample(),
    )


def _settle(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Three in a row have passed: on with it. Nothing after a while: the limit is lower still."""
    goal = pace.goal or LEAST
    settled = pace.replace(epoch=pace.epoch + 1, since=now, answered=Window(), sample=Sample())
    if pace.run >= 3 and (goal == LEAST or not _slow(pace)):  # noqa: PLR2004  one may be luck
        return settled.replace(mode=Mode.CLIMB, rate=goal, capacity=goal, climb=rule.creep)
    if now - pace.since < max(SETTLED, 2 * pace.latency, 3 / pace.rate):
        return pace
    if _hopeless(pace, pace.sample.passed, pace.sample.failed) or _slow(pace):
        lower = max(LEAST, 0.6 * goal)
        return settled.replace(goal=lower, rate=lower / 2)
    if pace.sample.passed <= 1:  # one may be luck
        return pace
    if pace.baseline >= CLEAN and _explained(pace.sample, pace.baseline, 1.0):
        return settled.replace(mode=Mode.CLIMB, rate=goal, capacity=goal, climb=rule.creep)
    # Some fail, but not nearly all: at this pace it can be found out why.
    return settled.replace(mode=Mode.CLIMB, rate=pace.rate, goal=pace.rate)


def _held(rule: PacerRule, pace: Pace) -> float:
    """How long to hold before the next try: longer where it keeps failing at the same place."""
    same = abs(pace.tried / pace.failed_at - 1) < 0.1  # noqa: PLR2004  one pace, give or take
    return min(rule.longest_hold, 2 * pace.hold) if same else rule.hold


# --- Judgement ----------------------------------------------------------------------------------


def _sampled(pace: Pace, seen: Seen) -> Pace:
    passed, failed = pace.sample.passed + seen.passed, pace.sample.failed + seen.failed
    return pace.replace(sample=Sample(passed, failed))


def _failing(pace: Pace, passed: int, failed: int, now: float) -> bool:
    """Whether more fail than the baseline explains, in the last second or its last moment."""
    if not failed:
        return False
    if _significant(passed + failed, failed, pace.baseline):
        return True
    passed, failed = pace.recent(now, MOMENT)
    return _significant(passed + failed, failed, pace.baseline)


def _calm(pace: Pace, passed: int, failed: int) -> bool:
    """Whether the answers of the last second give no reason to wait and see."""
    error = max(pace.baseline, RARE)
    few = failed <= (passed + failed) * error + _deviation(passed + failed, error) + 0.5
    return few and pace.latency <= 2 * pace.usual + 0.1


def _slow(pace: Pace) -> bool:
    """Whether answers take so much longer than they can that work must be piling up there."""
    return pace.latency > 3 * pace.usual + 0.2


def _hopeless(pace: Pace, passed: int, failed: int) -> bool:
    """Whether more fail than the highest baseline explains."""
    answers, error = passed + failed, max(HALF, pace.baseline)
    return failed > answers * error + 3 * _deviation(answers, error)


def _significant(answers: int, failed: int, baseline: float) -> bool:
    """Whether so many failures are beyond chance; one alone never is.

    Stricter where a part fails anyway: over a thousand looks, three deviations do happen.
    """
    error = max(baseline, RARE)
    deviations = 3.0 if baseline < CLEAN else 4.0
    return failed >= 2 and failed > answers * error + deviations * _deviation(answers, error) + 1  # noqa: PLR2004  see above


def _explained(sample: Sample, baseline: float, deviations: float, more: float = 0.0) -> bool:
    """Whether no more failed than the baseline and so much chance explain."""
    error = max(baseline, RARE)
    spread = deviations * _deviation(sample.answers, error)
    return sample.failed <= sample.answers * error + spread + more


def _deviation(answers: int, error: float) -> float:
    return math.sqrt(answers * error * (1 - error))
