"""No attack makes a server take more memory than SECURITY.md states.

Megabytes by which a `tarry serve` with an SQLite file grows at most while the attack goes on:

| attack | before | after |
|---|---|---|
| 32 batches of 16 MB that stop just before their end, with a key | 512 | 38 |
| 400 bodies of 250 KB that stop just before their end, with a tenant's token | 110 | 74 |
| 200 bodies of 16 MB from strangers | 28 | 28 |
| eight readers of pages with event types of 1 MB | 351 | 61 |
| eight readers of pages of messages of 1 MB | 841 | 49 |
| 64 messages of 1 MB, malformed and not, 16 at a time | | 26 |
| 400 answers of 16 KB to fresh idempotency keys | | 5 |
| 300 endpoints with 16 KB of metadata created and deleted again | | 3 |
"""

import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.attacks.growth import MOST_GROWTH
from tests.attacks.nasty import BATCH, ENDPOINTS, MESSAGES, MIB, PAYLOADS, filled, message, request
from tests.conformance.server import KEY, Server, serving
from tests.project_files import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

READERS = 8
URL = "https://example.com/in"
LARGE = {"url": URL, "metadata": {f"k{number}": "x" * 4000 for number in range(4)}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(f"sqlite:////{str(tmp_path / 'hooks.db')[1:]}", tmp_path / "log") as server:
        with server.client() as client:
            client.post("/app", json={"name": "shop", "uid": "shop"}).raise_for_status()
        yield server


@contextmanager
def bounded(server: Server) -> Iterator[None]:
    """Measure the memory of a server all the time, and check that it stays below the bound."""
    before, largest, ended = server.memory, [0], Event()

    def watch() -> None:
        while not ended.wait(0.003):
            largest[0] = max(largest[0], server.memory)

    thread = Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    grown = largest[0] - before
    sys.stdout.write(f"grown by {grown / 1e6:.1f} MB\n")
    assert largest[0] > 0, "nothing was measured"
    assert grown < MOST_GROWTH


def many_times(work: Callable[[int], object], count: int, at_once: int = READERS) -> list[object]:
    with ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(work, range(count)))


@pytest.mark.parametrize(
    ("who", "path", "size", "count"),
    [
        ("key", BATCH, 16 * MIB - 1000, 32),
        ("token", ENDPOINTS, 250 * 1024, 400),
        ("nobody", BATCH, 16 * MIB - 1000, 200),
    ],
)
def test_bodies_that_do_not_end(server: Server, who: str, path: str, size: int, count: int) -> None:
    key = {"key": KEY, "nobody": "nobody"}.get(who) or token(server)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n"
        f"content-length: {size}\r\n\r\n"
    )
    body = memoryview(bytes(size - 1000))
    with ExitStack() as opened, bounded(server):

        def send(_: int) -> None:
            connection = opened.enter_context(socket.create_connection(server.address, 60))
            connection.settimeout(0)
            left, until = memoryview(head.encode() + body), time.monotonic() + 1
            while left and time.monotonic() < until:
                with suppress(BlockingIOError):
                    left = left[connection.send(left) :]
                    continue
                time.sleep(0.01)

        def send_if_read(number: int) -> None:
            with suppress(ConnectionError):  # a stranger is answered before the body was sent
                send(number)

        many_times(send_if_read, count, at_once=16)
        with server.client() as client:
            assert client.get("/app/shop").status_code == 200


def token(server: Server) -> str:
    with server.client() as client:
        answer = client.post("/auth/app-portal-access/shop", json={})
    return str(answer.raise_for_status().json()["token"])


def test_readers_of_long_pages(server: Server) -> None:
    text = message(filled(b'{"a": "', b"x", b'"}'))
    schemas = {"1": {"description": "x" * 1_000_000}}
    with server.client() as client:
        for number in range(30):
            client.post("/app/shop/msg", content=text).raise_for_status()
            body = {"name": f"n{number}", "description": "", "schemas": schemas}
            client.post("/event-type", json=body).raise_for_status()
    pages = (
        "/app/shop/msg?limit=250&with_content=true",
        "/event-type?limit=250&with_content=true",
        "/event-type?limit=250",
    )
    for path in pages:

        def read(_: int, path: str = path) -> int:
            with server.client() as client:
                return len(client.get(path).raise_for_status().content)

        with bounded(server):
            sizes = many_times(read, 2 * READERS)
        assert sizes


def test_messages_at_once(server: Server) -> None:
    payloads = ["an unclosed list", "escapes", "many names", "arrays without end"]
    raw = [request("POST", MESSAGES, message(PAYLOADS[name])) for name in payloads]

    def send(number: int) -> bytes:
        with socket.create_connection(server.address, 60) as connection:
            with suppress(ConnectionError):
                connection.sendall(raw[number % len(raw)])
            return connection.recv(MIB)[9:12]

    with bounded(server):
        statuses = many_times(send, 64, at_once=16)
    assert {b"202", b"422"} >= set(statuses)


def test_answers_to_fresh_idempotency_keys(server: Server) -> None:
    with server.client() as client:
        client.post("/app/shop/endpoint", json={**LARGE, "uid": "one"}).raise_for_status()
    with server.client(token(server)) as client, bounded(server):
        for number in range(400):
            headers = {"idempotency-key": f"k{number}"}
            path = "/app/shop/endpoint/one/pause"
            assert client.post(path, headers=headers).status_code == 200


def test_endpoints_that_come_and_go(server: Server) -> None:
    with server.client(token(server)) as client, bounded(server):
        for _ in range(300):
            created = client.post("/app/shop/endpoint", json=LARGE)
            name = created.raise_for_status().json()["id"]
            assert client.delete(f"/app/shop/endpoint/{name}").status_code == 204


def test_the_reference_states_the_same_bound() -> None:
    page = (ROOT / "docs/reference/service-http.md").read_text()
    stated = f"| memory that an attack adds to a process | {MOST_GROWTH // 1_000_000} MB |"
    assert stated in page
