"""Failures to connect: each step to a connection returns a `SendFailure` in place of its result."""

import errno
import ssl

from msgspec import Struct

from tarry.core.outcome import Kind

_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_NO_ROUTE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})


class SendFailure(Struct, frozen=True):
    """A failure and its description, which an endpoint's owner may read.

    `local` marks a failure of this machine, which says nothing about the endpoint.
    """

    kind: Kind
    detail: str
    local: bool = False


def is_scarcity(error: BaseException) -> bool:
    """Return whether this machine is out of file descriptors or buffers."""
    return isinstance(error, OSError) and error.errno in _SCARCE


def send_failure_of(error: BaseException) -> SendFailure:
    """Return the failure that an error means, of connecting or on a connection."""
    match error:
        case ssl.SSLCertVerificationError():
            return SendFailure(Kind.TLS, f"the certificate was refused: {error.verify_message}")
        case ssl.SSLError():
            # Errors that Python raises itself, without OpenSSL, have no reason.
            reason = getattr(error, "reason", None) or "the connection broke"
            return SendFailure(Kind.TLS, f"TLS failed: {reason.replace('_', ' ').lower()}")
        case TimeoutError():
            return SendFailure(Kind.TIMEOUT, "the connection was not established in time")
        case _:
            return SendFailure(Kind.TRANSIENT, _words(error), local=is_scarcity(error))


def _words(error: BaseException) -> str:
    """Return a sentence for people about a failed connection."""
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(error, ConnectionError):
        return "the connection was reset"
    if is_scarcity(error):
        return "the sender has no file descriptors or buffers left"
    if isinstance(error, OSError) and error.errno in _NO_ROUTE:
        return "there is no route to the endpoint"
    return f"the connection failed: {type(error).__name__}"
