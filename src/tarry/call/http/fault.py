"""What went wrong on the way, as the exception of an HTTP client tells it."""

import socket
import ssl
from collections.abc import Iterable, Iterator

from tarry.core.outcome import Kind
from tarry.core.value import Value, settle

_DEEPEST = 20
"""How far causes are followed: a chain can be a circle."""


class Fault(Value):
    """A failure without an answer. `sent`: bytes of the request may have reached the server."""

    kind: Kind
    sent: bool

    def __init__(self, kind: Kind, *, sent: bool) -> None:
        settle(self, "kind", kind)
        settle(self, "sent", sent)


Faults = tuple[tuple[type[BaseException], Fault], ...]
"""The fault each kind of exception is. The first that fits counts; what is not here is none."""


def fault_in(faults: Faults, error: Exception) -> Fault | None:
    """The fault an exception is, if it is one that another attempt could mend.

    Clients tell little of why a connection failed; the causes of their exceptions do.
    """
    found = next((fault for kind, fault in faults if isinstance(error, kind)), None)
    if found is None:
        return None
    return Fault(_kind_by_cause(causes(error)) or found.kind, sent=found.sent)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what caused it, what caused that, and so on."""
    current: BaseException | None = error
    for _ in range(_DEEPEST):
        if current is None:
            return
        yield current
        current = current.__cause__ or current.__context__


def _kind_by_cause(chain: Iterable[BaseException]) -> Kind | None:
    for cause in chain:
        if isinstance(cause, socket.gaierror):
            return Kind.DNS
        if isinstance(cause, ssl.SSLError):
            return Kind.TLS
    return None
