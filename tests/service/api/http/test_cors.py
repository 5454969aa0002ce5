import httpx
import pytest

from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio

PAGE = {"origin": "https://portal.example"}
BEFORE = {
    **PAGE,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,idempotency-key,svix-req-id",
}


async def test_a_browser_is_told_that_a_page_may_ask(url: str) -> None:
    async with httpx.AsyncClient(
        base_url=url,
        **PLAIN,
    ) as nobody:  # browsers bring no key when they ask this
        answer = await nobody.options("/api/v1/app/shop/msg", headers=BEFORE)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD, POST"
    headers = BEFORE["access-control-request-headers"]
    assert answer.headers["access-control-allow-headers"] == headers
    assert answer.headers["access-control-max-age"] == "600"


async def test_a_page_sees_what_it_is_answered(client: httpx.AsyncClient) -> None:
    for name, key, status in (("shop", None, 200), ("nobody", None, 404), ("shop", "wrong", 401)):
        headers = PAGE if key is None else {**PAGE, "authorization": f"Bearer {key}"}
        answer = await client.get(f"/api/v1/app/{name}", headers=headers)
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


async def test_who_is_no_page_is_not_bothered(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/app/shop")
    assert not [name for name in answer.headers if name.startswith("access-control")]
    answer = await client.options("/api/v1/app/shop")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, PATCH, PUT")


@pytest.mark.parametrize(("url_path", "status"), [("/metrics", 405), ("/nowhere", 404)])
async def test_only_the_api_is_for_pages(
    client: httpx.AsyncClient, url_path: str, status: int
) -> None:
    answer = await client.options(url_path, headers=BEFORE)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


async def test_what_is_not_served_says_so_to_a_browser_as_well(client: httpx.AsyncClient) -> None:
    answer = await client.options("/api/v1/streaming", headers=BEFORE)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (501, "*")
