"""One decision, many ways to put it around a call: from the same draws they all do the same."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import trio
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry import Failure, Pending, Success
from tarry.core.outcome import Outcome
from tarry.observe import Event, GivenUp, Retrying
from tarry.testing import PushedClock, Script, pushed_clock, scripted_draws, seeded_draws

LONGEST_SCRIPT = 8
NOT_NAMED = Failure(tarry.Kind.PERMANENT)


class Step(NamedTuple):
    """What one attempt does: how it ends, after how long, and whether by raising."""

    outcome: Outcome
    took: float
    raises: bool


class Named(Exception):  # noqa: N818  one that `on` names by its type
    pass


class Judged(Exception):  # noqa: N818  one that `on` asks a function about
    def __init__(self, failure: Failure) -> None:
        self.failure = failure


class NotNamed(Exception):  # noqa: N818  one that `on` does not name
    pass


@dataclass
class Play:
    """The steps of a script, made attempt by attempt; when they are over, all goes well."""

    steps: tuple[Step, ...]
    clock: PushedClock
    attempts: int = 0
    raised: list[Exception] = field(default_factory=list)

    def step(self) -> Step:
        """Make the next attempt."""
        self.attempts += 1
        ended = self.attempts > len(self.steps)
        step = Step(Success(), 0.0, raises=False) if ended else self.steps[self.attempts - 1]
        self.clock.push(step.took)
        if step.raises:
            self.raised.append(error_for(step.outcome))
            raise self.raised[-1]
        return step


class Run(NamedTuple):
    """What came of a call, told alike whichever way it was made."""

    slept: list[float]
    attempts: int
    ended_at: float
    ending: tuple[object, ...]
    draws_left: tuple[float, ...]


def error_for(outcome: Outcome) -> Exception:
    """The exception that makes for this outcome."""
    if not isinstance(outcome, Failure) or outcome == NOT_NAMED:
        return NotNamed()
    return Named() if outcome == Failure() else Judged(outcome)


def judge(error: Exception) -> bool | Failure:
    """The question put to exceptions."""
    return error.failure if isinstance(error, Judged) else False


def unwanted(step: Step) -> bool | Failure:
    """The question put to results."""
    if step.outcome == Failure():
        return True
    return step.outcome if isinstance(step.outcome, Failure) else False


def there(step: Step) -> bool:
    """The question a poll asks."""
    return not isinstance(step.outcome, Pending)


def rules_for(steps: tuple[Step, ...]) -> dict[str, Any]:
    """Name what is retried, and no more than is needed: a plan with less in it is run lighter."""
    rules: dict[str, Any] = {"on": (Named, judge)}
    if any(not step.raises and step.outcome != Success() for step in steps):
        rules.update(until=there, on_result=unwanted)
    return rules


# --- the ways to make a call --------------------------------------------------------------------

Way = Callable[[tarry.Policy, dict[str, Any], Play], Step]


def decorated(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    return tarry.retry(policy, **rules)(play.step)()


def unscoped(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    return tarry.retry(policy, scoped=False, **rules)(play.step)()


def called(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    return policy.call(play.step, **rules)


def in_a_block(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    last = None
    for attempt in tarry.attempts(policy, **rules):
        with attempt:
            last = attempt.result(play.step())
    assert last is not None
    return last


def async_of(play: Play) -> Callable[[], Any]:
    async def step() -> Step:
        await asyncio.sleep(0)
        return play.step()

    return step


def decorated_async(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    call = tarry.retry(policy, **rules)(async_of(play))
    return asyncio.run(call())  # type: ignore[no-any-return]  # what the step returns


def called_async(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    return asyncio.run(policy.acall(async_of(play), **rules))  # type: ignore[no-any-return]


async def _block(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    last = None
    async for attempt in tarry.attempts(policy, **rules):
        async with attempt:
            last = attempt.result(play.step())
    assert last is not None
    return last


def in_an_async_block(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    return asyncio.run(_block(policy, rules, play))


def under_trio(policy: tarry.Policy, rules: dict[str, Any], play: Play) -> Step:
    return trio.run(_block, policy, rules, play)


WAYS: tuple[Way, ...] = (
    decorated,
    unscoped,
    called,
    in_a_block,
    decorated_async,
    called_async,
    in_an_async_block,
    under_trio,
)


def run(
    way: Way, policy: tarry.Policy, steps: tuple[Step, ...], draws: list[float], **more: object
) -> Run:
    """Make the call this way, with these draws."""
    with pushed_clock() as clock, scripted_draws(draws) as script:
        play = Play(steps, clock)
        try:
            way(policy, {**rules_for(steps), **more}, play)
            ending: tuple[object, ...] = ("returned",)
        except tarry.GaveUp as end:
            told_right = (end.attempts, end.elapsed) == (play.attempts, clock.now)
            ending = ("unwanted", end.why, end.retry_after) if told_right else ("told wrong", end)
        except (Named, Judged, NotNamed) as error:
            ending = ("raised",) if error is play.raised[-1] else ("raised another", error)
    return Run(clock.slept, play.attempts, clock.now, ending, script.left)


def by_hand(
    policy: tarry.Policy, steps: tuple[Step, ...], draws: list[float]
) -> tuple[Run, tarry.GiveUp | None]:
    """Drive `decide` in a loop of our own; also tells the last decision, if it was to give up."""
    clock, draw, progress, end = PushedClock(), Script(draws), tarry.Progress(), None
    ending: tuple[object, ...] = ("returned",)
    for step in steps:
        clock.push(step.took)
        decision = tarry.decide(policy, progress, step.outcome, now=clock.now, draw=draw)
        if isinstance(decision, tarry.GiveUp):
            end = decision
            ending = ("raised",) if step.raises else ("unwanted", end.why, end.retry_after)
            break
        assert isinstance(decision, tarry.Again)
        if decision.delay:
            clock.sleep(decision.delay)
        progress = progress.after(decision)
    return Run(clock.slept, progress.attempts, clock.now, ending, draw.left), end


# --- what is tried ------------------------------------------------------------------------------

seconds = st.sampled_from([0.0, 0.1, 1.0, 60.0]) | st.floats(0, 100)
pairs = st.tuples(seconds, seconds).map(sorted)
backoffs = st.one_of(
    st.builds(tarry.Fixed, seconds),
    pairs.map(lambda two: tarry.Linear(step=two[0], cap=two[1])),
    pairs.map(lambda two: tarry.Exponential(base=two[0], cap=two[1])),
    pairs.map(lambda two: tarry.Fibonacci(base=two[0], cap=two[1])),
    st.builds(tarry.Schedule, st.lists(seconds, min_size=1, max_size=4)),
)
jitters = st.sampled_from(
    [
        *(tarry.Decorrelated(), tarry.Decorrelated(clamp="outside"), tarry.Smooth()),
        *(tarry.NoJitter(), tarry.Full(), tarry.Equal(), tarry.Percent(0.2)),
    ]
)
policies = st.builds(
    tarry.Policy,
    backoff=backoffs,
    jitter=jitters,
    attempts=st.none() | st.integers(1, LONGEST_SCRIPT),
    within=st.none() | st.floats(0, 500),
    retry_after=st.builds(tarry.RetryAfter, honour=st.booleans(), at_most=st.floats(0, 200)),
)
asked = st.floats(0, 100) | st.sampled_from([-1.0, 0.0, float("nan")])
retried = st.just(Failure()) | st.builds(Failure, st.just(tarry.Kind.THROTTLED), asked)
any_failure = st.builds(Failure, st.sampled_from(tarry.Kind), st.none() | asked, st.booleans())
failures = st.one_of(
    retried, retried, retried, any_failure
)  # most scripts should go on for a while
tooks = st.just(0.0) | st.floats(0, 10)
raising = st.builds(Step, failures, tooks, st.just(value=True))
returning = st.builds(Step, failures | st.just(Pending()), tooks, st.just(value=False))
scripts = st.one_of(
    st.lists(raising, min_size=3, max_size=LONGEST_SCRIPT),  # results not judged: the lighter way
    st.lists(raising | returning, min_size=3, max_size=LONGEST_SCRIPT),
    st.lists(returning, min_size=3, max_size=LONGEST_SCRIPT),
    st.lists(raising | returning, max_size=2),
).map(tuple)
some_draws = st.lists(
    st.floats(0, 1, exclude_max=True), min_size=3 * LONGEST_SCRIPT, max_size=3 * LONGEST_SCRIPT
)


@given(policies, scripts, some_draws)
def test_every_way_to_make_a_call_decides_alike(
    policy: tarry.Policy, steps: tuple[Step, ...], draws: list[float]
) -> None:
    wanted, _ = by_hand(policy, steps, draws)
    for way in WAYS:
        assert run(way, policy, steps, draws) == wanted, way.__name__


@given(policies, scripts, some_draws)
def test_every_way_to_make_a_call_tells_alike(
    policy: tarry.Policy, steps: tuple[Step, ...], draws: list[float]
) -> None:
    run_by_hand, end = by_hand(policy, steps, draws)
    for way in WAYS:
        told: list[Event] = []
        assert run(way, policy, steps, draws, hooks=told.append) == run_by_hand, way.__name__
        waits = [event.delay for event in told if isinstance(event, Retrying)]
        assert [wait for wait in waits if wait] == run_by_hand.slept
        ends = [event for event in told if isinstance(event, GivenUp)]
        assert [tarry.GiveUp(event.why, event.retry_after) for event in ends] == [end] * bool(end)


@given(policies, scripts, some_draws, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_every_way_to_make_a_call_heeds_the_guards_alike(  # noqa: PLR0913, PLR0917  what is drawn
    policy: tarry.Policy,
    steps: tuple[Step, ...],
    draws: list[float],
    retries: int,
    failures_in_a_row: int,
    quota: bool,  # noqa: FBT001  drawn, not passed by hand
) -> None:
    def guarded(way: Way) -> Run:
        budget = tarry.Quota(retries, 1) if quota else tarry.Ratio(0.1, bootstrap=retries)
        breaker = tarry.Breaker(failures_in_a_row, open_for=20)
        return run(way, policy, steps, draws, budget=budget, breaker=breaker)

    wanted = guarded(decorated)
    for way in WAYS:
        assert guarded(way) == wanted, way.__name__


# --- seeds --------------------------------------------------------------------------------------


def waits_of_decide(policy: tarry.Policy, seed: int) -> Iterator[float]:
    draw, progress = Random(seed).random, tarry.Progress()
    while True:
        decision = tarry.decide(policy, progress, Failure(), now=0.0, draw=draw)
        assert isinstance(decision, tarry.Again)
        yield decision.delay
        progress = progress.after(decision)


def waits_of(way: Way, policy: tarry.Policy, seed: int, count: int) -> list[float]:
    told: list[Event] = []
    steps = (Step(Failure(), 0.0, raises=True),) * count
    with pushed_clock() as clock, seeded_draws(seed):
        way(policy, {"on": Named, "hooks": told.append}, Play(steps, clock))
    return [event.delay for event in told if isinstance(event, Retrying)]


@given(backoffs, jitters, st.integers(0), st.integers(0, 30))
def test_a_seed_gives_the_same_waits_everywhere(
    backoff: tarry.Fixed, jitter: tarry.Full, seed: int, count: int
) -> None:
    policy = tarry.Policy(backoff=backoff, jitter=jitter, attempts=None, within=None)
    wanted = list(islice(policy.waits(seed=seed), count))
    assert list(islice(waits_of_decide(policy, seed), count)) == wanted
    assert waits_of(decorated, policy, seed, count) == wanted
    assert waits_of(decorated_async, policy, seed, count) == wanted
