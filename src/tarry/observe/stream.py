"""The one stream of events: who listens, and how an event reaches them."""

import sys
from collections.abc import Callable, Iterable
from types import SimpleNamespace

from tarry.observe.events import Event

Listener = Callable[[Event], object]
"""Is told of an event. It runs inside the call it hears of, so it must be quick."""


class Stream:
    """Who listens to everything. A tuple, swapped whole: reading it needs no lock."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()


stream = Stream()


def listen(listener: Listener) -> Callable[[], None]:
    """Tell `listener` of every event from now on; call what comes back to stop."""
    stream.listeners = (*stream.listeners, listener)

    def stop() -> None:
        known = list(stream.listeners)
        if listener in known:
            known.remove(listener)
        stream.listeners = tuple(known)

    return stop


def emit(event: Event, hooks: Iterable[Listener] = ()) -> None:
    """Tell the hooks of one call and everyone who listens.

    A listener that raises must not take the call down with it, nor go unnoticed: its error goes
    to `sys.unraisablehook`, as that of a failing `__del__` does.
    """
    for listener in (*hooks, *stream.listeners):
        try:
            listener(event)
        except Exception as error:  # noqa: BLE001  whatever a listener raises
            sys.unraisablehook(
                SimpleNamespace(
                    exc_type=type(error),
                    exc_value=error,
                    exc_traceback=error.__traceback__,
                    err_msg="tarry: a listener raised",
                    object=listener,
                )
            )
