"""The one stream of events: who listens, and how an event reaches them."""

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock, local

from tarry.observe.events import Event

Listener = Callable[[Event], object]
"""Is told of an event. It runs inside the call it hears of, so it must be quick."""


class Telling(local):
    """Whether a listener is at work in this thread; listeners cannot wait, so no task can be."""

    at_work = False


class Stream:
    """Who listens to everything. A tuple, swapped whole: only changing it needs a lock."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()


stream = Stream()
_changing = Lock()
_telling = Telling()


def listen(listener: Listener) -> Callable[[], None]:
    """Tell `listener` of every event from now on; call what comes back to stop."""
    with _changing:
        stream.listeners = (*stream.listeners, listener)

    def stop() -> None:
        with _changing:
            known = list(stream.listeners)
            if listener in known:
                known.remove(listener)
            stream.listeners = tuple(known)

    return stop


def emit(event: Event, hooks: Iterable[Listener] = ()) -> None:
    """Tell the hooks of one call and everyone who listens.

    A listener that raises must not take the call down with it, nor go unnoticed: its error goes
    to `sys.excepthook`, which prints it unless the program has put something else there.

    Nobody is told of the retries a listener makes itself: telling the listener of them would not
    end, not even with a RecursionError, of which each event would raise one.
    """
    if _telling.at_work:
        return
    _telling.at_work = True
    try:
        for listener in (*hooks, *stream.listeners):
            _tell(listener, event)
    finally:
        _telling.at_work = False


def _tell(listener: Listener, event: Event) -> None:
    try:
        listener(event)
    except Exception as error:  # noqa: BLE001  whatever a listener raises
        with suppress(Exception):  # some errors take no note
            error.add_note(f"tarry: raised by the listener {listener!r}; the call goes on")
        sys.excepthook(type(error), error, error.__traceback__)
