"""A tenant sends many requests at once, to all processes of a service: no limit is passed.

100 endpoints are asked for at once where 20 are allowed: 20 are created, however they are asked
for, on either database and by two processes.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conformance.server import serving

MOST, ASKED, AT_ONCE = 20, 100, 16
URL = "https://example.com/in"


def test_parallel_requests_create_no_more_endpoints_than_allowed(
    db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARRY_MOST_ENDPOINTS", str(MOST))
    with ExitStack() as opened:
        servers = [
            opened.enter_context(serving(db, tmp_path / command, command))
            for command in ("serve", "api")
        ]
        with servers[0].client() as client:
            client.post("/app", json={"name": "shop", "uid": "shop"}).raise_for_status()
            token = client.post("/auth/app-portal-access/shop", json={}).json()["token"]

        def create(number: int) -> int:
            body = {"url": URL}
            with servers[number % 2].client(token) as client:
                if number % 3 == 0:
                    path = f"/app/shop/endpoint/u{number}"
                    return client.put(path, json={**body, "uid": f"u{number}"}).status_code
                headers = {"idempotency-key": f"k{number}"} if number % 3 == 1 else {}
                return client.post("/app/shop/endpoint", json=body, headers=headers).status_code

        with ThreadPoolExecutor(AT_ONCE) as threads:
            statuses = Counter(threads.map(create, range(ASKED)))
        with servers[1].client() as client:
            listed = client.get("/app/shop/endpoint?limit=250").json()["data"]
        assert statuses == {201: MOST, 400: ASKED - MOST}
        assert len(listed) == MOST
