"""What an exception says about the way to the server."""

import socket
import ssl

import pytest

from tarry import Kind
from tarry.call.http.fault import Fault, causes, fault_in

FAULTS = (
    (ConnectionRefusedError, Fault(Kind.TRANSIENT, sent=False)),
    (OSError, Fault(Kind.PROTOCOL, sent=True)),
)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def test_the_first_that_fits_counts() -> None:
    assert fault_in(FAULTS, ConnectionRefusedError()) == Fault(Kind.TRANSIENT, sent=False)
    assert fault_in(FAULTS, ConnectionResetError()) == Fault(Kind.PROTOCOL, sent=True)


def test_what_is_not_named_is_no_fault() -> None:
    assert fault_in(FAULTS, caused(ValueError(), OSError())) is None


@pytest.mark.parametrize(
    ("cause", "kind"), [(socket.gaierror(), Kind.DNS), (ssl.SSLCertVerificationError(), Kind.TLS)]
)
def test_the_cause_tells_the_kind_but_not_whether_it_was_sent(cause: Exception, kind: Kind) -> None:
    error = caused(ConnectionRefusedError(), caused(RuntimeError(), cause))
    assert fault_in(FAULTS, error) == Fault(kind, sent=False)


def test_what_was_raised_while_handling_another_is_followed_too() -> None:
    error = OSError()
    error.__context__ = socket.gaierror()
    assert fault_in(FAULTS, error) == Fault(Kind.DNS, sent=True)


def test_a_circle_of_causes_has_an_end() -> None:
    one, other = OSError(), OSError()
    one.__cause__, other.__cause__ = other, one
    assert len(list(causes(one))) < 100
    assert fault_in(FAULTS, one) == Fault(Kind.PROTOCOL, sent=True)
