"""What is aiohttp's own."""

import asyncio
import errno
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

from tarry import AttemptTimedOut, Breaker, Fixed, Kind, NoJitter, Policy
from tarry.call.http.aiohttp import fault_of, retry_middleware
from tarry.call.http.fault import Fault
from tests.call.http.conftest import PushedClock
from tests.call.http.server import Server

POLICY = Policy(backoff=Fixed(1.0), jitter=NoJitter(), attempts=3)
LIMIT = 1.0

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("clock")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def session(policy: Policy = POLICY, **options: Any) -> aiohttp.ClientSession:  # noqa: ANN401
    return aiohttp.ClientSession(middlewares=(retry_middleware(policy),), **options)


async def status_of(response: Any) -> int:  # noqa: ANN401  a context manager of aiohttp
    async with response as opened:
        status: int = opened.status
        return status


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (aiohttp.ConnectionTimeoutError(), Fault(Kind.TIMEOUT, sent=False)),
        (aiohttp.SocketTimeoutError(), Fault(Kind.TIMEOUT, sent=True)),
        (aiohttp.ServerDisconnectedError(), Fault(Kind.TRANSIENT, sent=True)),
        (aiohttp.ServerFingerprintMismatch(b"", b"", "", 0), Fault(Kind.TLS, sent=False)),
        (aiohttp.ClientPayloadError(), Fault(Kind.PROTOCOL, sent=True)),
        (ConnectionResetError(), Fault(Kind.TRANSIENT, sent=True)),
        (TimeoutError(errno.ETIMEDOUT, "by the system"), Fault(Kind.TRANSIENT, sent=True)),
        (TimeoutError(), None),
        (aiohttp.InvalidURL("nonsense"), None),
    ],
)
async def test_an_exception_tells_whether_anything_was_sent(
    error: Exception, fault: Fault | None
) -> None:
    assert fault_of(error) == fault


async def test_a_call_that_ended_badly_does_not_end_the_next_one(server: Server) -> None:
    url = server.script("/", server.dropped(), server.dropped(), server.dropped(), 200)
    async with session() as client:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await status_of(client.get(url))
        assert len(server.requests) == 3
        assert await status_of(client.get(url)) == 200


async def test_the_same_call_may_end_badly_again_and_again(server: Server) -> None:
    url = server.script("/", server.dropped())
    async with session() as client:
        for _ in range(3):
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await status_of(client.get(url))
    assert server.numbers == ["1", "2", "3"] * 3


async def test_calls_at_once_do_not_end_each_other(server: Server) -> None:
    bad = server.script("/bad", server.dropped())
    good = server.script("/good", 503, 200)
    async with session() as client:
        calls = [status_of(client.get(url)) for url in (bad, good) * 5]
        ends = await asyncio.gather(*calls, return_exceptions=True)
    assert ends[1::2] == [200] * 5
    assert {type(end) for end in ends[::2]} == {aiohttp.ServerDisconnectedError}
    assert [seen.path for seen in server.requests].count("/bad") == 15


async def test_a_body_that_was_not_replayed_ends_the_call_once(server: Server) -> None:
    url = server.script("/", server.dropped(), 200)
    async with session() as client:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await status_of(client.put(url, data=pieces()))
        assert await status_of(client.get(url)) == 200


async def pieces() -> AsyncIterator[bytes]:
    yield b"all of "
    yield b"the body"


async def test_the_session_s_total_timeout_is_not_retried(server: Server) -> None:
    url = server.script("/", server.late(30))
    async with session(timeout=aiohttp.ClientTimeout(total=LIMIT)) as client:
        with pytest.raises(TimeoutError):
            await status_of(client.get(url))
    assert len(server.requests) == 1


async def test_the_session_s_total_timeout_ends_a_wait(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.call.world.world.asleep", lambda _: asyncio.sleep(30))
    async with session(timeout=aiohttp.ClientTimeout(total=LIMIT)) as client:
        with pytest.raises(TimeoutError):
            await status_of(client.get(server.script("/", 503)))
    assert server.has_no_connection()


async def test_an_attempt_that_was_cut_off_says_so(server: Server) -> None:
    policy = POLICY.replace(attempts=1, attempt_timeout=LIMIT)
    async with session(policy) as client:
        with pytest.raises(AttemptTimedOut):
            await status_of(client.get(server.script("/", server.late(30))))


async def test_raise_for_status_comes_after_the_retries(server: Server) -> None:
    async with session(raise_for_status=True) as client:
        assert await status_of(client.get(server.script("/a", 503, 200))) == 200
        with pytest.raises(aiohttp.ClientResponseError, match="503"):
            await status_of(client.get(server.script("/b", 503)))
    assert len(server.requests) == 5


async def test_an_error_that_an_inner_middleware_makes_of_an_answer_is_its_own(
    server: Server,
) -> None:
    async def strict(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        response = await handler(request)
        response.raise_for_status()
        return response

    breaker = Breaker(failures=1)
    both = (retry_middleware(POLICY, breaker=breaker), strict)
    async with aiohttp.ClientSession(middlewares=both) as client:
        with pytest.raises(aiohttp.ClientResponseError):
            await status_of(client.get(server.script("/", 404)))
    assert len(server.requests) == 1
    assert breaker.phase == "closed"


async def test_two_retries_around_each_other_do_not_multiply(server: Server) -> None:
    both = (retry_middleware(POLICY), retry_middleware(POLICY))
    async with aiohttp.ClientSession(middlewares=both) as client:
        assert await status_of(client.get(server.script("/", 503))) == 503
    assert server.numbers == ["1", "2", "3"]


async def test_a_response_class_of_the_session_s_own_is_kept(server: Server) -> None:
    class Own(ClientResponse):
        own = "yes"

    async with session(response_class=Own) as client:
        for _ in range(2):
            async with client.get(server.script("/", 503, 200)) as response:
                assert isinstance(response, Own)
                assert response.status == 200


async def test_a_good_answer_keeps_its_connection(server: Server) -> None:
    url = server.script("/", server.answer(200, b"x"))
    async with session() as client:
        await status_of(client.get(url))
        await status_of(client.get(url))
        assert server.accepted == 1


async def test_a_body_that_was_announced_is_sent_on_every_attempt(
    server: Server, clock: PushedClock
) -> None:
    url = server.script("/", 503, 503, 200)
    async with session() as client:
        assert await status_of(client.put(url, data=b"body", expect100=True)) == 200
    assert [seen.body for seen in server.requests] == [b"body"] * 3
    assert len(clock.waits) == 2


async def test_a_file_is_put_back_though_the_answer_came_before_all_was_sent(
    server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "large"
    path.write_bytes(sent := bytes(range(256)) * 40_000)
    early = server.early(503)
    async with session() as client:
        with path.open("rb") as file:
            url = server.script("/", early, early, 200)
            assert await status_of(client.put(url, data=file)) == 200
    assert server.requests[-1].body == sent


async def test_a_file_is_put_back_to_where_it_stood(server: Server) -> None:
    file = io.BytesIO(b"head body")
    file.seek(5)
    async with session() as client:
        url = server.script("/", 503, server.dropped(), 200)
        assert await status_of(client.put(url, data=file)) == 200
    assert [seen.body for seen in server.requests] == [b"body"] * 3


async def test_cookies_of_the_answer_are_kept(server: Server) -> None:
    url = server.script("/", 503, server.answer(200, set_cookie="a=1"))
    async with session(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        await status_of(client.get(url))
        assert {cookie.key: cookie.value for cookie in client.cookie_jar} == {"a": "1"}
