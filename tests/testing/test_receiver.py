import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Self
from urllib.parse import urlsplit

import pytest

from tarry.errors import TarryError
from tarry.testing import receiver as module
from tarry.testing.receiver import Receiver

PATIENCE = 60.0


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


class Sender:
    """Sends requests to a receiver over one plain connection."""

    def __init__(self, url: str) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port_of(url)))
        self.sock.settimeout(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def put(self, number: int = 1, attempt: int = 1, body: bytes = b"{}") -> None:
        head = f"webhook-id: msg_{number}\r\nWebhook-Attempt: {attempt}\r\n"
        head = f"POST /hook HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n"
        self.sock.sendall(head.encode() + body)

    def send(self, number: int = 1, attempt: int = 1, body: bytes = b"{}") -> int:
        """Send a request, and return the status of the response."""
        self.put(number, attempt, body)
        return int(self.sock.recv(1000).split(b" ")[1])


@pytest.fixture
def no_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the receiver's clock, so that all requests arrive at the same time."""
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 1_000.0))


def until(holds: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.002)


def test_it_notes_what_arrives() -> None:
    with Receiver(bodies=True) as receiver, Sender(receiver.url) as sender:
        began_at = time.monotonic()
        assert sender.send(7, attempt=3, body=b"seven") == 200
        (arrival,) = receiver.arrivals
        assert arrival[1:5] == ("msg_7", 3, 200, b"seven")
        assert (arrival.header("Webhook-Attempt"), arrival.header("x-none")) == ("3", "")
        assert began_at <= arrival.at <= time.monotonic()
        assert receiver.statuses == {200: 1}


def test_a_request_may_come_in_pieces_or_two_at_once() -> None:
    with Receiver() as receiver, Sender(receiver.url) as sender:
        sender.sock.sendall(b"POST / HTTP/1.1\r\ncontent-len")
        sender.sock.sendall(b"gth: 4\r\n\r\nab")
        sender.sock.sendall(b"cdGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        heard = b""
        while heard.count(b"200") < 3:
            heard += sender.sock.recv(1000)


def test_a_script_is_followed_to_its_end() -> None:
    with Receiver() as receiver, Sender(receiver.url) as sender:
        receiver.script([500, 429])
        assert [sender.send() for _ in range(4)] == [500, 429, 200, 200]


@pytest.mark.parametrize("status", [500, 404])
def test_it_can_be_down_with_a_status(status: int) -> None:
    with Receiver() as receiver, Sender(receiver.url) as sender:
        receiver.go_down(status)
        assert sender.send() == status
        receiver.come_back()
        assert sender.send() == 200


def test_it_can_hang() -> None:
    with Receiver() as receiver, Sender(receiver.url) as sender:
        receiver.go_down("hang")
        sender.sock.settimeout(0.05)
        with pytest.raises(TimeoutError):
            sender.send()
        until(lambda: receiver.arrivals)
        assert receiver.arrivals[0].status is None


def test_it_can_refuse_and_comes_back_on_the_same_port() -> None:
    with Receiver() as receiver:
        with Sender(receiver.url) as sender:
            sender.send()
            receiver.go_down()
            with pytest.raises((ConnectionError, IndexError)):
                sender.send()
        with pytest.raises(ConnectionRefusedError):
            Sender(receiver.url)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port_of(receiver.url)))
        receiver.come_back()
        with Sender(receiver.url) as sender:
            assert sender.send() == 200


def test_its_latency_is_settable_at_any_time() -> None:
    with Receiver() as receiver, Sender(receiver.url) as sender:
        receiver.latency = 0.05
        began_at = time.monotonic()
        sender.send()
        assert time.monotonic() - began_at >= 0.05


@pytest.mark.usefixtures("no_time_goes_by")
def test_a_shedding_one_refuses_what_is_too_much() -> None:
    with Receiver(capacity=50) as receiver, Sender(receiver.url) as sender:
        statuses = [sender.send() for _ in range(40)]
    assert statuses[0] == 200
    assert statuses.count(503) >= 20


def test_with_a_queue_it_gets_slower_instead() -> None:
    with Receiver(capacity=50, queue=10.0) as receiver:
        senders = [Sender(receiver.url) for _ in range(11)]
        began_at = time.monotonic()
        for sender in senders:
            sender.put()
        assert all(b"200" in sender.sock.recv(1000) for sender in senders)
        assert time.monotonic() - began_at > 0.15
        for sender in senders:
            sender.sock.close()


@pytest.mark.usefixtures("no_time_goes_by")
def test_a_brittle_one_breaks_and_stays_broken_while_too_much_comes() -> None:
    with Receiver(capacity=10, manner="brittle") as receiver, Sender(receiver.url) as sender:
        statuses = [sender.send() for _ in range(30)]
    assert statuses == [200] * 10 + [503] * 20


@pytest.mark.usefixtures("no_time_goes_by")
def test_a_degrading_one_does_less_the_more_comes() -> None:
    with Receiver(capacity=10, manner="degrade") as receiver, Sender(receiver.url) as sender:
        statuses = [sender.send() for _ in range(200)]
    assert statuses[:10] == [200] * 10
    assert statuses[100:].count(200) < 10


def test_a_port_that_is_taken_is_an_error_that_names_it() -> None:
    with Receiver() as receiver:
        port = port_of(receiver.url)
        with pytest.raises(TarryError, match=f"port {port} "), Receiver(port=port):
            pass


def test_it_runs_as_a_process_and_writes_a_line_for_each_arrival(tmp_path: Path) -> None:
    log = tmp_path / "arrivals.tsv"
    options = ["--capacity", "1", "--mode", "brittle", "--log", str(log)]
    command = [sys.executable, "-m", "tarry.testing.receiver", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        with Sender(process.stdout.readline().strip()) as sender:
            statuses = [sender.send(number, attempt=2) for number in range(8)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    assert [line[1:] for line in lines] == [
        [f"msg_{number}", "2", str(status)] for number, status in enumerate(statuses)
    ]
    assert set(statuses) == {200, 503}


def test_a_process_is_down_for_as_long_as_it_is_told() -> None:
    down = 1.5
    command = [sys.executable, "-m", "tarry.testing.receiver", "--down", str(down), "--how", "500"]
    began_at = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        with Sender(process.stdout.readline().strip()) as sender:
            until(lambda: sender.send() == 200)
            assert time.monotonic() - began_at >= down
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
