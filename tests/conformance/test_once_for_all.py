"""One idempotency key, many senders, two servers on one database: one thing is made."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest

from tests.conformance.server import PATIENCE, Server, serving

SENDERS = 50
ENDPOINT = {"url": "https://example.com/in", "standing": "paused"}
MESSAGE = {"eventType": "order.paid", "payload": {"a": 1}}


def at_once(servers: list[Server], path: str, body: object, key: str) -> list[httpx.Response]:
    """What everybody is answered who asks for the same at the same moment."""
    ready = Barrier(SENDERS)

    def ask(number: int) -> httpx.Response:
        with servers[number % len(servers)].client() as client:
            client.get("/health")  # connected
            ready.wait(PATIENCE)
            return client.post(path, json=body, headers={"idempotency-key": key})

    with ThreadPoolExecutor(SENDERS) as threads:
        return list(threads.map(ask, range(SENDERS)))


def listed(server: Server, path: str) -> list[dict[str, Any]]:
    with server.client() as client:
        found: list[dict[str, Any]] = client.get(path).raise_for_status().json()["data"]
    return found


@pytest.mark.slow
def test_what_fifty_ask_for_under_one_key_is_made_once(database_url: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(database_url, tmp_path / f"log{number}", "api"))
            for number in range(2)
        ]
        with servers[0].client() as client:
            client.post("/app", json={"name": "shop", "uid": "shop"}).raise_for_status()
        for path, body, there in (
            ("/app", {"name": "x"}, 1),
            ("/app/shop/endpoint", ENDPOINT, 0),
            ("/app/shop/msg", MESSAGE, 0),
            ("/app/shop/msg/batch", [MESSAGE, MESSAGE], 1),
        ):
            answers = at_once(servers, path, body, "once")
            assert {answer.status_code for answer in answers} in ({201}, {202}), path
            assert len({one.content for one in answers}) == 1, path
            made = len(body) if isinstance(body, list) else 1
            assert len(listed(servers[1], path.removesuffix("/batch"))) == there + made
        assert not any("Traceback" in server.said for server in servers)


@pytest.mark.slow
def test_of_fifty_who_ask_for_two_things_one_thing_is_made(
    database_url: str, tmp_path: Path
) -> None:
    with serving(database_url, tmp_path / "log", "api") as server, server.client() as client:
        headers = {"idempotency-key": "once"}

        def ask(number: int) -> int:
            told = {"name": f"x{number % 2}"}
            return client.post("/app", json=told, headers=headers).status_code

        with ThreadPoolExecutor(SENDERS) as threads:
            found = sorted(threads.map(ask, range(SENDERS)))
        assert found == [201] * (SENDERS // 2) + [409] * (SENDERS // 2)
        assert len(listed(server, "/app")) == 1
