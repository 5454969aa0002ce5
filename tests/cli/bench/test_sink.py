import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tarry.cli.bench.sink import Report, Sink

HOLD_A_SINK = """
import time
from tarry.cli.bench.sink import Sink
print(Sink().url, flush=True)
time.sleep(600)
"""
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def running_sink() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


@pytest.fixture
def sink(running_sink: Sink) -> Sink:
    running_sink.reset()
    return running_sink


def post(name: str, body: bytes = b"{}", id_header: str = "webhook-id") -> bytes:
    head = (
        f"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n{id_header}: {name}\r\n\r\n"
    )
    return head.encode() + body


def exchange(sink: Sink, *pieces: bytes, answers: int) -> bytes:
    """Send these pieces one by one, and read until so many answers have come, or the end."""
    place = urlsplit(sink.url)
    said = b""
    with socket.create_connection((place.hostname, place.port)) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            line.sendall(piece)
        while said.count(b"\r\n\r\n") < answers:
            data = line.recv(65536)
            if not data:
                break
            said += data
    return said


def test_every_request_is_answered_and_counted(sink: Sink) -> None:
    assert exchange(sink, post("a"), post("b"), answers=2).count(OK) == 2
    report = sink.report()
    assert (report.arrivals, report.distinct, report.duplicates) == (2, 2, 0)
    assert sink.arrivals() == 2


def test_a_message_that_comes_again_is_a_duplicate(sink: Sink) -> None:
    for name in ("a", "b", "a", "a"):
        exchange(sink, post(name), answers=1)
    report = sink.report()
    assert (report.arrivals, report.distinct, report.duplicates) == (4, 2, 2)


def test_names_of_headers_may_be_written_in_any_case(sink: Sink) -> None:
    for spelling in ("webhook-id", "Webhook-Id", "WEBHOOK-ID"):
        exchange(sink, post("a", id_header=spelling).replace(b"content-l", b"Content-L"), answers=1)
    assert sink.report().distinct == 1


def test_requests_may_come_in_any_pieces(sink: Sink) -> None:
    whole = post("a", b"x" * 70_000) + post("b", b"webhook-id: c\r\n\r\n") + post("c", b"")
    pieces = [whole[start : start + 997] for start in range(0, len(whole), 997)]
    assert exchange(sink, *pieces, answers=3).count(OK) == 3
    assert exchange(sink, whole, answers=3).count(OK) == 3
    report = sink.report()
    assert (report.arrivals, report.distinct) == (6, 3)


def test_a_request_without_a_length_is_refused(sink: Sink) -> None:
    said = exchange(sink, b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", answers=1)
    assert said.startswith(b"HTTP/1.1 411 ")
    assert sink.arrivals() == 0


def test_arrivals_are_told_by_hundredths_of_a_second_if_asked(sink: Sink) -> None:
    exchange(sink, *[post(str(number)) for number in range(50)], answers=50)
    assert sink.report().buckets == []
    report = sink.report(buckets=True)
    assert sum(report.buckets) == 50
    assert report.buckets[0] > 0
    assert report.first_at <= report.last_at <= time.monotonic()
    assert len(report.buckets) == int((report.last_at - report.first_at) / 0.01) + 1


def test_nothing_has_come_at_first(sink: Sink) -> None:
    assert sink.report(buckets=True) == Report(0, 0, 0.0, 0.0)
    assert sink.report().rate == 0.0


def test_the_rate_is_from_the_first_arrival_to_the_last() -> None:
    assert Report(11, 11, first_at=5.0, last_at=7.0).rate == 5.0


def test_the_sink_ends_with_the_process_that_started_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_A_SINK], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout
        place = urlsplit(owner.stdout.readline().strip())
        socket.create_connection((place.hostname, place.port)).close()
        os.kill(owner.pid, signal.SIGKILL)
    with pytest.raises(ConnectionRefusedError):
        knock_for(120, place.hostname, place.port)


def knock_for(seconds: float, host: str | None, port: int | None) -> None:
    last_knock_at = time.monotonic() + seconds
    while time.monotonic() < last_knock_at:
        socket.create_connection((host, port)).close()
        time.sleep(0.01)
