"""Every client with its adapter, behind one face, so that one suite can hold them all to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, BinaryIO, Protocol

import aiohttp
import anyio
import httpx
import httpx2
import requests

import tarry.call.http.aiohttp as for_aiohttp
import tarry.call.http.httpx as for_httpx
import tarry.call.http.httpx2 as for_httpx2
import tarry.call.http.requests as for_requests

Settings = dict[str, Any]


@dataclass
class Reply:
    """A response, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes


class Caller(Protocol):
    """A client with its adapter. Every call has a session of its own."""

    @property
    def refused(self) -> type[Exception]:
        """What it raises when no connection comes about."""

    @property
    def dropped(self) -> type[Exception]:
        """What it raises when the connection is closed without an answer."""

    @property
    def timed_out(self) -> type[Exception]:
        """What it raises when an answer takes too long."""

    def __call__(
        self,
        method: str,
        url: str,
        *,
        settings: Settings | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Reply:
        """Make a call. Besides the client's own options: `settings` for the adapter."""

    def body(self, kind: str, file: BinaryIO) -> dict[str, Any]:
        """The options for a body of some kind."""


CONTEXT = ssl.create_default_context()  # making one takes long, and nothing here uses it
TEXT = b"all of the body"


def pieces() -> Iterator[bytes]:
    yield TEXT[:5]
    yield TEXT[5:]


async def async_pieces() -> AsyncIterator[bytes]:
    for piece in pieces():
        yield piece


class HttpxCaller:
    """httpx or httpx2, with a plain client."""

    def __init__(self, library: ModuleType, adapters: ModuleType) -> None:
        self.library = library
        self.adapters = adapters
        self.refused = library.ConnectError
        self.dropped = library.RemoteProtocolError
        self.timed_out = library.TimeoutException

    def __call__(
        self,
        method: str,
        url: str,
        *,
        settings: Settings | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Reply:
        transport = self.adapters.RetryTransport(verify=CONTEXT, **(settings or {}))
        with self.library.Client(transport=transport) as client:
            response = client.request(method, url, **options)
            return Reply(response.status_code, dict(response.headers), response.content)

    def body(self, kind: str, file: BinaryIO) -> dict[str, Any]:
        bodies: dict[str, dict[str, Any]] = {
            "bytes": {"content": TEXT},
            "json": {"json": {"all": "of it"}},
            "form": {"data": {"all": "of it"}},
            "multipart": {"files": {"part": ("name.txt", TEXT)}, "data": {"all": "of it"}},
            "multipart of a file": {"files": {"part": file}},
            "file": {"content": file},
            "generator": {"content": pieces()},
        }
        return bodies[kind]


class AsyncHttpxCaller(HttpxCaller):
    """httpx or httpx2, with an async client, on asyncio or on trio."""

    def __init__(self, library: ModuleType, adapters: ModuleType, backend: str) -> None:
        super().__init__(library, adapters)
        self._backend = backend

    def __call__(
        self,
        method: str,
        url: str,
        *,
        settings: Settings | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Reply:
        async def call() -> Reply:
            transport = self.adapters.AsyncRetryTransport(verify=CONTEXT, **(settings or {}))
            async with self.library.AsyncClient(transport=transport) as client:
                response = await client.request(method, url, **options)
                return Reply(response.status_code, dict(response.headers), response.content)

        return anyio.run(call, backend=self._backend)

    def body(self, kind: str, file: BinaryIO) -> dict[str, Any]:
        if kind == "generator":
            return {"content": async_pieces()}
        # An async client takes no plain file for a body, only as a part of a form.
        return super().body("multipart of a file" if kind == "file" else kind, file)


class RequestsCaller:
    """requests."""

    refused = requests.exceptions.ConnectionError
    dropped = requests.exceptions.ConnectionError
    timed_out = requests.exceptions.Timeout

    def __call__(
        self,
        method: str,
        url: str,
        *,
        settings: Settings | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Reply:
        options["allow_redirects"] = options.pop("follow_redirects", False)
        with requests.Session() as session:
            adapter = for_requests.RetryAdapter(**(settings or {}))
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            response = session.request(method, url, **options)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status_code, headers, response.content)

    def body(self, kind: str, file: BinaryIO) -> dict[str, Any]:
        bodies: dict[str, dict[str, Any]] = {
            "bytes": {"data": TEXT},
            "json": {"json": {"all": "of it"}},
            "form": {"data": {"all": "of it"}},
            "multipart": {"files": {"part": ("name.txt", TEXT)}, "data": {"all": "of it"}},
            "multipart of a file": {"files": {"part": file}},
            "file": {"data": file},
            "generator": {"data": pieces()},
        }
        return bodies[kind]


class AiohttpCaller:
    """aiohttp."""

    refused = aiohttp.ClientConnectorError
    dropped = aiohttp.ServerDisconnectedError
    timed_out = TimeoutError

    def __call__(
        self,
        method: str,
        url: str,
        *,
        settings: Settings | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Reply:
        options["allow_redirects"] = options.pop("follow_redirects", False)
        if "timeout" in options:
            options["timeout"] = aiohttp.ClientTimeout(sock_read=options["timeout"])

        async def call() -> Reply:
            retrying = for_aiohttp.retry_middleware(**(settings or {}))
            async with (
                aiohttp.ClientSession(middlewares=(retrying,)) as session,
                session.request(method, url, **options) as response,
            ):
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Reply(response.status, headers, await response.read())

        return asyncio.run(call())

    def body(self, kind: str, file: BinaryIO) -> dict[str, Any]:

        form = aiohttp.FormData({"all": "of it"})
        form.add_field("part", TEXT, filename="name.txt")
        bodies: dict[str, dict[str, Any]] = {
            "bytes": {"data": TEXT},
            "json": {"json": {"all": "of it"}},
            "form": {"data": {"all": "of it"}},
            "multipart": {"data": form},
            "multipart of a file": {"data": {"part": file}},
            "file": {"data": file},
            "generator": {"data": async_pieces()},
        }
        return bodies[kind]


CALLERS: dict[str, Caller] = {
    "httpx": HttpxCaller(httpx, for_httpx),
    "httpx async": AsyncHttpxCaller(httpx, for_httpx, "asyncio"),
    "httpx trio": AsyncHttpxCaller(httpx, for_httpx, "trio"),
    "httpx2": HttpxCaller(httpx2, for_httpx2),
    "httpx2 async": AsyncHttpxCaller(httpx2, for_httpx2, "asyncio"),
    "httpx2 trio": AsyncHttpxCaller(httpx2, for_httpx2, "trio"),
    "requests": RequestsCaller(),
    "aiohttp": AiohttpCaller(),
}
