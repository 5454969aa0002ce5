"""Somebody without a key asks again and again: it costs no writes and shows no counts."""

import asyncio
from pathlib import Path

import httpx
import pytest

from tarry.service import open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.store.sqlite.store import SqliteStore
from tests.attacks.raw_request import answer_to
from tests.conformance.server import serving as serving_in_a_process
from tests.plain_http import PLAIN


def test_health_checks_of_strangers_do_not_each_write_to_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, check = 0, SqliteStore.check

    async def counted(store: SqliteStore) -> None:
        nonlocal writes
        writes += 1
        await check(store)

    monkeypatch.setattr(SqliteStore, "check", counted)

    async def attack() -> float:
        async with (
            open_hooks(f"sqlite:///{tmp_path / 'hooks.db'}") as hooks,
            serving(await make_api(hooks, "admin-key"), "127.0.0.1:0") as url,
            httpx.AsyncClient(base_url=url, **PLAIN) as client,
        ):
            began = asyncio.get_running_loop().time()
            for _ in range(100):
                assert (await client.get("/readyz")).status_code == 200
                assert (await client.get("/api/v1/health")).status_code == 204
            return asyncio.get_running_loop().time() - began

    seconds = asyncio.run(attack())
    assert writes <= seconds + 1, "200 calls; before, each of them wrote"


def test_metrics_with_a_key_are_closed_to_everybody_else(tmp_path: Path) -> None:
    async def attack() -> None:
        async with open_hooks(f"sqlite:///{tmp_path / 'hooks.db'}") as hooks:
            api = await make_api(hooks, "admin-key", metrics_key="scrape-key")
            async with (
                serving(api, "127.0.0.1:0") as url,
                httpx.AsyncClient(base_url=url, **PLAIN) as client,
            ):
                given = ("", "Bearer", "Bearer admin-key", "Bearer scrape", "Basic scrape-key")
                for text in given:
                    for path in ("/metrics", "/metrics/"):
                        refused = await client.get(path, headers={"authorization": text})
                        assert refused.status_code == 401
                        assert "tarry_http" not in refused.text
                key = {"authorization": "Bearer scrape-key"}
                assert "tarry_http" in (await client.get("/metrics", headers=key)).text
                assert (await client.get("/api/v1/app", headers=key)).status_code == 401

    asyncio.run(attack())


def test_requests_that_are_malformed_do_not_each_write_to_the_log(tmp_path: Path) -> None:
    """Before, each of them was a line in the log."""
    with serving_in_a_process(f"sqlite:////{tmp_path}/hooks.db", tmp_path / "log") as server:
        before = server.said
        for line in (
            "nonsense",
            "FOO / HTTP/1.1",
            "GET /\xff HTTP/1.1",
            "GET / HTTP/1.1\r\nx y: z",
        ):
            status, _ = asyncio.run(answer_to(server.url, line))
            assert status == 400
        assert server.said == before
