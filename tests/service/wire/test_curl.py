import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from threading import get_ident
from urllib.parse import urlsplit

import pytest
import uvloop

from tarry.core.outcome import Kind
from tarry.service.wire.curl import Curl
from tarry.service.wire.exchange import Answer, Request, Sender, Target
from tarry.service.wire.resolve import Addresses, Resolved, Unresolved
from tarry.service.wire.transfer import Options
from tarry.testing import zoo

HERE = Addresses(("127.0.0.1",))


class Known:
    """A resolver that says the same of every name, at once."""

    def __init__(self, found: Resolved) -> None:
        self._found = found

    def resolve(self, host: str, port: int, done: Callable[[Resolved], None]) -> None:
        assert host
        assert port
        done(self._found)


class Silent:
    """A resolver that answers when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[Resolved], None]] = []

    def resolve(self, host: str, port: int, done: Callable[[Resolved], None]) -> None:
        assert host
        assert port
        self.waiting.append(done)


def run(main: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


@asynccontextmanager
async def sender(
    found: Resolved = HERE, *, allowed: bool = True, proxy: str = ""
) -> AsyncIterator[Curl]:
    options = Options(lambda *_: allowed, zoo.authority().pem.decode(), proxy)
    made = Curl(Known(found), options)
    try:
        yield made
    finally:
        await made.close()


def request(url: str, body: bytes = b"{}", *, timeout: float = 5.0) -> Request:
    parts = urlsplit(url)
    target = Target(parts.scheme, parts.hostname or "", parts.port or 0, parts.path)
    return Request(target, (("webhook-id", "msg_1"),), body, timeout, timeout)


async def exchange(made: Sender, asked: Request) -> Answer:
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    made.send(asked, answered.set_result)
    return await answered


def test_an_answer_comes_back_on_the_thread_of_the_event_loop() -> None:
    async def main() -> None:
        async with sender() as made:
            told_in: list[int] = []
            done = asyncio.Event()

            def tell(answer: Answer) -> None:
                told_in.append(get_ident())
                assert (answer.status, answer.body) == (200, b"hello")
                done.set()

            made.send(request(receiver.calm_url, b"hello"), tell)
            assert told_in == []
            await done.wait()
            assert told_in == [get_ident()]

    with zoo.receiver("answers-200") as receiver:
        run(main())


def test_a_thousand_at_once_get_each_their_own_answer() -> None:
    async def main() -> None:
        async with sender() as made:
            bodies = [f"number {number}".encode() for number in range(1_000)]
            asked = (exchange(made, request(receiver.calm_url, body)) for body in bodies)
            answers = await asyncio.gather(*asked)
            assert [answer.body for answer in answers] == bodies

    with zoo.receiver("answers-200") as receiver:
        run(main())


def test_a_connection_is_kept_for_the_next_request() -> None:
    async def main() -> None:
        async with sender() as made:
            for _ in range(5):
                assert (await exchange(made, request(receiver.url))).status == 200

    with zoo.receiver("answers-200") as receiver:
        run(main())
        assert (receiver.connections, len(receiver.requests)) == (1, 5)


def test_a_request_has_the_headers_it_should_and_no_other() -> None:
    async def main() -> None:
        async with sender() as made:
            await exchange(made, request(receiver.url, bytes(100_000)))

    with zoo.receiver("answers-200") as receiver:
        run(main())
        (asked,) = receiver.requests
    assert sorted(asked.headers) == [
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "webhook-id",
    ]
    assert len(asked.body) == 100_000


def test_a_name_is_not_looked_up_again_and_stays_the_host() -> None:
    async def main() -> None:
        async with sender() as made:
            url = receiver.url.replace("127.0.0.1", "hooks.nowhere.test")
            assert (await exchange(made, request(url))).status == 200

    with zoo.receiver("answers-200") as receiver:
        run(main())
        assert receiver.requests[0].headers["host"].startswith("hooks.nowhere.test:")


def test_an_address_that_is_not_allowed_is_blocked_at_the_socket() -> None:
    async def main() -> None:
        async with sender(allowed=False) as made:
            assert (await exchange(made, request(receiver.url))).failure is Kind.BLOCKED

    with zoo.receiver("answers-200") as receiver:
        run(main())
        assert receiver.connections == 0


def test_a_name_that_leads_nowhere_is_told_as_the_resolver_has_it() -> None:
    async def main() -> None:
        async with sender(Unresolved(Kind.DNS, "the name is not known")) as made:
            answer = await exchange(made, request("http://nowhere.test:80/"))
            assert (answer.failure, answer.detail) == (Kind.DNS, "the name is not known")

    run(main())


def test_a_resolver_that_takes_too_long_is_not_waited_for() -> None:
    async def main() -> None:
        resolver = Silent()
        made = Curl(resolver, Options(lambda *_: True))
        answer = await exchange(made, request("http://slow.test:80/", timeout=0.05))
        assert answer.failure is Kind.TIMEOUT
        resolver.waiting[0](HERE)  # too late: nothing comes of it
        answered = asyncio.create_task(exchange(made, request("http://slow.test:80/")))
        await asyncio.sleep(0)
        await made.close()
        assert (await answered).detail == "the sender was closed"

    run(main())


def test_a_header_that_would_smuggle_in_another_is_a_failure() -> None:
    async def main() -> None:
        async with sender() as made:
            asked = request(receiver.url)
            bad = Request(asked.target, (("x-odd", "a\r\nb: c"),), b"")
            assert (await exchange(made, bad)).failure is Kind.PROTOCOL

    with zoo.receiver("answers-200") as receiver:
        run(main())
        assert receiver.connections == 0


def test_proxies_of_the_environment_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async def main() -> None:
        async with sender() as made:
            assert (await exchange(made, request(receiver.url))).status == 200

    with zoo.receiver("answers-200") as receiver:
        run(main())


def test_a_proxy_that_is_named_is_asked_for_a_tunnel() -> None:
    asked: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        with listener, listener.accept()[0] as sock:
            asked.append(sock.recv(10_000))
            sock.sendall(b"HTTP/1.1 200 Tunnel\r\nretry-after: 7\r\n\r\n")
            asked.append(sock.recv(10_000))
            sock.sendall(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    async def main() -> None:
        async with sender(proxy=proxy) as made:
            answer = await exchange(made, request("http://hooks.nowhere.test:8080/hook"))
            assert (answer.status, answer.headers) == (202, ())

    listener = socket.create_server(("127.0.0.1", 0))
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    thread = threading.Thread(target=serve, args=(listener,))
    thread.start()
    run(main())
    thread.join()
    assert asked[0].startswith(b"CONNECT hooks.nowhere.test:8080 HTTP/1.1\r\n")
    assert asked[1].startswith(b"POST /hook HTTP/1.1\r\n")


def test_only_authorities_that_are_known_are_trusted() -> None:
    async def main() -> None:
        made = Curl(Known(HERE), Options(lambda *_: True))
        answer = await exchange(made, request(receiver.url))
        assert answer.failure is Kind.TLS
        await made.close()
        async with sender() as trusting:
            assert (await exchange(trusting, request(receiver.url))).body == b"secret"

    with zoo.receiver("tls") as receiver:
        run(main())
        assert len(receiver.requests) == 1


def test_closing_ends_what_is_on_its_way_and_takes_nothing_more() -> None:
    async def main() -> None:
        made = Curl(Known(HERE), Options(lambda *_: True))
        waiting = [asyncio.create_task(exchange(made, request(receiver.url))) for _ in range(10)]
        while len(receiver.requests) < 10:  # noqa: ASYNC110  it lives in another thread
            await asyncio.sleep(0.001)
        await made.close()
        answers = [await each for each in (*waiting, exchange(made, request(receiver.url)))]
        assert {answer.failure for answer in answers} == {Kind.TRANSIENT}
        assert {answer.detail for answer in answers} == {"the sender was closed"}

    before = threading.active_count()
    with zoo.receiver("hang-before-answer") as receiver:
        run(main())
    assert threading.active_count() == before
