"""Requests by chance, one after the other: none is answered with 5xx, on both databases.

The default is a short form. The whole has 50,000 requests for each database:

    TARRY_TEST_SEED=7 ./dev test tests/attacks/test_fuzz.py -m long

A failure prints the seed and the request. The same seed sends the same requests again, one at a
time and in the same order. 501 is no failure: it says that an operation of Svix is not supported.
"""

import os
import random
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.attacks.fuzzed import Fuzz
from tests.attacks.growth import MOST_GROWTH
from tests.conformance.server import Server
from tests.conformance.test_malformed import answers, is_whole
from tests.conformance.test_schemathesis import seeded

SHORT, LONG = 2000, 50_000
SEED = os.environ.get("TARRY_TEST_SEED", "1")
PATIENCE = 60.0
NOT_SUPPORTED = 501


class Line:
    """A connection that is opened again if the server has closed it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._socket: socket.socket | None = None

    def ask(self, raw: bytes, *, alone: bool) -> bytes:
        """Send a request; return the answer. After one that is sent `alone` nothing is sent."""
        for _ in range(2):  # the server may have closed the connection after the last answer
            connection = self._socket or socket.create_connection(self._address, PATIENCE)
            is_new, self._socket = self._socket is None, connection
            said = b""
            with suppress(ConnectionError):
                connection.sendall(raw)
                if alone:
                    connection.shutdown(socket.SHUT_WR)
                while (alone or not is_whole(said)) and (part := connection.recv(1 << 20)):
                    said += part
            if alone or not said or b"connection: close" in said.lower() or raw[:5] == b"HEAD ":
                connection.close()
                self._socket = None
            if said or is_new:
                return said
        raise AssertionError("the server accepts connections and answers nothing")

    def close(self) -> None:
        """Close the connection, if one is open."""
        if self._socket is not None:
            self._socket.close()


@contextmanager
def line_to(server: Server) -> Iterator[Line]:
    line = Line(server.address)
    try:
        yield line
    finally:
        line.close()


def is_well_formed(raw: bytes) -> bool:
    """Return whether a server must find the end of a request without waiting for more."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    length = f"content-length: {len(body)}".encode()
    methods = (b"GET ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ")
    plain = all(32 <= byte < 127 for byte in b"".join(lines) + first)
    return (
        plain and first.startswith(methods) and first.endswith(b" HTTP/1.1") and lines[1] == length
    )


def fuzz(server: Server, count: int) -> Counter[int]:
    """Send the requests of the seed; return how often each status was answered."""
    made, statuses = Fuzz(SEED, seeded(server)), Counter[int]()
    with line_to(server) as line:
        for number in range(count):
            raw = made.request(number)
            said = line.ask(raw, alone=not is_well_formed(raw))
            for status, _, body in answers(said):
                statuses[status] += 1
                told = f"TARRY_TEST_SEED={SEED}, request {number}: {raw[:2000]!r}"
                assert status < 500 or status == NOT_SUPPORTED, f"{told}\n{status} {body[:500]!r}"
    return statuses


def check(server: Server, count: int) -> None:
    before = server.memory
    statuses = fuzz(server, count)
    sys.stdout.write(f"seed {SEED}, {count} requests: {sorted(statuses.items())}\n")
    assert sum(statuses.values()) > 0.98 * count, "too many requests were not answered"
    assert sum(statuses[status] for status in (200, 201, 202, 204)) > 0.2 * count
    assert statuses[422] > 0.1 * count
    assert server.process.poll() is None
    assert "Traceback" not in server.said
    assert server.memory < before + MOST_GROWTH


@pytest.mark.slow
def test_no_request_by_chance_is_answered_with_a_failure_of_the_server(server: Server) -> None:
    check(server, SHORT)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_fifty_thousand_requests_by_chance(server: Server) -> None:
    check(server, LONG)


def test_a_seed_gives_the_same_requests_in_any_order() -> None:
    known = {name: ["x"] for name in ("app_id", "endpoint_id", "msg_id", "attempt_id", "task_id")}
    known |= {"key_id": ["x"], "event_type_name": ["x"]}
    numbers = list(range(300))
    first = [Fuzz("1", known).request(number) for number in numbers]
    random.Random(0).shuffle(numbers)
    again = Fuzz("1", known)
    assert {number: again.request(number) for number in numbers} == dict(enumerate(first))
    assert Fuzz("2", known).request(0) != first[0]
    assert len(set(first)) > 250
