"""Say what a policy does: its waits in numbers, its rules in sentences, a past decision in one."""

import math
from collections.abc import Iterator
from itertools import accumulate, repeat, tee
from typing import assert_never

from tarry.core.backoff import Backoff, Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.duration import spoken
from tarry.core.jitter import (
    Decorrelated,
    Equal,
    Full,
    Jitter,
    Memory,
    NoJitter,
    Percent,
    Smooth,
)
from tarry.core.outcome import Again, Decision, Done, Failure, GiveUp, Outcome, Pending, Success
from tarry.core.policy import Policy, RetryAfter, Statuses, waits
from tarry.core.probe_rule import ProbeRule
from tarry.core.progress import Progress
from tarry.core.value import Value

SHOWN_RETRIES = 10
"""How many retries stand for all of a policy without a limit of attempts."""

MOST_RETRIES = 100
"""How many retries are shown of a policy with more, unless more are asked for."""

COUNTED_ATTEMPTS = 10_000
"""How far is counted to find the attempt that `within` lets be the last."""


class Range(Value):
    """The least, the typical and the most of something, in seconds."""

    least: float
    typical: float
    most: float


class Row(Value):
    """The wait before an attempt, and all the waits up to it."""

    attempt: int
    wait: Range
    total: Range


def schedule(policy: Policy, attempts: int | None = None) -> tuple[Row, ...]:
    """List the waits before the second attempt and each after it; attempts take no time here.

    The list ends with the policy's last attempt, or earlier if fewer `attempts` are asked for; it
    has a hundred rows at most if nothing is asked for, and ten if the policy has no limit. `within`
    does not shorten it: see `sentences`.

    A typical wait is the one with this and all earlier draws in the middle, and a typical total
    their sum. The least and the most are bounds, of each wait on its own and of all together. All
    can be reached but one: the most of all `Smooth` waits together, on a curve that does not grow.
    """
    last = _last_attempt(policy, attempts)
    rows = zip(range(2, last + 1), _typical(policy), _bounds(policy), strict=False)
    return tuple(
        Row(attempt, Range(least, wait, most), Range(least_total, total, most_total))
        for attempt, (wait, total), ((least, most), (least_total, most_total)) in rows
    )


def sentences(policy: Policy) -> list[str]:
    """Say in plain English what the policy does."""
    lines = [_attempts(policy.attempts)]
    if policy.attempts != 1:
        lines += [_backoff(policy.backoff), _jitter(policy.jitter, policy.backoff)]
        lines += [_time_limit(policy), _retry_after(policy.retry_after), _statuses(policy.statuses)]
        lines += [_nested(nested=policy.nested)]
    if policy.probe != ProbeRule():  # else it is of no interest to calls
        lines += [probes(policy.probe)]
    if policy.attempt_timeout is not None:
        lines += [f"An attempt is cut off after {spoken(policy.attempt_timeout)}."]
    return lines


def explain_decision(
    policy: Policy, progress: Progress, outcome: Outcome, decision: Decision, now: float
) -> str:
    """Say in one sentence what was decided after an attempt that ended `now`, and why."""
    limit = "" if policy.attempts is None else f" of {policy.attempts}"
    elapsed = spoken(max(0.0, now - progress.started_at))
    head = f"Attempt {progress.attempts}{limit} {_ended(outcome)} {elapsed} after the start"
    match decision:
        case Done():
            return f"{head}: done."
        case Again():
            reason = _reason(policy, outcome)
            return f"{head}: trying again in {spoken(decision.delay)}, {reason}."
        case GiveUp():
            asked = decision.retry_after
            wish = "" if asked is None else f" (the server asked for {spoken(asked)})"
            return f"{head}: giving up, {decision.why}{wish}."
        case _:
            assert_never(decision)


def _typical(policy: Policy) -> Iterator[tuple[float, float]]:
    """Give each wait with every draw in the middle, and the sum so far."""
    drawn, added = tee(waits(policy, repeat(0.5)))
    return zip(drawn, accumulate(added), strict=True)


def _bounds(policy: Policy) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Give the least and the most of each wait, and of the sum so far.

    A wait rises with its draw, and rises or falls with what the jitter remembers, so its bounds are
    where both are at an end. So is the least sum: it ends with a low or a high draw, and came
    there by one or the other. The most is the sum of the longest; `Smooth` ends with its line.
    """
    low: Memory = None
    high: Memory = None
    after_low = after_high = summed = 0.0
    failed = 0
    while True:
        failed += 1
        (low_low, low), (low_high, _) = (policy.wait(failed, low, draw) for draw in (0.0, 1.0))
        (high_low, _), (high_high, high) = (policy.wait(failed, high, draw) for draw in (0.0, 1.0))
        after_low, after_high = (
            min(after_low + low_low, after_high + high_low),
            min(after_low + low_high, after_high + high_high),
        )
        corners = (low_low, low_high, high_low, high_high)
        summed += max(corners)
        line_end = high if isinstance(policy.jitter, Smooth) and high is not None else math.inf
        yield (min(corners), max(corners)), (min(after_low, after_high), min(summed, line_end))


def _last_attempt(policy: Policy, asked: int | None) -> int:
    made, shown = policy.attempts, asked
    if shown is None:
        shown = (SHOWN_RETRIES if made is None else MOST_RETRIES) + 1
    return shown if made is None else min(made, shown)


def _attempts(attempts: int | None) -> str:
    if attempts is None:
        return "It tries without a limit of attempts."
    if attempts == 1:
        return "It makes one attempt and no retry."
    return f"It makes up to {attempts:,} attempts, the first included."


def _backoff(backoff: Backoff) -> str:
    match backoff:
        case Fixed():
            return f"The backoff is always {spoken(backoff.delay)}."
        case Linear():
            grows = f"grows by {spoken(backoff.step)} with every failed attempt"
        case Exponential():
            grows = f"is multiplied by {backoff.factor:g} with every failed attempt"
        case Fibonacci():
            grows = "grows like 1, 1, 2, 3, 5, 8"
        case Schedule():
            *listed, last = map(spoken, backoff.delays)
            if not listed:
                return f"The backoff is always {last}."
            return f"The backoff is {', '.join(listed)} and then always {last}."
        case _:
            assert_never(backoff)
    first = spoken(backoff.curve(1))
    return f"The backoff starts at {first} and {grows}, up to {spoken(backoff.ceiling)}."


def _jitter(jitter: Jitter, backoff: Backoff) -> str:
    match jitter:
        case NoJitter():
            return "Every wait is the backoff itself, so clients that fail together meet again."
        case Full():
            return "A wait is drawn evenly between 0 and the backoff."
        case Equal():
            return "A wait is drawn evenly between half the backoff and the backoff."
        case Percent():
            return f"A wait is the backoff, give or take {jitter.share * 100:g} % by chance."
        case Decorrelated():
            return _decorrelated(jitter, backoff)
        case Smooth():
            return (
                "Waits are drawn so that the retries of many clients arrive as one even flow;"
                f" none is longer than {spoken(backoff.ceiling)}."
            )
        case _:
            assert_never(jitter)


def _decorrelated(jitter: Decorrelated, backoff: Backoff) -> str:
    if not 0 < backoff.curve(1) < backoff.ceiling:
        return "A wait is drawn evenly between 0 and the backoff."
    piled = "; late waits pile up there" if jitter.clamp == "outside" else ""
    return (
        f"A wait is drawn evenly between {spoken(backoff.curve(1))} and three times the wait"
        f" before, up to {spoken(backoff.ceiling)}{piled}."
    )


def _time_limit(policy: Policy) -> str:
    if policy.within is None:
        return "There is no limit of time."
    last = _typical_last(policy, policy.within)
    limit = f"No wait is begun that would end more than {spoken(policy.within)} after the start"
    if last == policy.attempts:
        ending = "all attempts fit"
    elif last == COUNTED_ATTEMPTS:
        ending = f"at least {COUNTED_ATTEMPTS:,} attempts fit"
    else:
        counted = "1 attempt" if last == 1 else f"{last:,} attempts"
        ending = f"that ends it after {counted}"
    return f"{limit}; with typical waits and attempts that take no time, {ending}."


def _typical_last(policy: Policy, within: float) -> int:
    """Count the attempts that begin in time when every draw is in the middle."""
    most = COUNTED_ATTEMPTS if policy.attempts is None else policy.attempts
    counted = min(most, COUNTED_ATTEMPTS)
    for failed, (_, total) in zip(range(1, counted), _typical(policy), strict=False):
        if total > within:
            return failed
    return counted


def _retry_after(rule: RetryAfter) -> str:
    if not rule.honour:
        return "A wait the server asks for (Retry-After) is ignored."
    return (
        f"A wait the server asks for (Retry-After) is kept, and a little is added by chance; if it"
        f" is longer than {spoken(rule.at_most)}, the call gives up and hands it on."
    )


def _statuses(statuses: Statuses) -> str:
    retried, final = (
        ", ".join(map(str, sorted(some))) for some in (statuses.retry, statuses.never)
    )
    return (
        f"Of HTTP statuses, {retried or 'none by name'} and any other 5xx are retried;"
        f" {final or 'none by name'} and any other 4xx are not."
    )


def _nested(*, nested: bool) -> str:
    if nested:
        return "Inside another retry it retries as well, so the attempts multiply."
    return "Inside another retry it makes one attempt."


def probes(rule: ProbeRule) -> str:
    """Say how often the webhook service tries an endpoint that stays down."""
    return (
        "The webhook service tries an endpoint that is down ever more rarely: after 10 min, a"
        f" probe comes late by at most {100 * rule.late:g} % of the outage's age"
        f" ({100 * rule.late_large:g} % while {rule.large:,} deliveries wait), and by"
        f" {spoken(rule.at_most)} at most."
    )


def _ended(outcome: Outcome) -> str:
    match outcome:
        case Success():
            return "succeeded"
        case Pending():
            return "found no result yet"
        case Failure():
            return f"failed ({outcome.kind})"
        case _:
            assert_never(outcome)


def _reason(policy: Policy, outcome: Outcome) -> str:
    """Say where a wait came from."""
    asked = outcome.retry_after if isinstance(outcome, Failure) else None
    if asked is not None and policy.retry_after.honour and not math.isnan(asked):
        return f"as the server asked for {spoken(max(0.0, asked))}"
    backoff, jitter = type(policy.backoff).__name__, type(policy.jitter).__name__
    return f"by {backoff} backoff with {jitter} jitter"
