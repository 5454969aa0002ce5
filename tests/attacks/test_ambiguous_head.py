"""A request whose head a proxy and the server can read in two ways is refused.

| attack | before | after |
|---|---|---|
| two `Authorization` headers, the second with a good key | 200: the last one won | 400 |
| two `Idempotency-Key` headers | 200: the last one won | 400 |
| no `Host` | 200 | 400 |
| two `Host` headers | 200: the last one won | 400 |
"""

import pytest

from tests.attacks.raw_request import answer_to
from tests.service.api.conftest import KEY

pytestmark = pytest.mark.anyio

GET = "GET /api/v1/app/shop HTTP/1.1"
HOST = "Host: hooks.example"
GOOD, BAD = f"Authorization: Bearer {KEY}", "Authorization: Bearer somebody-else"


async def test_a_request_that_is_clear_is_answered(url: str) -> None:
    assert (await answer_to(url, GET, HOST, GOOD))[0] == 200


@pytest.mark.parametrize("keys", [(GOOD, BAD), (BAD, GOOD), (GOOD, GOOD)])
async def test_two_keys_are_refused(url: str, keys: tuple[str, str]) -> None:
    status, answer = await answer_to(url, GET, HOST, *keys)
    assert status == 400
    assert "the header `authorization` must not be sent twice" in answer


async def test_a_key_in_other_letters_is_a_second_key_too(url: str) -> None:
    status, _ = await answer_to(url, GET, HOST, GOOD, BAD.replace("Auth", "AUTH"))
    assert status == 400


async def test_two_idempotency_keys_are_refused(url: str) -> None:
    lines = ("POST /api/v1/app HTTP/1.1", HOST, GOOD, "content-length: 15")
    keys = ("Idempotency-Key: a", "Idempotency-Key: b")
    status, _ = await answer_to(url, *lines, *keys, body=b'{"name": "new"}')
    assert status == 400


@pytest.mark.parametrize("url_path", ["/api/v1/app/shop", "/healthz", "/dashboard", "/nowhere"])
async def test_a_missing_or_repeated_host_is_refused_everywhere(url: str, url_path: str) -> None:
    get = f"GET {url_path} HTTP/1.1"
    status, answer = await answer_to(url, get, GOOD)
    assert status == 400
    assert "the header `host` is missing" in answer
    status, answer = await answer_to(url, get, HOST, "Host: evil.example", GOOD)
    assert status == 400
    assert "the header `host` must not be sent twice" in answer


async def test_a_check_over_an_older_http_needs_no_host(url: str) -> None:
    assert (await answer_to(url, "GET /healthz HTTP/1.0"))[0] == 200
