import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
import uvloop
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from msgspec.structs import replace

from tarry.core.outcome import Kind
from tarry.service.wire import tls
from tarry.service.wire.client import Client, Pool
from tarry.service.wire.connection import Connection
from tarry.service.wire.dial import Addresses, Resolved, Resolver
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Answer, Headers, Request, Target
from tarry.service.wire.lookup import Unresolved
from tarry.service.wire.proxy import Proxy
from tarry.testing import zoo

Result = TypeVar("Result")
Run = Callable[[Coroutine[Any, Any, Result]], Result]
SIGNED: Headers = (("webhook-id", "msg_1"), ("webhook-signature", "v1,abc"))


class Book:
    """Knows every host to be on this machine."""

    found: Resolved = Addresses(("127.0.0.1",))

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.owners: set[str] = set()

    def resolve(self, host: str, port: int, owner: str, done: Callable[[Resolved], None]) -> None:
        assert port
        self.owners.add(owner)
        self.asked.append(host)
        done(self.found)


class Silence(Book):
    """Does not tell, unless it is made to."""

    def resolve(self, host: str, port: int, _owner: str, done: Callable[[Resolved], None]) -> None:
        self.asked.append(f"{host}:{port}")
        self.tell = done


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Run[Any]]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner.run


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "authority.pem"
    file.write_bytes(zoo.authority().pem)
    return file


@asynccontextmanager
async def sender(book: Book | Resolver | None = None, **settings: Any) -> AsyncIterator[Client]:  # noqa: ANN401  the client's own
    permits = settings.pop("permits", lambda _address, _port: True)
    client = Client(book or Book(), permits, **settings)
    try:
        yield client
    finally:
        await client.close()


def to(url: str, *headers: tuple[str, str]) -> Target:
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    return Target(parts.scheme, parts.hostname, parts.port, parts.path, headers)


async def send(
    client: Client,
    target: Target,
    body: bytes = b"{}",
    *,
    headers: Headers = SIGNED,
    **limits: float,
) -> Answer:
    """The answer to one request, which must not come before `send` has returned."""
    answers: asyncio.Queue[Answer] = asyncio.Queue()
    client.send(Request(target, headers, body, **limits), answers.put_nowait)
    assert answers.empty()
    return await asyncio.wait_for(answers.get(), 120)


def test_a_request_arrives_as_it_was_made(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            answer = await send(client, to(receiver.url, ("x-tenant", "acme")), b'{"a": 1}')
            assert (answer.status, answer.body) == (200, b"so")
            assert 0 < answer.took < 5

    with zoo.receiver("answers-200") as receiver:
        run(play())
        (asked,) = receiver.requests
    assert (asked.method, asked.path, asked.body) == ("POST", "/hook", b'{"a": 1}')
    assert asked.headers["host"] == urlsplit(receiver.url).netloc
    assert asked.headers["x-tenant"] == "acme"
    assert dict(SIGNED).items() <= asked.headers.items()


def test_a_large_body_arrives_whole(run: Run[None]) -> None:
    body = bytes(range(256)) * 4096

    async def play() -> None:
        async with sender() as client:
            answer = await send(client, to(receiver.calm_url), body)
            assert answer.status == 200
            assert answer.truncated

    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.requests[0].body == body


def test_one_connection_carries_many_requests_and_each_gets_its_own_answer(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            for number in range(20):
                answer = await send(client, to(receiver.calm_url), b"%d" % number)
                assert answer.body == b"%d" % number

    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.connections == 1


def test_requests_at_the_same_time_do_not_share_a_connection(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            for _ in range(3):
                bodies = [b"%d" % number for number in range(10)]
                sends = (send(client, to(receiver.calm_url), body) for body in bodies)
                assert [answer.body for answer in await asyncio.gather(*sends)] == bodies

    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.connections == 10


def test_no_more_connections_rest_than_are_allowed(run: Run[None]) -> None:
    async def play() -> None:
        async with sender(most_idle=2) as client:
            for _ in range(2):
                sends = (send(client, to(receiver.calm_url)) for _ in range(4))
                await asyncio.gather(*sends)

    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.connections == 4 + 2


def test_an_answer_may_lead_to_the_next_request_at_once(run: Run[None]) -> None:
    async def play() -> None:
        over = asyncio.Event()
        statuses: list[int | None] = []
        async with sender() as client:

            def done(answer: Answer) -> None:
                statuses.append(answer.status)
                if len(statuses) == 5:
                    over.set()
                else:
                    client.send(request, done)

            request = Request(to(receiver.url), (), b"")
            client.send(request, done)
            await over.wait()
        assert statuses == [200] * 5

    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.connections == 1


def test_a_closed_connection_is_noticed_and_the_request_sent_again_once(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            for _ in range(3):
                assert (await send(client, to(receiver.url))).status == 200

    with zoo.receiver("reset-when-used-again") as receiver:
        run(play())
        assert receiver.connections == 3
        assert len(receiver.requests) == 5


def speak_first(connection: Connection, _transport: asyncio.BaseTransport) -> None:
    connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


def close_first(_connection: Connection, transport: asyncio.BaseTransport) -> None:
    transport.close()


@pytest.mark.parametrize("first", [speak_first, close_first])
def test_a_connection_that_is_gone_before_the_request_is_a_failure_at_once(
    run: Run[None],
    monkeypatch: pytest.MonkeyPatch,
    first: Callable[[Connection, asyncio.BaseTransport], None],
) -> None:
    made = Connection.connection_made

    def connection_made(connection: Connection, transport: asyncio.BaseTransport) -> None:
        made(connection, transport)
        first(connection, transport)

    async def play() -> None:
        async with sender() as client:
            answer = await send(client, to(receiver.url))
            assert (answer.failure, answer.took < 8) == (Kind.TRANSIENT, True)

    monkeypatch.setattr(Connection, "connection_made", connection_made)
    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.requests == []


def test_a_name_that_may_not_be_called_is_told_later_and_not_at_once(run: Run[None]) -> None:
    async def play() -> None:
        book = Book()
        book.found = Unresolved(Kind.BLOCKED, "no")
        async with sender(book) as client:
            answer = await send(client, Target("http", "hooks.example", 80, "/"))
            assert (answer.failure, answer.detail) == (Kind.BLOCKED, "no")

    run(play())


@pytest.mark.parametrize("local", [False, True])
def test_a_name_that_was_not_looked_up_says_nothing_about_the_endpoint(
    run: Run[None], *, local: bool
) -> None:
    async def play() -> None:
        book = Book()
        book.found = Unresolved(Kind.DNS, "no", local=local)
        async with sender(book) as client:
            answer = await send(client, Target("http", "hooks.example", 80, "/"))
            assert answer.unreachable is not local

    run(play())


def test_a_port_that_nobody_listens_at_is_unreachable(run: Run[None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    async def play() -> None:
        async with sender() as client:
            answer = await send(client, Target("http", "127.0.0.1", port, "/"))
            assert (answer.failure, answer.unreachable) == (Kind.TRANSIENT, True)

    run(play())


@pytest.mark.parametrize("name", ["reset-before-answer", "close-before-answer"])
def test_an_endpoint_that_closes_the_connection_on_a_request_is_not_unreachable(
    run: Run[None], name: str
) -> None:
    async def play() -> None:
        async with sender() as client:
            answer = await send(client, to(receiver.url))
            assert (answer.failure, answer.unreachable) == (Kind.TRANSIENT, False)

    with zoo.receiver(name) as receiver:
        run(play())


def test_a_name_is_looked_up_for_the_application_whose_endpoint_it_is(run: Run[None]) -> None:
    async def play() -> None:
        book = Book()
        async with sender(book) as client:
            await send(client, replace(to(receiver.url), owner="app_a"))
        assert book.owners == {"app_a"}

    with zoo.receiver("answers-200") as receiver:
        run(play())


def test_the_egress_rules_hold_at_the_socket_too(run: Run[None]) -> None:
    async def play() -> None:
        async with sender(permits=Egress.of().permits) as client:
            answer = await send(client, to(receiver.url))
            assert answer.failure is Kind.BLOCKED

    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.requests == []


def test_it_works_with_the_real_resolver(run: Run[None]) -> None:
    async def play() -> None:
        resolver = Resolver(Egress.of(["127.0.0.0/8"]), lookup=lambda _host: ["127.0.0.1"])
        async with sender(resolver) as client:
            answer = await send(client, to(receiver.url.replace("127.0.0.1", "hooks.example")))
            assert answer.status == 200
        resolver.close()

    with zoo.receiver("answers-200") as receiver:
        run(play())


@pytest.mark.parametrize(("timeout", "connect_timeout"), [(0.2, 9.0), (9.0, 0.2)])
def test_looking_up_a_name_counts_as_time(
    run: Run[None], timeout: float, connect_timeout: float
) -> None:
    async def play() -> None:
        async with sender(Silence()) as client:
            began = monotonic()
            answer = await send(
                client,
                Target("http", "a.example", 80, "/"),
                timeout=timeout,
                connect_timeout=connect_timeout,
            )
            assert answer.failure is Kind.TIMEOUT
            assert not answer.unreachable
            assert 0.19 <= answer.took <= monotonic() - began < 8

    run(play())


def test_a_name_that_is_found_too_late_leads_nowhere(run: Run[None]) -> None:
    async def play() -> None:
        book = Silence()
        async with sender(book) as client:
            answer = await send(client, to(receiver.url), timeout=0.1)
            assert answer.failure is Kind.TIMEOUT
            book.tell(Addresses(("127.0.0.1",)))

    with zoo.receiver("answers-200") as receiver:
        run(play())
        assert receiver.connections == 0


@pytest.mark.parametrize("name", ["hang-before-accept", "tls-stall"])
def test_the_time_to_connect_has_its_own_limit(run: Run[None], trusted: Path, name: str) -> None:
    async def play() -> None:
        async with sender(context=tls.context(authorities=trusted)) as client:
            answer = await send(client, to(receiver.url), timeout=9, connect_timeout=0.2)
            assert answer.failure is Kind.TIMEOUT
            assert "connection" in answer.detail
            assert answer.unreachable
            assert 0.19 <= answer.took < 8  # timers have grains of a millisecond

    with zoo.receiver(name) as receiver:
        run(play())


def test_a_slow_answer_is_cut_off_though_bytes_keep_coming(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            answer = await send(client, to(receiver.url), timeout=0.3)
            assert answer.failure is Kind.TIMEOUT
            assert 0.29 <= answer.took < 8

    with zoo.receiver("slow-head", beat=0.05) as receiver:
        run(play())


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        (Target("http", "a.example", 80, "/"), (("a", "b\r\nc: d"),)),
        (Target("http", "a.example", 80, "/", (("host", "b.example"),)), ()),
        (Target("http", "a.example", 80, "/\n"), ()),
    ],
)
def test_what_cannot_be_written_is_a_failure(
    run: Run[None], target: Target, headers: Headers
) -> None:
    async def play() -> None:
        book = Book()
        async with sender(book) as client:
            answer = await send(client, target, headers=headers)
            assert answer.failure is Kind.PROTOCOL
        assert book.asked == []

    run(play())


def test_closing_ends_what_is_on_its_way_and_refuses_what_comes(run: Run[None]) -> None:
    async def play() -> None:
        answers: list[Answer] = []
        async with sender() as client:
            lost = Client(Silence(), lambda _address, _port: True)
            await send(client, to(receiver.calm_url))
            for _ in range(2):
                client.send(Request(to(receiver.url), (), b""), answers.append)
            lost.send(Request(to(receiver.url), (), b""), answers.append)
            await asyncio.sleep(0)
            client.send(Request(to(receiver.url), (), b""), answers.append)
            await client.close()
            await lost.close()
            assert [answer.failure for answer in answers] == [Kind.TRANSIENT] * 4
            assert (await send(client, to(receiver.url))).detail == "the sender was closed"

    with zoo.receiver("hang-before-answer") as receiver:
        run(play())


def test_a_certificate_is_shown_to_those_who_ask(
    run: Run[None], trusted: Path, tmp_path: Path
) -> None:
    signer = zoo.authority()
    own = tmp_path / "own.pem"
    key = signer.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    own.touch(0o600)
    own.write_bytes(key + signer.pem)

    async def play() -> None:
        async with sender(context=tls.context(authorities=trusted, certificate=own)) as client:
            for _ in range(2):
                assert (await send(client, to(receiver.url))).status == 200

    with zoo.receiver("tls-wants-one-too") as receiver:
        run(play())
        assert receiver.connections == 1


def test_a_name_that_tls_cannot_spell_is_a_failure(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            port = urlsplit(receiver.url).port or 0
            answer = await send(client, Target("https", "a" * 64 + ".example", port, "/"))
            assert answer.failure is Kind.TRANSIENT
            assert "Unicode" in answer.detail

    with zoo.receiver("tls") as receiver:
        run(play())


def test_the_authorities_of_the_system_do_not_know_the_zoo(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            answer = await send(client, to(receiver.url))
            assert (answer.failure, answer.unreachable) == (Kind.TLS, True)

    with zoo.receiver("tls") as receiver:
        run(play())
        assert receiver.requests == []


def test_without_file_descriptors_it_fails_and_gives_up_half_of_what_rests(run: Run[None]) -> None:
    async def play() -> None:
        async with sender() as client:
            await asyncio.gather(*(send(client, to(receiver.calm_url)) for _ in range(4)))
            before = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (1, before[1]))
            answer = await send(client, to(another.url))
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            assert answer.failure is Kind.TRANSIENT
            assert "no file descriptors" in answer.detail
            assert not answer.unreachable
            assert (await send(client, to(another.url))).status == 200
            await asyncio.gather(*(send(client, to(receiver.calm_url)) for _ in range(4)))

    with zoo.receiver("answers-200") as receiver, zoo.receiver("answers-200") as another:
        run(play())
        assert receiver.connections == 4 + 2


class Tunnels:
    """A proxy that tunnels to this machine, whatever host is asked for."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.over = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(head)
        port = int(head.split(b" ")[1].rpartition(b":")[2])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Made\r\n\r\n")
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        self.over.set()

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
            writer.close()
            await writer.wait_closed()


@pytest.mark.parametrize("name", ["answers-200", "tls"])
def test_a_proxy_tunnels_http_and_https_alike(
    run: Run[None], trusted: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")

    async def play() -> None:
        tunnels, book = Tunnels(), Book()
        server = await asyncio.start_server(tunnels.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        proxy = Proxy.at(f"http://user:secret@127.0.0.1:{port}")
        target = to(receiver.url.replace("127.0.0.1", "hooks.example"))
        context = tls.context(authorities=trusted)
        async with sender(book, proxy=proxy, context=context) as client:
            for _ in range(2):
                assert (await send(client, target)).status == 200
        await tunnels.over.wait()
        server.close()
        await server.wait_closed()
        (asked,) = tunnels.asked
        assert f"CONNECT {target.host}:{target.port} ".encode() in asked
        assert b"Proxy-Authorization: Basic " in asked
        assert book.asked == []

    with zoo.receiver(name) as receiver:
        run(play())


def test_without_a_proxy_the_environments_are_not_looked_at(
    run: Run[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")

    async def play() -> None:
        async with sender() as client:
            assert (await send(client, to(receiver.url))).status == 200

    with zoo.receiver("answers-200") as receiver:
        run(play())


def test_an_address_is_checked_even_if_a_proxy_would_go_there(run: Run[None]) -> None:
    async def play() -> None:
        resolver = Resolver(Egress.of())
        async with sender(resolver, proxy=Proxy("127.0.0.1", 1)) as client:
            answer = await send(client, Target("http", "169.254.169.254", 80, "/"))
            assert answer.failure is Kind.BLOCKED
        resolver.close()

    run(play())


@pytest.mark.parametrize(
    ("name", "kind", "connect_timeout"),
    [
        ("hang-before-answer", Kind.TIMEOUT, 0.2),
        ("reset-before-answer", Kind.TRANSIENT, 9.0),
        ("answers-403", Kind.TRANSIENT, 9.0),
    ],
)
def test_a_proxy_that_makes_no_tunnel_is_a_failure_in_time(
    run: Run[None], name: str, kind: Kind, connect_timeout: float
) -> None:
    async def play() -> None:
        at = urlsplit(receiver.url)
        async with sender(proxy=Proxy.at(f"http://{at.netloc}")) as client:
            target = Target("https", "hooks.example", 443, "/")
            answer = await send(client, target, connect_timeout=connect_timeout)
            assert answer.failure is kind
            assert answer.took < 8

    with zoo.receiver(name) as receiver:
        run(play())
        assert [asked.method for asked in receiver.requests] == ["CONNECT"]


def test_a_proxy_that_cannot_be_reached_is_a_passing_failure(run: Run[None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    async def play() -> None:
        async with sender(proxy=Proxy("127.0.0.1", port)) as client:
            answer = await send(client, Target("http", "hooks.example", 80, "/"))
            assert answer.failure is Kind.TRANSIENT

    run(play())


class Rested:
    """A connection as far as a pool knows one."""

    def __init__(self, key: Hashable, rested_at: float = 0.0) -> None:
        self.key = key
        self.rested_at = rested_at
        self.open = True

    def usable(self) -> bool:
        return self.open

    def close(self) -> None:
        self.open = False


class Turns:
    """The timer of the pool: turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.call: Callable[[], None] | None = None

    def clock(self) -> float:
        return self.now

    def later(self, delay: float, call: Callable[[], None]) -> "Turns":
        assert delay > 0
        self.call = call
        return self

    def cancel(self) -> None:
        self.call = None

    def turn(self, now: float) -> None:
        call, self.call, self.now = self.call, None, now
        assert call is not None
        call()


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def pool(turns: Turns) -> Pool[Rested]:
    return Pool(turns.later, turns.clock, most=3, idle_time=30.0)


def test_a_connection_is_taken_once_and_only_under_its_key(pool: Pool[Rested]) -> None:
    connection = Rested("a")
    pool.keep(connection)
    assert pool.take("b") is None
    assert pool.take("a") is connection
    assert pool.take("a") is None
    assert len(pool) == 0


def test_the_one_that_rested_last_is_taken_first(pool: Pool[Rested]) -> None:
    old, new = Rested("a"), Rested("a")
    pool.keep(old)
    pool.keep(new)
    assert pool.take("a") is new
    assert pool.take("a") is old


def test_one_that_closed_meanwhile_is_passed_over(pool: Pool[Rested]) -> None:
    good, closed = Rested("a"), Rested("a")
    pool.keep(good)
    pool.keep(closed)
    closed.close()
    assert pool.take("a") is good
    assert pool.take("a") is None


def test_too_many_close_the_one_that_rests_longest_whatever_its_key(pool: Pool[Rested]) -> None:
    all_four = [Rested(key) for key in "abca"]
    for connection in all_four:
        pool.keep(connection)
    assert [connection.open for connection in all_four] == [False, True, True, True]
    assert pool.take("a") is all_four[3]
    assert pool.take("a") is None


def test_what_rests_too_long_is_closed(pool: Pool[Rested], turns: Turns) -> None:
    old, new = Rested("a", 0.0), Rested("a", 20.0)
    pool.keep(old)
    pool.keep(new)
    opens = []
    for now in (29.0, 30.0, 50.0):
        turns.turn(now)
        opens.append((old.open, new.open))
    assert opens == [(True, True), (False, True), (False, False)]
    assert turns.call is None, "nothing rests, so nothing ticks"


def test_a_lost_one_is_forgotten_and_one_in_use_was_never_there(pool: Pool[Rested]) -> None:
    lost, used = Rested("a"), Rested("a")
    pool.keep(lost)
    pool.forget(lost)
    pool.forget(used)
    assert pool.take("a") is None
    assert len(pool) == 0


def test_it_shrinks_from_the_end_that_rests_longest(pool: Pool[Rested]) -> None:
    three = [Rested(key) for key in "abc"]
    for connection in three:
        pool.keep(connection)
    pool.shrink(1)
    assert [connection.open for connection in three] == [False, False, True]


def test_closed_it_closes_all_and_ticks_no_more(pool: Pool[Rested], turns: Turns) -> None:
    connection = Rested("a")
    pool.keep(connection)
    pool.close()
    assert not connection.open
    assert turns.call is None
