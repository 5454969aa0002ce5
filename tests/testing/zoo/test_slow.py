import socket
import time
from urllib.parse import urlsplit

import pytest

from tarry.core.outcome import Kind
from tarry.testing import zoo
from tarry.testing.zoo.slow import HEAD, SLOW
from tests.testing.zoo.conftest import BEAT, PATIENCE, SILENCE, Visit

HALVES = {
    "hang-after-accept": b"",
    "hang-mid-request": b"",
    "hang-before-answer": b"",
    "hang-mid-status": b"HTTP/1.1 20",
    "hang-mid-head": HEAD[:30],
    "hang-before-blank-line": HEAD[:-2],
    "hang-after-head": HEAD,
    "hang-mid-body": HEAD + b"x" * 300,
}


@pytest.mark.parametrize("name", HALVES)
def test_they_fall_silent_after_a_part(visit: Visit, name: str) -> None:
    assert visit(name).send().hear() == (HALVES[name], "silence")


def test_where_the_line_is_full_no_connection_is_made() -> None:
    with zoo.receiver("hang-before-accept") as receiver:
        port = urlsplit(receiver.url).port
        with pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.1", port or 0), timeout=SILENCE)


def test_who_does_not_read_takes_no_more_than_buffers_hold(visit: Visit) -> None:
    visitor = visit("hang-after-accept")
    with pytest.raises(TimeoutError):
        visitor.sock.sendall(bytes(64 * 1024 * 1024))


TRICKLES = {
    "slow-head": b"",
    "slow-body": HEAD,
    "slow-chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    "slow-continue": b"",
}
"""The part that each receiver sends at once, before it sends single bytes."""


@pytest.mark.parametrize("name", TRICKLES)
def test_they_send_a_byte_at_a_time(visit: Visit, name: str) -> None:
    at_once = TRICKLES[name]
    began_at = time.monotonic()
    visitor = visit(name).send()
    visitor.sock.settimeout(PATIENCE)  # on a busy machine a byte may take much longer than a beat
    heard, why = visitor.hear(most=len(at_once) + 50)
    bytes_alone = len(heard) - len(at_once)
    assert why == "enough"
    assert heard.startswith(at_once)
    assert time.monotonic() - began_at >= (bytes_alone - 1) * BEAT


def test_slow_means_a_second_unless_it_is_said() -> None:
    with zoo.receiver("slow-head") as receiver:
        port = urlsplit(receiver.url).port
        with socket.create_connection(("127.0.0.1", port or 0), timeout=PATIENCE) as sock:
            began_at = time.monotonic()
            sock.sendall(b"POST /hook HTTP/1.1\r\n\r\n")
            assert sock.recv(1) == b"H"
            assert sock.recv(1) == b"T"
            assert time.monotonic() - began_at >= 0.99


def test_without_all_headers_it_is_a_timeout_and_with_them_an_answer() -> None:
    for each in SLOW:
        ending: zoo.Ending = 200 if each.cut else Kind.TIMEOUT
        assert each.endings == {ending}
