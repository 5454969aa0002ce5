"""The stream of events: the listeners, and how an event reaches them."""

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock, local

from tarry.observe.events import Event

Listener = Callable[[Event], object]
"""Called with each event. It runs inside the call that it observes, so it must be quick."""


class ListenerRunning(local):
    """Whether a listener is running in this thread.

    A listener cannot await, so no other task runs in the thread meanwhile.
    """

    in_this_thread = False


class Stream:
    """The listeners to all events. The tuple is replaced as a whole: only changes need a lock."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()


stream = Stream()
_changing = Lock()
_listener_running = ListenerRunning()


def listen(listener: Listener) -> Callable[[], None]:
    """Call `listener` with every event from now on; call the returned function to stop."""
    with _changing:
        stream.listeners = (*stream.listeners, listener)

    def stop() -> None:
        with _changing:
            remaining = list(stream.listeners)
            if listener in remaining:
                remaining.remove(listener)
            stream.listeners = tuple(remaining)

    return stop


def emit(event: Event, hooks: Iterable[Listener] = ()) -> None:
    """Call the hooks of one call, and all listeners.

    A listener that raises must not break the call, nor go unnoticed: its error goes to
    `sys.excepthook`, which prints it unless the program has replaced that function.

    Retries that a listener makes itself are not reported. Otherwise the listener would be called
    for them, too, without end. Not even a RecursionError would stop it, as each event would raise
    one.
    """
    if _listener_running.in_this_thread:
        return
    _listener_running.in_this_thread = True
    try:
        for listener in (*hooks, *stream.listeners):
            _tell(listener, event)
    finally:
        _listener_running.in_this_thread = False


def _tell(listener: Listener, event: Event) -> None:
    try:
        listener(event)
    except Exception as error:  # noqa: BLE001  a listener may raise anything
        with suppress(Exception):  # some errors refuse a note
            error.add_note(f"tarry: raised by the listener {listener!r}; the call goes on")
        sys.excepthook(type(error), error, error.__traceback__)
