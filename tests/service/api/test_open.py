import httpx
import pytest

from tarry.service.api.open import docs, make_api, operations
from tarry.service.api.server import serving
from tarry.service.hooks import Hooks
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio


async def status(url: str, key: str) -> int:
    async with httpx.AsyncClient(base_url=url, **PLAIN) as client:
        headers = {"authorization": f"Bearer {key}"}
        return (await client.get("/api/v1/app", headers=headers)).status_code


async def test_a_key_of_the_settings_opens_beside_those_that_are_kept(hooks: Hooks) -> None:
    stored_key, _ = await hooks.make_key()
    async with serving(await make_api(hooks, "told"), "127.0.0.1:0") as url:
        assert [await status(url, key) for key in ("told", stored_key, "other")] == [200, 200, 401]
    async with serving(await make_api(hooks, None), "127.0.0.1:0") as url:
        assert [await status(url, key) for key in ("told", stored_key)] == [401, 200]


async def test_a_key_may_make_only_so_many_requests(hooks: Hooks) -> None:
    async with serving(await make_api(hooks, "told", key_rate=0.001), "127.0.0.1:0") as url:
        assert [await status(url, "told") for _ in range(2)] == [200, 429]


async def test_the_page_to_read_is_written_once(hooks: Hooks) -> None:
    api = await make_api(hooks, None)
    async with (
        serving(api, "127.0.0.1:0") as url,
        httpx.AsyncClient(base_url=url, **PLAIN) as client,
    ):
        assert (await client.get("/docs")).text.startswith("<!doctype html>")
    assert await docs() is await docs()


def test_every_operation_is_asked_for_in_one_way() -> None:
    methods_and_paths = [(operation.method, operation.path) for operation in operations()]
    assert len(methods_and_paths) == len(set(methods_and_paths)) > 60
