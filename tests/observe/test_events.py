from collections.abc import Callable

import pytest

import tarry
from tarry.observe import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded
from tarry.testing import PushedClock


def test_a_story_is_told_event_by_event(
    story: Callable[[], None], tarry_events: list[Event]
) -> None:
    story()
    assert [type(event) for event in tarry_events] == [
        *(Attempted, Retrying, Attempted, Retrying, Attempted, Succeeded),
        *(Attempted, Retrying, BreakerMoved, Attempted, GivenUp),
    ]
    assert all("hunter2" not in repr(event) for event in tarry_events)


def test_the_facts_of_a_call_that_succeeds_at_its_second_attempt(
    tarry_clock: PushedClock, tarry_events: list[Event]
) -> None:
    error = OSError("no")
    left = iter([error, None])

    @tarry.retry(
        tarry.Policy(backoff=tarry.Fixed(3), jitter=tarry.NoJitter()), on=OSError, name="call"
    )
    def call() -> None:
        tarry_clock.push(0.25)
        if raised := next(left):
            raise raised

    call()
    assert tarry_events == [
        Attempted("call", 1, 0.25, tarry.Failure(), error),
        Retrying("call", 1, 3.0, tarry.Failure(), error),
        Attempted("call", 2, 0.25, tarry.Success(), None),
        Succeeded("call", 2, 3.5),
    ]


def test_a_poll_that_gives_up_has_no_error_to_tell(
    tarry_clock: PushedClock, tarry_events: list[Event]
) -> None:
    policy = tarry.Policy(backoff=tarry.Fixed(1), jitter=tarry.NoJitter(), attempts=2)
    poll = tarry.retry(policy, until=bool, name="poll")(lambda: False)
    with pytest.raises(tarry.GaveUp):
        poll()
    assert tarry_events == [
        Attempted("poll", 1, 0.0, tarry.Pending(), None),
        Retrying("poll", 1, 1.0, tarry.Pending(), None),
        Attempted("poll", 2, 0.0, tarry.Pending(), None),
        GivenUp("poll", 2, 1.0, tarry.Why.ATTEMPTS, None, None),
    ]
    assert tarry_clock.now == 1.0


def test_a_breaker_tells_how_it_moved(tarry_clock: PushedClock, tarry_events: list[Event]) -> None:
    breaker = tarry.Breaker(open_for=30, jitter=0, name="bank")
    breaker.trip()
    breaker.trip()
    tarry_clock.push(31)
    with breaker.calling():
        pass
    moves = [
        (event.before.value, event.after.value)
        for event in tarry_events
        if isinstance(event, BreakerMoved) and event.name == "bank"
    ]
    assert moves == [("closed", "open"), ("open", "half-open"), ("half-open", "closed")]


def test_a_call_that_a_breaker_refuses_is_told_of(
    tarry_clock: PushedClock, tarry_events: list[Event]
) -> None:
    breaker = tarry.Breaker(open_for=30, jitter=0)
    breaker.trip()
    tarry_clock.push(10)
    tarry_events.clear()
    call = tarry.retry(on=OSError, breaker=breaker, name="call")(lambda: None)
    with pytest.raises(tarry.CircuitOpen) as refusal:
        call()
    assert tarry_events == [GivenUp("call", 0, 0.0, tarry.Why.CIRCUIT, 20.0, refusal.value)]


def test_events_are_values() -> None:
    event = Succeeded("call", 2, 1.5)
    assert event == Succeeded(name="call", attempts=2, elapsed=1.5)
    assert event != Succeeded("call", 3, 1.5)
    assert hash(event) == hash(Succeeded("call", 2, 1.5))
    with pytest.raises(AttributeError):
        event.name = "other"  # type: ignore[misc]
