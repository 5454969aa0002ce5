import ssl

import pytest

from tarry.core.outcome import Kind
from tarry.testing.zoo.tls import TLS
from tests.testing.zoo.conftest import Visit

HELLO = b"\x16\x03\x01\x00\x05hello"
UNTRUSTED = [
    each.name
    for each in TLS
    if each.certificate and each.endings <= {Kind.TLS, Kind.TRANSIENT} and "cut" not in each.name
]


def test_the_good_one_answers(visit: Visit) -> None:
    heard, why = visit("tls").send().hear()
    assert heard.endswith(b"secret")
    assert why == "silence"


@pytest.mark.parametrize("name", [name for name in UNTRUSTED if name != "tls-wants-one-too"])
def test_a_careful_visitor_makes_no_handshake(visit: Visit, name: str) -> None:
    with pytest.raises(ssl.SSLError):
        visit(name)


def test_who_shows_no_certificate_is_not_answered(visit: Visit) -> None:
    visitor = visit("tls-wants-one-too")
    heard, why = visitor.send().hear()
    assert heard == b""
    assert why in {"end", "reset"}  # a reset if it hung up before the whole request was there
    assert visitor.receiver.requests == []


@pytest.mark.parametrize(
    ("name", "answer", "why"),
    [
        ("tls-stall", b"", "silence"),
        ("tls-stall-later", b"\x16\x03\x03\x40\x00", "silence"),
        ("tls-plain", b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n", "end"),
        ("tls-noise", bytes(range(256)), "end"),
        ("tls-close", b"", "end"),
        ("tls-reset", b"", "reset"),
    ],
)
def test_some_make_no_handshake_at_all(visit: Visit, name: str, answer: bytes, why: str) -> None:
    visitor = visit(name)
    visitor.sock.sendall(HELLO)
    assert visitor.hear() == (answer, why)


@pytest.mark.parametrize(("name", "least"), [("tls-trickle", 20), ("tls-flood", 100_000)])
def test_some_never_come_to_an_end_of_it(visit: Visit, name: str, least: int) -> None:
    visitor = visit(name)
    visitor.sock.sendall(HELLO)
    heard, why = visitor.hear(least)
    assert heard.startswith(b"\x16\x03\x03")
    assert why == "enough"


@pytest.mark.parametrize(
    ("name", "half"),
    [
        ("tls-cut-before-answer", b""),
        ("tls-cut-mid-head", b"HTTP/1.1 200 OK\r\n"),
        ("tls-cut-mid-body", b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsec"),
        ("tls-cut-ends-body", b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nsec"),
    ],
)
def test_some_end_the_stream_without_a_word(visit: Visit, name: str, half: bytes) -> None:
    assert visit(name).send().hear() == (half, "end")


def test_slow_and_endless_ones_are_found_behind_tls_too(visit: Visit) -> None:
    assert visit("tls-slow-head").send().hear(most=10)[1] == "enough"
    assert visit("tls-endless-body").send().hear()[1] == "enough"
