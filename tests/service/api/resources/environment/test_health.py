import asyncio
import os
from pathlib import Path

import httpx
import pytest

from tarry.service.api.http.readiness import REMEMBERED
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("url_path", ["/api/v1/health", "/api/v1/health/", "/api/v1/health/ping"])
async def test_anybody_may_ask_whether_it_is_there(url: str, url_path: str) -> None:
    async with httpx.AsyncClient(base_url=url, **PLAIN) as client:
        answer = await client.get(url_path)
    assert (answer.status_code, answer.content) == (204, b"")


async def test_it_is_not_well_while_the_database_is_away(
    client: httpx.AsyncClient, path: Path
) -> None:
    elsewhere = path.with_name("elsewhere")
    os.rename(path, elsewhere)  # noqa: PTH104  nothing else runs meanwhile
    assert (await client.get("/api/v1/health")).status_code == 503
    assert (await client.get("/api/v1/health/ping")).status_code == 204
    os.rename(elsewhere, path)  # noqa: PTH104  likewise
    assert (await client.get("/api/v1/health")).status_code == 503, "it is remembered"
    await asyncio.sleep(REMEMBERED)
    assert (await client.get("/api/v1/health")).status_code == 204
