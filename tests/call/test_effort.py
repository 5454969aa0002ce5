"""What an effort decides, tells and leaves behind; the drivers around it have their own tests."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tarry
from tarry import (
    AttemptTimedOut,
    Breaker,
    CircuitOpen,
    Exponential,
    Failure,
    Fixed,
    GaveUp,
    Kind,
    NoJitter,
    Pending,
    Policy,
    Quota,
    Ratio,
    RetryAfter,
    Success,
    Why,
)
from tarry.call import sync
from tarry.call.effort import Effort
from tarry.call.plan import plan_of
from tarry.call.scope import ATTEMPT, ENDED
from tarry.call.world import world
from tarry.core.breaker import Phase
from tarry.observe import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded, listen

STEADY = Policy(backoff=Exponential(base=1, cap=60), jitter=NoJitter(), attempts=3)
QUICK = Policy(backoff=Fixed(0), jitter=NoJitter(), attempts=3)


def failing(*errors: Exception | None) -> Callable[[], str]:
    """A function that raises these, one a call (None: it succeeds), and then is done."""
    left = list(errors)

    def function() -> str:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return "done"

    return function


# What is told


def test_every_event_of_a_call_that_succeeds_in_the_end(push: Callable[[float], None]) -> None:
    heard: list[Event] = []
    error = ConnectionError()
    errors = [error]

    @tarry.retry(STEADY, on=ConnectionError, hooks=heard.append, name="fetch")
    def works() -> None:
        push(0.25)
        if errors:
            raise errors.pop()

    works()
    assert heard == [
        Attempted("fetch", 1, 0.25, Failure(), error),
        Retrying("fetch", 1, 1.0, Failure(), error),
        Attempted("fetch", 2, 0.25, Success(), None),
        Succeeded("fetch", 2, 1.5),
    ]


def test_every_event_of_a_call_that_is_given_up(push: Callable[[float], None]) -> None:
    heard: list[Event] = []
    error = ConnectionError()

    @tarry.retry(STEADY.replace(attempts=2), on=ConnectionError, hooks=heard.append, name="fetch")
    def works() -> None:
        push(0.25)
        raise error

    with pytest.raises(ConnectionError):
        works()
    assert heard == [
        Attempted("fetch", 1, 0.25, Failure(), error),
        Retrying("fetch", 1, 1.0, Failure(), error),
        Attempted("fetch", 2, 0.25, Failure(), error),
        GivenUp("fetch", 2, 1.5, Why.ATTEMPTS, None, error),
    ]


@pytest.mark.usefixtures("still_time")
def test_a_poll_is_told_as_pending_and_not_as_a_failure() -> None:
    heard: list[Event] = []
    answers = [0, 1]
    tarry.retry(STEADY, until=bool, hooks=heard.append, name="poll")(lambda: answers.pop(0))()
    assert heard == [
        Attempted("poll", 1, 0.0, Pending(), None),
        Retrying("poll", 1, 1.0, Pending(), None),
        Attempted("poll", 2, 0.0, Success(), None),
        Succeeded("poll", 2, 1.0),
    ]


@pytest.mark.usefixtures("still_time")
def test_an_error_that_is_not_named_is_told_as_permanent() -> None:
    heard: list[Event] = []
    error = KeyError()
    with pytest.raises(KeyError):
        tarry.retry(STEADY, on=ConnectionError, hooks=heard.append, name="f")(failing(error))()
    permanent = Failure(Kind.PERMANENT)
    assert heard == [
        Attempted("f", 1, 0.0, permanent, error),
        GivenUp("f", 1, 0.0, Why.NOT_RETRIED, None, error),
    ]


@pytest.mark.usefixtures("still_time")
def test_listeners_hear_what_hooks_hear_after_them(events: list[Event]) -> None:
    order: list[str] = []
    stop = listen(lambda _: order.append("listener"))
    tarry.retry(STEADY, on=ConnectionError, hooks=lambda _: order.append("hook"))(failing())()
    stop()
    assert order == ["hook", "listener"] * 2
    assert len(events) == 2


@pytest.mark.usefixtures("still_time")
def test_a_call_that_is_refused_at_once_is_told_as_given_up() -> None:
    breaker, heard = Breaker(open_for=10, jitter=0), list[Event]()
    breaker.trip()
    with pytest.raises(CircuitOpen) as caught:
        tarry.retry(STEADY, on=ConnectionError, breaker=breaker, hooks=heard.append, name="fetch")(
            failing()
        )()
    assert heard == [GivenUp("fetch", 0, 0.0, Why.CIRCUIT, 10.0, caught.value)]


def test_a_hook_that_raises_does_not_take_the_call_down(
    monkeypatch: pytest.MonkeyPatch, slept: list[float]
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr("sys.excepthook", lambda *said: complaints.append(said))

    def broken(_: Event) -> None:
        raise ZeroDivisionError

    heard: list[Event] = []
    works = tarry.retry(STEADY, on=ConnectionError, hooks=[broken, heard.append])(
        failing(ConnectionError())
    )
    assert works() == "done"
    assert len(heard) == len(complaints) == 4
    assert slept == [1]


def test_what_ends_the_program_ends_it_from_inside_a_hook_too() -> None:
    def interrupted(_: Event) -> None:
        raise KeyboardInterrupt

    breaker = Breaker(failures=1, probes=1)
    works = tarry.retry(STEADY, on=ConnectionError, hooks=interrupted, breaker=breaker)
    with pytest.raises(KeyboardInterrupt):
        works(failing())()
    with pytest.raises(KeyboardInterrupt):
        works(failing(ConnectionError()))()


def test_a_hook_may_make_retried_calls_of_its_own() -> None:
    made: list[int] = []

    @tarry.retry(QUICK, on=ConnectionError, hooks=lambda _: works() and None)
    def works() -> bool:
        made.append(1)
        return True

    works()
    assert len(made) == 3  # itself, and once for each of its two events


def test_a_hook_hears_of_the_error_with_its_traceback_and_can_keep_neither_from_coming_out() -> (
    None
):
    heard: list[Event] = []

    def drops(event: Event) -> None:
        if isinstance(event, Attempted) and event.error is not None:
            assert event.error.__traceback__ is not None
        heard.append(event)

    error = ConnectionError()
    with pytest.raises(ConnectionError) as caught:
        tarry.retry(QUICK, on=ConnectionError, hooks=drops)(failing(error, error, error))()
    assert caught.value is error
    assert len(heard) == 6


@pytest.mark.parametrize(
    "event",
    [
        Attempted("f", 1, 0.5, Failure(), ConnectionError("x")),
        Retrying("f", 1, 0.5, Pending(), None),
        GivenUp("f", 3, 2.0, Why.BUDGET, 4.0, None),
        Succeeded("f", 2, 1.0),
        BreakerMoved("b", Phase.OPEN, Phase.CLOSED, 4.0),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_can_be_copied_and_pickled(event: Event) -> None:
    assert copy.copy(event) == event
    other = pickle.loads(pickle.dumps(event))  # noqa: S301  our own bytes
    assert repr(other) == repr(event)


# What is decided


def test_a_wait_that_would_end_too_late_is_not_begun(
    slept: list[float], push: Callable[[float], None]
) -> None:
    def works() -> None:
        push(2)
        raise ConnectionError

    with pytest.raises(ConnectionError) as caught:
        tarry.retry(STEADY.replace(within=6, attempts=9), on=ConnectionError)(works)()
    assert slept == [1]  # at 5 s a wait of 2 would end at 7
    assert caught.value.__notes__ == [
        "tarry: gave up after 2 attempts in 5 s: no time is left for another attempt"
    ]


def test_a_wait_that_ends_just_in_time_is_begun(slept: list[float]) -> None:
    with pytest.raises(ConnectionError):
        tarry.retry(STEADY.replace(within=3), on=ConnectionError)(
            failing(*[ConnectionError() for _ in range(3)])
        )()
    assert slept == [1, 2]


def test_a_wait_the_server_asked_for_is_kept(slept: list[float]) -> None:
    throttled = Failure(Kind.THROTTLED, retry_after=7)
    assert tarry.retry(STEADY, on=lambda _: throttled)(failing(ConnectionError()))() == "done"
    assert 7 <= slept[0] <= 7 + 3.5


def test_too_long_a_wait_is_not_waited_and_the_note_says_why(slept: list[float]) -> None:
    heard: list[Event] = []
    policy = STEADY.replace(retry_after=RetryAfter(at_most=60))
    with pytest.raises(ConnectionError) as caught:
        tarry.retry(policy, on=lambda _: Failure(retry_after=61), hooks=heard.append)(
            failing(ConnectionError())
        )()
    assert slept == []
    assert Why.RETRY_AFTER in caught.value.__notes__[0]
    assert isinstance(heard[-1], GivenUp)
    assert (heard[-1].why, heard[-1].retry_after) == (Why.RETRY_AFTER, 61)


@pytest.mark.parametrize("asked", [-1.0, 0.0, float("nan"), -float("inf")])
def test_an_odd_wait_from_a_server_never_takes_the_place_of_the_error(
    slept: list[float], asked: float
) -> None:
    works = tarry.retry(QUICK, on=lambda _: Failure(retry_after=asked))(failing(ConnectionError()))
    assert works() == "done"
    assert slept == []


def test_what_may_not_be_repeated_is_not(slept: list[float]) -> None:
    with pytest.raises(ConnectionError) as caught:
        tarry.retry(STEADY, on=lambda _: Failure(repeatable=False))(failing(ConnectionError()))()
    assert slept == []
    assert caught.value.__notes__[0].endswith(Why.NOT_REPEATABLE)


def test_one_attempt_is_one_attempt(slept: list[float]) -> None:
    with pytest.raises(ConnectionError) as caught:
        tarry.retry(STEADY.replace(attempts=1), on=ConnectionError)(failing(ConnectionError()))()
    assert slept == []
    assert not hasattr(caught.value, "__notes__")  # nobody meant to retry


def test_without_a_limit_it_goes_on_and_on(slept: list[float]) -> None:
    errors = [ConnectionError() for _ in range(500)]
    policy = STEADY.replace(attempts=None, within=None)
    assert tarry.retry(policy, on=ConnectionError)(failing(*errors))() == "done"
    assert len(slept) == 500
    assert max(slept) == 60


def test_a_note_of_an_inner_retry_gives_way_to_that_of_the_outer(slept: list[float]) -> None:
    @tarry.retry(STEADY.replace(nested=True, attempts=2), on=ConnectionError)
    def inner() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError) as caught:
        tarry.retry(STEADY, on=ConnectionError)(inner)()
    assert len(slept) == 5
    assert caught.value.__notes__ == [
        "tarry: gave up after 3 attempts in 6 s: all attempts are used up"
    ]


def test_a_call_inside_a_retry_leaves_the_note_to_it() -> None:
    def around() -> None:
        tarry.retry(STEADY, on=ConnectionError)(failing(ConnectionError()))()

    with pytest.raises(ConnectionError) as caught:
        tarry.retry(STEADY, on=ValueError)(around)()
    assert not hasattr(caught.value, "__notes__")


# Budgets


def test_when_the_budget_is_spent_the_error_comes_out(slept: list[float]) -> None:
    quota, heard = Quota(capacity=10, cost=5), list[Event]()
    with pytest.raises(ConnectionError) as caught:
        tarry.retry(
            STEADY.replace(attempts=9), on=ConnectionError, budget=quota, hooks=heard.append
        )(failing(*[ConnectionError() for _ in range(9)]))()
    assert slept == [1, 2]
    assert quota.tokens == 0
    assert caught.value.__notes__[0].endswith("s: the retry budget is spent")
    assert isinstance(heard[-1], GivenUp)
    assert heard[-1].why is Why.BUDGET


@pytest.mark.usefixtures("still_time")
def test_a_first_success_pays_back_and_a_retried_one_gets_its_cost_back() -> None:
    quota = Quota(capacity=500, cost=5, pay_back=1)
    for _ in range(20):
        quota.spend()
    assert quota.tokens == 400
    retried = tarry.retry(STEADY, on=ConnectionError, budget=quota)
    retried(failing())()
    assert quota.tokens == 401
    retried(failing(ConnectionError()))()
    assert quota.tokens == 401
    retried(failing(ConnectionError(), ConnectionError()))()
    assert quota.tokens == 396  # the retry that failed is not refunded
    with pytest.raises(KeyError):
        retried(failing(KeyError()))()
    assert quota.tokens == 396


@pytest.mark.usefixtures("still_time")
def test_a_poll_costs_nothing_and_is_paid_nothing_extra() -> None:
    quota = Quota()
    quota.spend()
    answers = [0, 0, 0, 1]
    policy = STEADY.replace(attempts=None)
    tarry.retry(policy, until=bool, budget=quota)(lambda: answers.pop(0))()
    assert quota.tokens == 496  # as any call that succeeded


@pytest.mark.usefixtures("still_time")
def test_a_bad_result_costs_a_retry() -> None:
    quota = Quota()
    with pytest.raises(GaveUp):
        tarry.retry(STEADY, on_result=bool, budget=quota)(lambda: 1)()
    assert quota.tokens == 490


@pytest.mark.usefixtures("still_time")
def test_a_call_is_counted_once_by_a_ratio_however_many_attempts_it_makes() -> None:
    ratio = Ratio(ratio=0.5, bootstrap=0)
    retried = tarry.retry(STEADY, on=ConnectionError, budget=ratio)
    retried(failing())()
    retried(failing(ConnectionError()))()  # the second call: one of two may be retried
    with pytest.raises(ConnectionError):
        retried(failing(ConnectionError()))()
    assert retried(failing(ConnectionError()))() == "done"


def test_a_hindered_retry_costs_nothing() -> None:
    quota = Quota()
    works = tarry.retry(STEADY, on=ConnectionError, budget=quota)
    with tarry.disabled(), pytest.raises(ConnectionError):
        works(failing(ConnectionError()))()
    assert quota.tokens == 500


# Breakers


def test_a_retry_the_circuit_would_refuse_is_not_waited_for(slept: list[float]) -> None:
    breaker, heard = Breaker(failures=2, open_for=30, jitter=0), list[Event]()
    error = ConnectionError()
    with pytest.raises(ConnectionError) as caught:
        tarry.retry(
            STEADY.replace(attempts=9), on=ConnectionError, breaker=breaker, hooks=heard.append
        )(failing(ConnectionError(), error))()
    assert caught.value is error
    assert slept == [1]
    (note,) = error.__notes__
    assert note.startswith("tarry: gave up after 2 attempts in 1 s: the circuit is open")
    assert heard[-1] == GivenUp(heard[0].name, 2, 1.0, Why.CIRCUIT, 30.0, error)


def test_a_retry_that_comes_when_the_circuit_lets_probes_through_is_waited_for(
    slept: list[float],
) -> None:
    breaker = Breaker(failures=1, open_for=2, jitter=0)
    works = failing(ConnectionError(), ConnectionError())
    policy = Policy(backoff=Fixed(2), jitter=NoJitter())
    assert tarry.retry(policy, on=ConnectionError, breaker=breaker)(works)() == "done"
    assert slept == [2, 2]
    assert breaker.phase == "closed"


@pytest.mark.usefixtures("still_time")
def test_a_circuit_that_opens_during_the_wait_ends_the_call_with_its_last_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaker, heard = Breaker(open_for=30, jitter=0), list[Event]()
    monkeypatch.setattr(world, "sleep", lambda _: breaker.trip())
    error = ConnectionError()
    with pytest.raises(ConnectionError) as caught:
        tarry.retry(STEADY, on=ConnectionError, breaker=breaker, hooks=heard.append, name="f")(
            failing(error)
        )()
    assert caught.value is error
    assert error.__context__ is None
    (note,) = error.__notes__
    assert note.startswith("tarry: gave up after 1 attempt in 0 s: the circuit is open")
    assert heard[-1] == GivenUp("f", 1, 0.0, Why.CIRCUIT, 30.0, error)


@pytest.mark.usefixtures("still_time")
def test_a_circuit_that_opens_during_a_polls_wait_ends_it_with_its_last_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaker = Breaker(open_for=30, jitter=0)
    monkeypatch.setattr(world, "sleep", lambda _: breaker.trip())
    with pytest.raises(GaveUp) as caught:
        tarry.retry(STEADY, until=bool, breaker=breaker)(lambda: 0)()
    error = caught.value
    assert (error.why, error.last, error.retry_after, error.attempts) == (Why.CIRCUIT, 0, 30.0, 1)


def test_polls_do_not_open_the_circuit(slept: list[float]) -> None:
    breaker = Breaker(failures=1, rate=0.1, minimum=1)
    with pytest.raises(GaveUp):
        tarry.retry(STEADY, until=bool, breaker=breaker)(lambda: 0)()
    assert breaker.phase == "closed"
    assert len(slept) == 2


@pytest.mark.usefixtures("still_time")
def test_bad_results_open_the_circuit() -> None:
    breaker = Breaker(failures=3)
    with pytest.raises(GaveUp):
        tarry.retry(STEADY, on_result=lambda _: True, breaker=breaker)(lambda: 0)()
    assert breaker.phase == "open"


@pytest.mark.parametrize("kind", [Kind.PERMANENT, Kind.BLOCKED, Kind.REFUSED])
def test_final_answers_do_not_open_the_circuit(kind: Kind) -> None:
    breaker = Breaker(failures=1)
    guarded = tarry.retry(STEADY, on=lambda _: Failure(kind), breaker=breaker)
    with pytest.raises(ConnectionError):
        guarded(failing(ConnectionError()))()
    with pytest.raises(GaveUp):
        tarry.retry(STEADY, on_result=lambda _: Failure(kind), breaker=breaker)(lambda: 0)()
    assert breaker.phase == "closed"


@pytest.mark.parametrize("error", [KeyError(), KeyboardInterrupt(), GeneratorExit()])
def test_errors_that_are_not_named_do_not_open_the_circuit(error: BaseException) -> None:
    breaker = Breaker(failures=1)

    def works() -> None:
        raise error

    with pytest.raises(type(error)):
        tarry.retry(STEADY, on=ConnectionError, breaker=breaker)(works)()
    assert breaker.phase == "closed"


def test_a_probe_whose_predicate_raises_is_given_back(push: Callable[[float], None]) -> None:
    breaker = Breaker(open_for=10, jitter=0)
    breaker.trip()
    push(10)

    def broken(_: Exception) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tarry.retry(STEADY, on=broken, breaker=breaker)(failing(ConnectionError()))()
    assert breaker.phase == "half-open"
    assert breaker.enter()


# Results that hold something open


def test_a_result_that_is_not_taken_is_discarded_before_the_wait(slept: list[float]) -> None:
    dropped: list[object] = []

    def discard(result: object) -> None:
        dropped.append((result, len(slept)))

    plan = plan_of(STEADY, until=lambda answer: answer == 3, discard=discard, name="f")
    answers = [1, 2, 3]
    assert sync.retry_call(plan, lambda: answers.pop(0))() == 3
    assert dropped == [(1, 0), (2, 1)]


@pytest.mark.usefixtures("still_time")
def test_the_last_result_may_be_handed_out_instead_of_an_error() -> None:
    dropped: list[object] = []
    plan = plan_of(STEADY, on_result=bool, discard=dropped.append, returns_last=True, name="f")
    answers = [1, 2, 3]
    assert sync.retry_call(plan, lambda: answers.pop(0))() == 3
    assert dropped == [1, 2]


@pytest.mark.usefixtures("still_time")
def test_a_result_that_was_discarded_is_not_handed_out_when_the_circuit_opens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaker, heard = Breaker(open_for=30, jitter=0), list[Event]()
    monkeypatch.setattr(world, "sleep", lambda _: breaker.trip())
    plan = plan_of(
        STEADY, on_result=bool, returns_last=True, breaker=breaker, hooks=heard.append, name="f"
    )
    with pytest.raises(CircuitOpen):
        sync.retry_call(plan, lambda: 1)()
    assert heard[-1] == GivenUp("f", 1, 0.0, Why.CIRCUIT, 30.0, None)


# Errors that travel


def cut() -> AttemptTimedOut:
    plan = plan_of(STEADY, on=lambda _: True)
    return AttemptTimedOut(0.5, plan)


@pytest.mark.parametrize(
    "error",
    [
        cut(),
        CircuitOpen("db", 40.0, 10.0),
        tarry.BudgetSpent("quota"),
        GaveUp(Why.WITHIN, attempts=3, elapsed=4.5, last="x", retry_after=7.0),
        tarry.PolicyError("attempts", 0, "1 or more"),
        tarry.DecorationError("no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_travels_with_its_facts_and_notes(error: Exception) -> None:
    error.add_note("seen by a worker")
    for other in (
        pickle.loads(pickle.dumps(error)),  # noqa: S301  our own bytes
        copy.copy(error),
        copy.deepcopy(error),
    ):
        facts = {**vars(error), "plan": None}
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert {**vars(other), "plan": None} == facts
        assert other.__notes__ == ["seen by a worker"]


def test_a_cut_that_has_travelled_is_nobodys_own() -> None:
    error: Any = pickle.loads(pickle.dumps(cut()))  # noqa: S301  our own bytes
    assert error.plan is None


# Left behind


def test_a_closed_effort_holds_nothing_and_hinders_nobody() -> None:
    plan = plan_of(QUICK, on=ConnectionError, breaker=Breaker(), name="f")
    effort = Effort(plan, None, world.clock())
    effort.begin()
    assert effort.after_error(ConnectionError())
    effort.close()
    assert effort.scope[ATTEMPT] == ENDED
    effort.close()  # once more is no harm


def test_what_remains_is_the_efforts_own_to_say(push: Callable[[float], None]) -> None:
    effort = Effort(plan_of(QUICK.replace(within=10), on=ConnectionError), None, world.clock())
    assert effort.remaining == 10
    push(4)
    assert effort.remaining == 6
    push(40)
    assert effort.remaining == 0
    endless = plan_of(QUICK.replace(within=None), on=ConnectionError)
    assert Effort(endless, None, world.clock()).remaining is None
