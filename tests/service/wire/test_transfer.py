import os
import socket

import pycurl  # type: ignore[import-untyped] # ships no types
import pytest

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import MOST_HEAD, MOST_KEPT, MOST_READ, Answer, Request, Target
from tarry.service.wire.transfer import (
    STATUS_LINE,
    Descriptor,
    Options,
    Transfer,
    header_lines,
    url,
)
from tarry.testing.receiver import Receiver

TARGET = Target("http", "127.0.0.1", 80, "/hook?a=b", (("x-own", "1"),))


def perform(transfer: Transfer) -> Answer:
    """Let libcurl do it at once, without a loop."""
    try:
        transfer.curl.perform()
    except pycurl.error as error:
        return transfer.answer(error.args[0])
    return transfer.answer(pycurl.E_OK)


def request_to(receiver: Receiver, body: bytes = b"{}") -> Request:
    port = int(receiver.url.rpartition(":")[2].removesuffix("/hook"))
    return Request(Target("http", "hook.test", port, "/hook"), (("webhook-id", "msg_1"),), body)


def test_a_url_is_put_together_from_its_parts() -> None:
    assert url(TARGET) == "http://127.0.0.1:80/hook?a=b"
    assert url(Target("https", "::1", 443, "/")) == "https://[::1]:443/"


def test_headers_of_the_target_stand_beside_those_of_the_attempt() -> None:
    lines = header_lines(TARGET, (("webhook-id", "msg_1"),))
    assert lines[0] == "content-type: application/json"
    assert lines[-4:] == ["x-own: 1", "webhook-id: msg_1", "expect:", "accept:"]


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\0b"])
def test_no_header_can_smuggle_in_another(value: str) -> None:
    with pytest.raises(ValueError, match="line break or a NUL"):
        header_lines(TARGET, (("x-odd", value),))


@pytest.mark.parametrize("line", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 503\r\n", b"HTTP/1.1 200 \n"])
def test_a_status_line_is_recognised(line: bytes) -> None:
    assert STATUS_LINE.fullmatch(line)


@pytest.mark.parametrize(
    "line", [b"HTTP/1.1 99 Low\r\n", b"HTTP/1.1 1000 x\r\n", b"HTTP/2 200\r\n", b"HTTP/1.1\r\n"]
)
def test_what_only_looks_like_one_is_not(line: bytes) -> None:
    assert not STATUS_LINE.fullmatch(line)


def test_a_transfer_goes_to_the_address_it_is_given_and_can_be_used_again() -> None:
    transfer = Transfer(Options(lambda *_: True))
    with Receiver(bodies=True) as receiver:
        for body in (b"one", b"two"):
            transfer.begin(request_to(receiver, body), ("127.0.0.1",), 0.0)
            transfer.curl.setopt(pycurl.TIMEOUT_MS, 1_000)
            assert perform(transfer).status == 200
        assert [arrival.body for arrival in receiver.arrivals] == [b"one", b"two"]
    transfer.close()


def test_an_address_that_is_not_allowed_is_not_connected_to() -> None:
    asked: list[tuple[str, int]] = []

    def refuse(address: str, port: int) -> bool:
        asked.append((address, port))
        return False

    transfer = Transfer(Options(refuse))
    with Receiver() as receiver:
        request = request_to(receiver)
        transfer.begin(request, ("127.0.0.1",), 0.0)
        transfer.curl.setopt(pycurl.TIMEOUT_MS, 1_000)
        answer = perform(transfer)
        assert (answer.failure, answer.status) == (Kind.BLOCKED, None)
        assert "127" not in answer.detail
        assert receiver.arrivals == []
    assert asked == [("127.0.0.1", request.target.port)]
    transfer.close()


def test_a_head_without_an_end_is_broken_off() -> None:
    transfer = Transfer(Options(lambda *_: True))
    assert transfer._hear(b"HTTP/1.1 200 OK\r\n") is None  # noqa: SLF001  libcurl calls it
    line = b"x: " + b"y" * 1000 + b"\r\n"
    heard = [transfer._hear(line) for _ in range(MOST_HEAD // len(line) + 1)]  # noqa: SLF001  likewise
    assert heard[-1] == -1
    assert set(heard[:-1]) == {None}
    assert transfer.answer(pycurl.E_WRITE_ERROR).failure is Kind.PROTOCOL
    transfer.close()


def test_a_body_is_read_up_to_a_limit_and_kept_up_to_a_lower_one() -> None:
    transfer = Transfer(Options(lambda *_: True))
    for line in (b"HTTP/1.1 200 OK\r\n", b"Retry-After: 5 \r\n", b"x-other: 1\r\n", b"\r\n"):
        assert transfer._hear(line) is None  # noqa: SLF001  libcurl calls it
    assert transfer._read(b"x" * MOST_READ) is None  # noqa: SLF001  likewise
    assert transfer._read(b"x") == -1  # noqa: SLF001  likewise
    answer = transfer.answer(pycurl.E_WRITE_ERROR)
    assert (answer.status, answer.failure, answer.truncated) == (200, None, True)
    assert answer.headers == (("retry-after", "5"),)
    assert len(answer.body) == MOST_KEPT
    transfer.close()


def test_a_descriptor_is_closed_when_nobody_needs_it() -> None:
    with socket.socket() as sock:
        number = sock.detach()
    held = Descriptor(number)
    assert held.fileno() == number
    del held
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
