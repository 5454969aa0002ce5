"""What httpx and httpx2 share; both are put through it."""

import io
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest

import tarry.call.http.httpx as for_httpx
import tarry.call.http.httpx2 as for_httpx2
from tarry import Fixed, NoJitter, Policy
from tests.call.http.callers import CONTEXT
from tests.call.http.server import Server

POLICY = Policy(backoff=Fixed(0), jitter=NoJitter(), attempts=3)
Answering = Callable[[Any], Any]


class Library:
    """One of the two modules, and the adapters for it."""

    def __init__(self, module: ModuleType, adapters: ModuleType) -> None:
        self.module = module
        self.adapters = adapters
        self.seen: list[Any] = []

    def answering(self, *statuses: int) -> Any:  # noqa: ANN401  the module's
        """A transport that answers with these statuses in turn, and keeps the requests."""
        left = list(statuses)

        def answer(request: Any) -> Any:  # noqa: ANN401
            self.seen.append(request)
            request.read()
            return self.module.Response(left.pop(0))

        return self.module.MockTransport(answer)

    def client(self, *statuses: int, **settings: Any) -> Any:  # noqa: ANN401
        given = {"policy": POLICY, **settings}
        transport = self.adapters.RetryTransport(transport=self.answering(*statuses), **given)
        return self.module.Client(transport=transport)


@pytest.fixture(params=[(httpx, for_httpx), (httpx2, for_httpx2)], ids=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Library:
    return Library(*request.param)


def test_any_transport_can_be_wrapped(library: Library) -> None:
    with library.client(503, 503, 200) as client:
        assert client.get("http://mock/").status_code == 200


def test_the_request_stays_as_it_was(library: Library) -> None:
    with library.client(503, 200, policy=POLICY.replace(attempt_timeout=1)) as client:
        response = client.get("http://mock/path?q=%20", headers={"X-Own": "1"})
    assert "tarry-attempt" not in response.request.headers
    assert response.request.extensions["timeout"]["read"] == 5.0
    assert [str(request.url) for request in library.seen] == [str(response.request.url)] * 2


def test_the_limit_is_passed_on_for_every_phase(library: Library) -> None:
    with library.client(200, 200, policy=POLICY.replace(attempt_timeout=3)) as client:
        client.get("http://mock/", timeout=library.module.Timeout(10, read=1, pool=None))
        client.get("http://mock/", timeout=None, extensions={"own": "kept"})
    first, second = [request.extensions for request in library.seen]
    assert first["timeout"] == {"connect": 3, "read": 1, "write": 3, "pool": 3}
    assert second["timeout"] == {"connect": 3, "read": 3, "write": 3, "pool": 3}
    assert second["own"] == "kept"


def test_without_a_limit_the_client_s_timeout_stays(library: Library) -> None:
    with library.client(200) as client:
        client.get("http://mock/", timeout=7)
    assert set(library.seen[0].extensions["timeout"].values()) == {7}


def test_a_request_of_its_own_without_a_timeout_is_limited(library: Library) -> None:
    policy = POLICY.replace(attempt_timeout=3)
    transport = library.adapters.RetryTransport(transport=library.answering(200), policy=policy)
    transport.handle_request(library.module.Request("GET", "http://mock/"))
    assert library.seen[0].extensions["timeout"]["read"] == 3


def test_options_are_for_a_transport_that_is_yet_to_be_made(library: Library) -> None:
    with pytest.raises(TypeError, match="http2, verify"):
        library.adapters.RetryTransport(transport=library.answering(), verify=CONTEXT, http2=False)


@pytest.mark.parametrize("kind", ["list", "text"])
def test_what_can_be_read_again_is_sent_again(library: Library, kind: str) -> None:
    content: dict[str, object] = {"list": [b"a", b"b"], "text": "ab"}
    with library.client(503, 200) as client:
        assert client.put("http://mock/", content=content[kind]).status_code == 200
    assert [request.content for request in library.seen] == [b"ab", b"ab"]


def test_a_file_is_put_back(library: Library) -> None:
    with library.client(503, 200) as client:
        assert client.put("http://mock/", content=io.BytesIO(b"ab")).status_code == 200
    assert [request.content for request in library.seen] == [b"ab", b"ab"]


@pytest.fixture
def pipe() -> Iterator[io.BufferedReader]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as file:
        os.write(writing, b"ab")
        os.close(writing)
        yield file


def test_a_form_with_a_file_that_cannot_be_put_back_is_sent_once(
    library: Library, pipe: io.BufferedReader
) -> None:
    with library.client(503, 200) as client:
        files = {"good": io.BytesIO(b"x"), "bad": pipe}
        assert client.put("http://mock/", files=files).status_code == 503


def test_a_form_of_files_and_fields_is_sent_again(library: Library) -> None:
    with library.client(503, 200) as client:
        files = {"good": io.BytesIO(b"x"), "text": "y", "bytes": b"z"}
        response = client.put("http://mock/", files=files, data={"a": "1", "b": ["2", "3"]})
    assert response.status_code == 200
    first, second = [request.content for request in library.seen]
    assert first == second


def test_a_stream_of_somebody_s_own_is_sent_once(library: Library) -> None:
    class Own(library.module.SyncByteStream):  # type: ignore[name-defined,misc]  # either module's
        def __iter__(self) -> Iterator[bytes]:
            yield b"ab"

    transport = library.adapters.RetryTransport(
        transport=library.answering(503, 200), policy=POLICY
    )
    request = library.module.Request("PUT", "http://mock/", stream=Own())
    assert transport.handle_request(request).status_code == 503


def test_a_request_that_was_read_is_sent_again(library: Library) -> None:
    with library.client(503, 200) as client:
        request = client.build_request("PUT", "http://mock/", content=iter([b"a", b"b"]))
        request.read()
        assert client.send(request).status_code == 200


def test_the_wrapped_transport_is_entered_and_closed_once(library: Library) -> None:
    told: list[str] = []

    class Inner(library.module.BaseTransport):  # type: ignore[name-defined,misc]  # either module's
        def __enter__(self) -> object:
            told.append("enter")
            return self

        def __exit__(self, *_: object) -> None:
            told.append("exit")

        def close(self) -> None:
            told.append("close")

    with library.module.Client(transport=library.adapters.RetryTransport(transport=Inner())):
        assert told == ["enter"]
    library.adapters.RetryTransport(transport=Inner()).close()
    assert told == ["enter", "exit", "close"]


@pytest.mark.anyio
async def test_the_wrapped_async_transport_is_entered_and_closed_once(library: Library) -> None:
    told: list[str] = []

    class Inner(library.module.AsyncBaseTransport):  # type: ignore[name-defined,misc]  # likewise
        async def __aenter__(self) -> object:
            told.append("enter")
            return self

        async def __aexit__(self, *_: object) -> None:
            told.append("exit")

        async def aclose(self) -> None:
            told.append("close")

    async with library.module.AsyncClient(
        transport=library.adapters.AsyncRetryTransport(transport=Inner())
    ):
        assert told == ["enter"]
    await library.adapters.AsyncRetryTransport(transport=Inner()).aclose()
    assert told == ["enter", "exit", "close"]


def test_a_subclass_of_a_transport_is_bound_to_the_same_module(library: Library) -> None:
    class Own(library.adapters.RetryTransport):  # type: ignore[name-defined,misc]  # either one
        pass

    transport = Own(transport=library.answering(503, 200), policy=POLICY)
    request = library.module.Request("GET", "http://mock/")
    assert transport.handle_request(request).status_code == 200


@pytest.mark.usefixtures("clock")
def test_a_good_answer_keeps_its_connection(library: Library, server: Server) -> None:
    url = server.script("/", server.answer(200, b"x"))
    transport = library.adapters.RetryTransport(verify=CONTEXT)
    with library.module.Client(transport=transport) as client:
        client.get(url)
        client.get(url)
        assert server.connections == 1
        assert server.accepted == 1


@pytest.mark.usefixtures("clock")
def test_a_streamed_response_stays_open_until_it_is_read(library: Library, server: Server) -> None:
    url = server.script("/", 503, server.answer(200, b"x" * 100_000))
    transport = library.adapters.RetryTransport(policy=POLICY, verify=CONTEXT)
    with (
        library.module.Client(transport=transport) as client,
        client.stream("GET", url) as response,
    ):
        assert sum(map(len, response.iter_bytes())) == 100_000
