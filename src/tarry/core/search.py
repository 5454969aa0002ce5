"""How a paced lane finds the rate that its endpoint can handle, and stays just below it.

The rate climbs until failures show the limit, and is then cut. Two things make that hard. First, an
endpoint may fail by chance at any pace. So failures are compared with its baseline, checked twice,
and tested by a slower pace, which ends an overload but does not change a baseline. Second, an
endpoint may feel the load of one second in the next. So a new pace is judged only by the requests
that were sent under it.
"""

import math

from tarry.core.pace import MOMENT, Mode, Pace, PacerRule, Sample, Seen
from tarry.core.window import Window

CLEAN = 0.03
"""An endpoint with a baseline below this hardly fails by chance: a few failures are evidence."""
RARE = 0.005
"""The lowest baseline that is assumed: every endpoint fails once in a while."""
CEILING = 0.12
"""The highest baseline that is learned in passing; a higher one takes a test."""
BELIEVABLE = 0.6
"""A larger share of failures is never put down to chance: to carry on in an overload is the worst
mistake."""
HALF = 0.5
"""If significantly more than this share fails, it is an overload, without a test."""
SLOWER = 0.85
"""The share of the rate to go on at, at most, when an endpoint asks for a pause."""
PAUSES, LONGEST_PAUSES = 10, 600.0
"""For how many times that pause the rate is held then, and for how many seconds at most."""
BELOW = 0.98
"""The share of a limit that was found at which the rate stays."""
UNDERSTOOD = 1000
"""After this many answers a baseline is well known, and changes slowly."""
UNSURE = 50
"""Before a baseline is learned, this many answers are assumed to have passed."""
TELLING = 80
"""This many answers are enough to tell one failure in ten from none."""
PLENTY = 300
"""After this many answers with hardly a failure, failures beyond the goal are due to the limit."""
SPEAKING = 0.1
"""The share of the rate that needs answers that count for the pace; spared ones do not count."""
FEW = 20.0
"""Below this rate a lane has seconds without such answers anyway, and is not slowed for it."""
STEP, CREEP_STEP = 0.25, 0.5
"""Seconds between steps up: towards a goal, and beyond it."""
SETTLED = 1.0
"""For how many seconds an endpoint may still feel the load of an earlier pace."""
FAST = 1.6
STEEPEST = 0.4
LOWEST_GOAL = 1.0
"""The lowest goal of a paced lane, in deliveries a second."""
LONG_ENOUGH = 2.0
"""For how many seconds a test counts answers at most, unless the lane is slow."""


def search(rule: PacerRule, pace: Pace, seen: Seen, *, now: float) -> Pace:
    """Return the paced state after a tick."""
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
    """Return whether more than half of a closed lane's attempts fail, and not by chance."""
    passed, failed = pace.recent(now)
    enough = failed >= 20  # noqa: PLR2004  a handful is not enough
    return enough and _significant(passed + failed, failed, max(HALF, pace.baseline))


# --- Climb --------------------------------------------------------------------------------------


def _climb(rule: PacerRule, pace: Pace, answers: int, now: float) -> Pace:
    """Return the state one step up, if this pace was held long enough to be sure of it."""
    waited = now - pace.since
    if answers < SPEAKING * pace.rate and pace.rate >= FEW:
        return _unspoken(pace, now)
    # Two answers may be luck. A lane too slow for three a second needs more of them, and more time.
    few = answers < 3 and (pace.run < 5 or waited < 10 / pace.rate)  # noqa: PLR2004  see above
    if few or waited < max(STEP, 1.5 * pace.latency) or not pace.busy(now):
        return pace
    if pace.goal is None:
        # The more answers support this pace, the larger the step; smaller if some fail by chance.
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
    """Return a slower state: so few answers count for the pace that an overload would go unseen.

    The rate falls in steps until enough answers count, down to three quarters of the goal, which
    was proven.
    """
    if pace.goal is None or now - pace.since < SETTLED + pace.latency or not pace.busy(now):
        return pace
    return pace.replace(rate=max(0.75 * pace.goal, 0.9 * min(pace.rate, pace.goal)), since=now)


def _creep(pace: Pace, goal: float, now: float) -> Pace:
    """Return the state a small step beyond the goal; the further that holds, the larger the steps.

    The rate climbs step by step up to just below a rate that failed. Before it tries that rate
    again, it holds.
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
    """Return to the goal: beyond it a little more failed than the baseline explains.

    In one second that may be chance, over several it is not.
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
    """Return the state with its baseline moved towards these answers, if the pace is safe."""
    if not seen.judged:
        return pace
    judged = pace.judged + seen.judged
    if pace.goal is not None and pace.rate > 1.02 * pace.goal:
        return pace.replace(judged=judged)
    weight = seen.judged / (seen.judged + min(pace.judged + UNSURE, UNDERSTOOD))
    share = (1 - weight) * pace.baseline + weight * seen.failed / seen.judged
    baseline = min(share, max(CEILING, pace.most))
    # The more answers there are, the fewer failures may be put down to chance without a test.
    most = min(pace.most, _most(baseline, min(judged, UNDERSTOOD)))
    return pace.replace(judged=judged, baseline=baseline, most=most)


def _most(share: float, answers: int) -> float:
    """Return the highest baseline that is plausible after this share of the answers failed."""
    return min(BELIEVABLE, share + 2 * _deviation(answers, share) / answers)


# --- Look and test ------------------------------------------------------------------------------


def _alarmed(pace: Pace, now: float) -> Pace:
    """Return the state that checks twice: no faster than the last second, with new counts."""
    return pace.replace(
        mode=Mode.LOOK,
        tried=pace.rate,
        found=pace.accepted(now),
        rate=max(LOWEST_GOAL, min(pace.rate, pace.offered(now))),
        since=now,
        answered=Window(),
    )


def _look(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Cut if nearly all fail, test if more fail than chance explains, and climb otherwise."""
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
    """Start a test, unless the failures are explained: more fail than by chance, but not all."""
    share = sample.share
    below_memory = (
        pace.goal is not None and pace.tried < 0.85 * pace.goal and pace.failed_at == math.inf
    )
    if share < CEILING and below_memory:  # far below the old limit: then it is the baseline
        return pace.replace(mode=Mode.CLIMB, rate=pace.tried, since=now, baseline=share)
    excess = (share - pace.baseline) / (1 - pace.baseline)
    offered = min(pace.tried, pace.offered(now))
    # The limit of an endpoint that sheds load is offered x (1 - excess). That of one that degrades
    # is higher: offered x the root of (1 - excess). This is in between.
    limit = max(offered * (1 - excess) ** 0.75, pace.found)
    rate = max(LOWEST_GOAL, BELOW * min(pace.tried, limit))
    clean = pace.judged >= PLENTY and pace.baseline < 2 * RARE
    if clean and pace.goal is not None and pace.tried > pace.goal:  # no need to test
        return _limited(rule, pace.replace(found=rate), now)
    return pace.replace(
        mode=Mode.TEST,
        suspect=sample,
        sample=Sample(),
        found=rate,
        rate=max(LOWEST_GOAL, 0.9 * offered * (1 - excess)),
        epoch=pace.epoch + 1,
        since=now,
        answered=Window(),
    )


def _test(rule: PacerRule, pace: Pace, seen: Seen, now: float) -> Pace:
    """Count answers at the slower pace until they show whether going slower helps."""
    if _hopeless(pace, *pace.recent(now)):
        return cut(rule, pace, now)
    counting = now - pace.since - SETTLED - pace.latency
    if counting < 0:
        return pace
    pace = _sampled(pace, seen)
    excess = max(pace.suspect.share - pace.baseline, RARE)
    telling = min(TELLING, 25 * pace.suspect.share * (1 - pace.suspect.share) / excess**2)
    all_failed = pace.sample.failed > 0 and not pace.sample.passed  # if all do, the lane opens
    goes_on = counting < max(LONG_ENOUGH, 12 / pace.rate) or all_failed
    if pace.sample.answers < telling and goes_on:
        return pace
    return _judged(rule, pace, now)


def _judged(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Judge the test: failures that stay at the slower pace are the baseline, others the limit."""
    again = pace.replace(
        mode=Mode.CLIMB,
        epoch=pace.epoch + 1,
        since=now,
        climb=rule.creep,
        answered=Window(),
    )
    before, slower = pace.suspect, pace.sample
    if _hopeless(pace, slower.passed, slower.failed):
        return cut(rule, pace, now)  # neither chance nor the pace: the endpoint is going down
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
        # On a slow ramp this may be bad luck: climb once more. If it fails again, it is the limit.
        return again.replace(rate=pace.found, failed_at=min(pace.tried, 1.25 * pace.found))
    return _limited(rule, pace, now)


def _based(pace: Pace, sample: Sample) -> Pace:
    """Return the state with a sample's share of failures as its baseline, and how sure that is."""
    share = min(sample.share, BELIEVABLE)
    return pace.replace(baseline=share, most=_most(share, sample.answers), judged=sample.answers)


def _unlimited(pace: Pace) -> Pace:
    """Return the state without a limit: the failures that seemed to show it are the baseline."""
    return pace if pace.failed_at == math.inf else pace.replace(goal=None, failed_at=math.inf)


def _fewer(before: Sample, slower: Sample) -> bool:
    """Return whether significantly fewer fail at the slower pace.

    It compares two proportions, with three deviations: the first sample raised the alarm, and so
    has more failures than are usual.
    """
    answers = before.answers + slower.answers
    share = (before.failed + slower.failed) / answers
    deviation = math.sqrt(share * (1 - share) * (1 / before.answers + 1 / slower.answers))
    return before.share - slower.share > 3 * deviation


def _limited(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Return the state just below the limit that was found."""
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
    """Return the state at half of the rate that passed lately, until the endpoint recovers."""
    passed = pace.best(now) / (1 - pace.baseline)
    goal = max(LOWEST_GOAL, BELOW * min(passed, pace.tried))
    return _anew(pace, now).replace(
        mode=Mode.SETTLE,
        rate=goal / 2,
        goal=goal,
        failed_at=min(pace.tried, max(goal, pace.offered(now))),
        hold=_held(rule, pace),
        climb=rule.creep,
        run=0,
    )


def throttled(rule: PacerRule, pace: Pace, asked: float, *, now: float) -> Pace:
    """Return the state after the endpoint asked for a pause (429): this pace is too fast for it.

    No test is needed, and none would work: while nothing is sent, failures do not add up. Each
    faster try may cost a pause as long as this one, so it holds the pace for several times that.
    """
    passed = BELOW * pace.best(now) / (1 - pace.baseline)
    goal = max(LOWEST_GOAL, min(passed or math.inf, SLOWER * pace.rate))
    if goal >= pace.rate:
        return pace  # it cannot go slower
    return _anew(pace, now).replace(
        mode=Mode.CLIMB,
        rate=goal,
        goal=goal,
        capacity=goal,
        failed_at=goal / BELOW,
        hold=max(rule.hold, min(PAUSES * asked, LONGEST_PAUSES)),
        climb=rule.creep,
        run=0,
    )


def _settle(rule: PacerRule, pace: Pace, now: float) -> Pace:
    """Climb again once three in a row have passed; lower the goal if nearly all still fail."""
    goal = pace.goal or LOWEST_GOAL
    settled = _anew(pace, now)
    if pace.run >= 3 and (goal == LOWEST_GOAL or not _slow(pace)):  # noqa: PLR2004  one may be luck
        return settled.replace(mode=Mode.CLIMB, rate=goal, capacity=goal, climb=rule.creep)
    if now - pace.since < max(SETTLED, 2 * pace.latency, 3 / pace.rate):
        return pace
    if _hopeless(pace, pace.sample.passed, pace.sample.failed) or _slow(pace):
        lower = max(LOWEST_GOAL, 0.6 * goal)
        return settled.replace(goal=lower, rate=lower / 2)
    if pace.sample.passed <= 1:  # one may be luck
        return pace
    if pace.baseline >= CLEAN and _explained(pace.sample, pace.baseline, 1.0):
        return settled.replace(mode=Mode.CLIMB, rate=goal, capacity=goal, climb=rule.creep)
    # Some fail, but not nearly all: stay at this pace to find out why.
    return settled.replace(mode=Mode.CLIMB, rate=pace.rate, goal=max(LOWEST_GOAL, pace.rate))


def _anew(pace: Pace, now: float) -> Pace:
    """Return the state to which only attempts count that are sent from now on."""
    return pace.replace(epoch=pace.epoch + 1, since=now, answered=Window(), sample=Sample())


def _held(rule: PacerRule, pace: Pace) -> float:
    """Return how long to hold before the next try: longer if the same rate keeps failing."""
    same = abs(pace.tried / pace.failed_at - 1) < 0.1  # noqa: PLR2004  one pace, give or take
    return min(rule.longest_hold, 2 * pace.hold) if same else rule.hold


# --- Judgement ----------------------------------------------------------------------------------


def _sampled(pace: Pace, seen: Seen) -> Pace:
    passed, failed = pace.sample.passed + seen.passed, pace.sample.failed + seen.failed
    return pace.replace(sample=Sample(passed, failed))


def _failing(pace: Pace, passed: int, failed: int, now: float) -> bool:
    """Return whether more fail than the baseline explains, in the last second or moment."""
    if not failed:
        return False
    if _significant(passed + failed, failed, pace.baseline):
        return True
    passed, failed = pace.recent(now, MOMENT)
    return _significant(passed + failed, failed, pace.baseline)


def _calm(pace: Pace, passed: int, failed: int) -> bool:
    """Return whether the answers of the last second give no reason to wait with the next step."""
    error = max(pace.baseline, RARE)
    few = failed <= (passed + failed) * error + _deviation(passed + failed, error) + 0.5
    return few and pace.latency <= 2 * pace.usual + 0.1


def _slow(pace: Pace) -> bool:
    """Return whether answers take so much longer than usual that a queue must be growing there."""
    return pace.latency > 3 * pace.usual + 0.2


def _hopeless(pace: Pace, passed: int, failed: int) -> bool:
    """Return whether significantly more than half fail, or than the baseline if that is higher."""
    answers, error = passed + failed, max(HALF, pace.baseline)
    return failed > answers * error + 3 * _deviation(answers, error)


def _significant(answers: int, failed: int, baseline: float) -> bool:
    """Return whether this many failures are beyond chance; a single one never is.

    It is stricter if some fail anyway: in a thousand checks, three deviations do happen.
    """
    error = max(baseline, RARE)
    deviations = 3.0 if baseline < CLEAN else 4.0
    return failed >= 2 and failed > answers * error + deviations * _deviation(answers, error) + 1  # noqa: PLR2004  see above


def _explained(sample: Sample, baseline: float, deviations: float, more: float = 0.0) -> bool:
    """Return whether no more failed than the baseline explains, within these deviations."""
    error = max(baseline, RARE)
    spread = deviations * _deviation(sample.answers, error)
    return sample.failed <= sample.answers * error + spread + more


def _deviation(answers: int, error: float) -> float:
    return math.sqrt(answers * error * (1 - error))
