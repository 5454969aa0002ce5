from urllib.parse import unquote

import pytest

from tarry.service.api.http.problem import BadRequest, Invalid
from tarry.service.api.http.request import Request, check_head, path_of


def request_with(**headers: str) -> Request:
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return Request(method="GET", path="/", query=b"", headers=named)


def test_a_request_says_where_this_server_is() -> None:
    assert request_with(host="hooks.example:8400").base == "http://hooks.example:8400"
    assert request_with().base == ""


def test_an_idempotency_key_is_there_or_not_and_not_too_long() -> None:
    assert request_with(idempotency_key="a").idempotency_key == "a"
    assert request_with(idempotency_key="").idempotency_key is None
    assert request_with().idempotency_key is None
    with pytest.raises(Invalid, match="255"):
        _ = request_with(idempotency_key="a" * 256).idempotency_key


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"/app/caf%C3%A9", "/app/caf\u00e9"),
        (b"/app/a%2Fb%2fc", "/app/a%2Fb%2Fc"),
        (b"/app/%C3%A9%2F", "/app/\u00e9%2F"),
    ],
)
def test_a_slash_that_was_quoted_parts_nothing(raw: bytes, path: str) -> None:
    assert path_of({"raw_path": raw, "path": unquote(raw.decode())}) == path


HOST, KEY = (b"host", b"hooks.example"), (b"authorization", b"Bearer a")


@pytest.mark.parametrize(
    "headers", [[HOST], [HOST, KEY], [HOST, (b"accept", b"a"), (b"accept", b"b")]]
)
def test_a_head_that_can_be_read_in_one_way_will_do(headers: list[tuple[bytes, bytes]]) -> None:
    check_head(headers, "1.1")


@pytest.mark.parametrize("headers", [[HOST, HOST], [HOST, KEY, KEY], [KEY], []])
def test_a_head_that_can_be_read_in_two_ways_is_refused(
    headers: list[tuple[bytes, bytes]],
) -> None:
    with pytest.raises(BadRequest, match=r"the header `(host|authorization)`"):
        check_head(headers, "1.1")


def test_an_older_request_needs_no_host_but_may_not_have_two() -> None:
    check_head([], "1.0")
    with pytest.raises(BadRequest, match="`host` must not be sent twice"):
        check_head([HOST, HOST], "1.0")
