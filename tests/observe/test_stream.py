import contextvars
import sys

import pytest

import tarry
from tarry.observe import Event, Succeeded, listen
from tarry.observe.stream import emit, stream

EVENT = Succeeded("call", 1, 0.5)


def test_a_listener_hears_every_event_until_it_stops() -> None:
    heard: list[Event] = []
    stop = listen(heard.append)
    emit(EVENT)
    stop()
    emit(EVENT)
    assert heard == [EVENT]


def test_stopping_twice_is_harmless_and_leaves_the_others() -> None:
    first: list[Event] = []
    second: list[Event] = []
    stop = listen(first.append)
    listen(second.append)
    stop()
    stop()
    emit(EVENT)
    assert (first, second) == ([], [EVENT])


def test_a_listener_may_stop_while_it_is_told() -> None:
    heard: list[str] = []

    def once(event: Event) -> None:
        heard.append(event.name)
        stop()

    stop = listen(once)
    listen(lambda event: heard.append(f"then {event.name}"))
    emit(EVENT)
    emit(EVENT)
    assert heard == ["call", "then call", "then call"]


def test_hooks_hear_their_own_function_only() -> None:
    heard: list[Event] = []

    @tarry.retry(on=OSError, hooks=heard.append, name="mine")
    def mine() -> None: ...

    @tarry.retry(on=OSError, name="other")
    def other() -> None: ...

    mine()
    other()
    assert [event.name for event in heard] == ["mine", "mine"]


def test_hooks_are_told_before_those_who_listen_to_everything() -> None:
    heard: list[str] = []
    listen(lambda _: heard.append("everything"))
    emit(EVENT, [lambda _: heard.append("hook")])
    assert heard == ["hook", "everything"]


def test_a_listener_that_raises_breaks_nothing_and_is_shown(
    monkeypatch: pytest.MonkeyPatch, tarry_events: list[Event]
) -> None:
    shown: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _trace: shown.append(error))

    def broken(event: Event) -> None:
        raise LookupError(event.name)

    @tarry.retry(on=OSError, hooks=broken, name="call")
    def call() -> str:
        return "fine"

    assert call() == "fine"
    assert len(tarry_events) == 2, "whoever listens after it is told all the same"
    assert [type(error) for error in shown] == [LookupError, LookupError]
    [note] = shown[0].__notes__
    assert "broken" in note


def test_the_error_of_a_listener_is_on_stderr_unless_somebody_takes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(event: Event) -> None:
        raise LookupError(event.name)

    emit(EVENT, [broken])
    shown = capsys.readouterr().err
    assert "LookupError: call" in shown
    assert "tarry: raised by the listener" in shown


def test_nobody_is_told_of_the_retries_a_listener_makes_itself(
    tarry_events: list[Event],
) -> None:
    @tarry.retry(on=OSError, name="report")
    def report(event: Event) -> None:
        told.append(event.name)

    told: list[str] = []
    listen(report)
    tarry.retry(on=OSError, name="call")(lambda: None)()
    assert told == ["call", "call"]
    assert [event.name for event in tarry_events] == ["call", "call"]
    tarry.retry(on=OSError, name="after")(lambda: None)()
    assert told[2:] == ["after", "after"], "the next call is told of again"


def test_an_error_that_takes_no_note_is_shown_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _trace: shown.append(error))

    class Stubborn(Exception):  # noqa: N818  a name like any other
        def add_note(self, note: str) -> None:
            raise TypeError(note)

    def broken(event: Event) -> None:
        raise Stubborn(event.name)

    emit(EVENT, [broken])
    assert [type(error) for error in shown] == [Stubborn]


def test_what_ends_the_program_passes_through_a_listener() -> None:
    def ends(event: Event) -> None:
        raise KeyboardInterrupt(event.name)

    with pytest.raises(KeyboardInterrupt):
        emit(EVENT, [ends])


def test_nobody_listens_at_first() -> None:
    assert stream.listeners == ()


def test_a_task_that_a_listener_starts_is_heard() -> None:
    inherited: list[contextvars.Context] = []
    emit(EVENT, [lambda _: inherited.append(contextvars.copy_context())])
    heard: list[Event] = []
    listen(heard.append)
    inherited[0].run(emit, EVENT)
    assert heard == [EVENT]
