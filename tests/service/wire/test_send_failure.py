import errno
import ssl

import pytest

from tarry.core.outcome import Kind
from tarry.service.wire.send_failure import is_scarcity, send_failure_of


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ConnectionRefusedError(), Kind.TRANSIENT, "refused"),
        (ConnectionResetError(), Kind.TRANSIENT, "reset"),
        (BrokenPipeError(), Kind.TRANSIENT, "reset"),
        (TimeoutError(), Kind.TIMEOUT, "in time"),
        (OSError(errno.EHOSTUNREACH, "x"), Kind.TRANSIENT, "no route"),
        (OSError(errno.EMFILE, "x"), Kind.TRANSIENT, "no file descriptors"),
        (ssl.SSLError(1, "x"), Kind.TLS, "TLS failed"),
        (OSError(errno.EACCES, "at 10.0.0.1"), Kind.TRANSIENT, "PermissionError"),
        (UnicodeError("at 10.0.0.1"), Kind.TRANSIENT, "UnicodeError"),
    ],
)
def test_an_error_becomes_a_kind_and_words_without_addresses(
    error: Exception, kind: Kind, words: str
) -> None:
    found = send_failure_of(error)
    assert found.kind is kind
    assert words in found.detail
    assert "10.0.0.1" not in found.detail


def test_scarcity_is_marked_as_a_failure_of_this_machine() -> None:
    assert send_failure_of(OSError(errno.EMFILE, "x")).local
    assert not send_failure_of(ConnectionRefusedError()).local
    assert not send_failure_of(TimeoutError()).local


def test_scarcity_is_of_this_machine_and_not_of_the_endpoint() -> None:
    assert is_scarcity(OSError(errno.ENFILE, "x"))
    assert not is_scarcity(OSError(errno.ECONNREFUSED, "x"))
    assert not is_scarcity(ValueError())
