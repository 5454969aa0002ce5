"""Faults of the network: what the exceptions of HTTP clients mean."""

import socket
import ssl
from collections.abc import Iterable, Iterator

from tarry.core.outcome import Kind
from tarry.core.value import Value, settle

_DEEPEST = 20
"""How many causes are followed at most: a chain can be a cycle."""


class Fault(Value):
    """A failure without an answer. `sent`: bytes of the request may have reached the server."""

    kind: Kind
    sent: bool

    def __init__(self, kind: Kind, *, sent: bool) -> None:
        settle(self, "kind", kind)
        settle(self, "sent", sent)


Faults = tuple[tuple[type[BaseException], Fault], ...]
"""The fault of each exception type. The first match counts; any other exception is no fault."""


def fault_in(faults: Faults, error: Exception) -> Fault | None:
    """Return the fault that an exception means, if another attempt could help; None otherwise.

    The exceptions of clients say little about why a connection failed; their causes do.
    """
    known = next((fault for kind, fault in faults if isinstance(error, kind)), None)
    if known is None:
        return None
    return Fault(_kind_by_cause(causes(error)) or known.kind, sent=known.sent)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, its cause, the cause of that, and so on."""
    current: BaseException | None = error
    for _ in range(_DEEPEST):
        if current is None:
            return
        yield current
        current = current.__cause__ or current.__context__


def _kind_by_cause(chain: Iterable[BaseException]) -> Kind | None:
    """Return the kind of failure by its cause: DNS, TLS, or None."""
    for cause in chain:
        if isinstance(cause, socket.gaierror):
            return Kind.DNS
        if isinstance(cause, ssl.SSLError):
            return Kind.TLS
    return None
