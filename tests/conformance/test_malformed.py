"""Thousands of requests that nobody should send: each is answered or hung up on, soon, and the
server is none the worse for it.
"""

import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from tests.conformance.malformed import GOOD, PREFIX, Case, broken, request
from tests.conformance.misplaced import misplaced
from tests.conformance.server import Server

QUIET = 0.2
"""Seconds without an answer after which nothing more is said."""
SOON = 120.0
"""Seconds after which a request counts as hanging, once the sender has said all it has to say."""
AT_ONCE = 16
GROWTH = 24 * 1024 * 1024
"""Bytes by which a server may grow for all it remembers on purpose."""

_HEAD = re.compile(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n(.*?)\r\n\r\n", re.DOTALL)
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def said_to(address: tuple[str, int], raw: bytes) -> bytes:
    """All that the server answers until it hangs up; TimeoutError if it does neither."""
    alone = raw.count(b" HTTP/1.1\r\n") == 1  # else there is more to be waited for
    with socket.create_connection(address, SOON) as connection:
        found = b""
        with suppress(ConnectionError):
            connection.sendall(raw)
        connection.settimeout(QUIET)
        with suppress(TimeoutError, ConnectionError):
            while not (alone and is_whole(found)):
                if not (part := connection.recv(65_536)):
                    return found
                found += part
        connection.settimeout(SOON)
        with suppress(OSError):  # it hung up already
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while part := connection.recv(65_536):
                found += part
        return found


def is_whole(said: bytes) -> bool:
    """Whether the first answer in what a server said so far is there to its end."""
    if (head := _HEAD.match(said)) is None:
        return False
    length = _LENGTH.search(head[2])
    return len(said) >= head.end() + (int(length[1]) if length else 0)


def answers(said: bytes) -> list[tuple[int, bytes, bytes]]:
    """The answers in what a server said: status, head and body."""
    found = []
    while head := _HEAD.match(said):
        length = _LENGTH.search(head[2])
        end = head.end() + (int(length[1]) if length else 0)
        found.append((int(head[1]), head[2], said[head.end() : end]))
        said = said[end:]
    return found


def wrong_with(answer: tuple[int, bytes, bytes]) -> str | None:
    """What an answer must not be."""
    status, head, body = answer
    if status >= 500 and status != 501:
        return f"{status}: {body[:200]!r}"
    if status >= 400 and b"application/json" in head and body:
        told: Any = json.loads(body)
        if set(told) == {"code", "detail"}:
            return None if isinstance(told["detail"], str) else f"{status}: {told}"
        if set(told) != {"detail"} or any(
            set(one) != {"loc", "msg", "type"} for one in told["detail"]
        ):
            return f"{status}: {told}"
    return None


def trouble_with(server: Server, all_of_them: list[Case]) -> list[str]:
    """What is wrong with what they got, each named."""

    def tried(case: Case) -> list[str]:
        name, raw = case
        try:
            found = answers(said_to(server.address, raw))
        except TimeoutError:
            return [f"{name}: it hangs"]
        return [f"{name}: {wrong}" for one in found if (wrong := wrong_with(one))]

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return [wrong for one in threads.map(tried, all_of_them) for wrong in one]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_malformed_breaks_it_or_hangs(server: Server) -> None:
    all_of_them = [*broken(), *misplaced()]
    assert len(all_of_them) > 1000
    with server.client() as client:
        client.post("/app", json={"name": "there", "uid": "there"}).raise_for_status()
        assert trouble_with(server, all_of_them) == []
        before = server.memory
        assert trouble_with(server, all_of_them) == []
        assert server.memory < before + GROWTH
        assert client.get("/app/there").json()["name"] == "there"
    assert "Traceback" not in server.said


def test_a_slow_sender_is_served_while_others_are_too(server: Server) -> None:
    raw = request("POST", f"{PREFIX}/app", GOOD)
    slow = [socket.create_connection(server.address, SOON) for _ in range(10)]
    for place in range(0, len(raw), 8):
        for connection in slow:
            connection.sendall(raw[place : place + 8])
        with server.client() as client:
            assert client.get("/health").status_code == 204
    for connection in slow:
        with connection:
            assert connection.recv(65_536).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize(
    "raw",
    [
        request("POST", f"{PREFIX}/app", b"", ("transfer-encoding", "chunked")),
        request("POST", f"{PREFIX}/app", GOOD, ("content-length", "1"), length=True),
    ],
    ids=["length and chunks", "two lengths"],
)
def test_what_could_be_read_in_two_ways_is_refused(server: Server, raw: bytes) -> None:
    ((status, _, _),) = answers(said_to(server.address, raw + request("GET", "/smuggled")))
    assert status == 400
