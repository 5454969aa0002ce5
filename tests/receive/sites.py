"""Sites that receive webhooks, one for each framework, each on a real socket."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Annotated, Any, Literal, NamedTuple

import django
import fastapi
import flask
import httpx
import uvicorn
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.urls import path
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from werkzeug.serving import make_server

import tarry.receive.django
import tarry.receive.flask
import tarry.receive.starlette
from tarry.receive import Verified, Webhook
from tarry.service.wire.secret import generate_shared
from tarry.service.wire.sign import Signer

LARGEST = 100_000
SECRET = generate_shared()
BODY = b'{"type": "order.paid", "big": 9007199254740993}'

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
    SECRET_KEY="only for tests",  # noqa: S106  nothing is kept with it
    ROOT_URLCONF=(),  # each site has its own
)
django.setup()


def signed(
    now: float,
    *,
    secret: str = SECRET,
    message: str = "msg_1",
    body: bytes = BODY,
) -> dict[str, str]:
    """Give the headers of an attempt."""
    return dict(Signer.of([(secret, None)]).headers(message, 1, body, now=now))


class Desk:
    """What a site's view does with messages: it takes them, unless told otherwise."""

    def __init__(self) -> None:
        self.taken: list[Verified] = []
        self.next: list[int | type[Exception]] = []
        self.open = Event()
        self.open.set()
        self.busy = Event()

    def handle(self, message: Verified) -> int:
        self.busy.set()
        self.open.wait()
        said = self.next.pop(0) if self.next else 204
        if not isinstance(said, int):
            raise said
        self.taken.append(message)
        return said


class Site:
    """Where to send to, and what became of it."""

    def __init__(self, desk: Desk, port: int, client: httpx.Client) -> None:
        self.desk = desk
        self.url = f"http://127.0.0.1:{port}/hook"
        self._client = client

    def post(self, headers: Any, body: Any = BODY) -> httpx.Response:  # noqa: ANN401  httpx's types
        return self._client.post(self.url, headers=headers, content=body)


class Gateway:
    """A server for all sites of a kind, one after another: to start one takes long."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.app: Any = None


class Built(NamedTuple):
    """A site's application, and the kind of server it runs on."""

    kind: Literal["asgi", "wsgi"]
    app: Any


Build = Callable[[Webhook, Desk], Built]


@contextmanager
def asgi_gateway() -> Iterator[Gateway]:
    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own
        await gateway.app(scope, receive, send)

    server = uvicorn.Server(
        uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, interface="asgi3")
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        gateway = Gateway(listening.getsockname()[1])
        thread = Thread(target=server.run, args=([listening],))
        thread.start()
        yield gateway  # connections wait in its queue until it is up
        server.should_exit = True
        thread.join()


@contextmanager
def wsgi_gateway() -> Iterator[Gateway]:
    def app(environ: Any, start: Any) -> Any:  # noqa: ANN401  WSGI's own
        return gateway.app(environ, start)

    server = make_server("127.0.0.1", 0, app, threaded=True)
    gateway = Gateway(server.server_port)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield gateway
    server.shutdown()
    thread.join()
    server.server_close()


def with_fastapi(webhook: Webhook, desk: Desk) -> Built:
    app = fastapi.FastAPI()
    proven = tarry.receive.starlette.verified(webhook, largest=LARGEST)

    @app.post("/hook")
    async def hook(
        message: Annotated[Verified, fastapi.Depends(proven, scope="function")],
    ) -> Response:
        # By default a dependency ends only when the answer has gone out: a test could be quicker.
        status = await asyncio.to_thread(desk.handle, message)
        if status >= 400:
            raise fastapi.HTTPException(status)
        return Response(status_code=status)

    return Built("asgi", app)


def with_starlette(webhook: Webhook, desk: Desk) -> Built:
    async def hook(request: Request) -> Response:
        receiving = tarry.receive.starlette.receiving(webhook, request, largest=LARGEST)
        async with receiving as message:
            status = await asyncio.to_thread(desk.handle, message)
            if status >= 400:
                raise fastapi.HTTPException(status)
        return Response(status_code=status)

    return Built("asgi", Starlette(routes=[Route("/hook", hook, methods=["POST"])]))


class Wsgi(WSGIHandler):  # type: ignore[misc]  # Django ships no types
    """Django, with a view of its own instead of those that its settings name."""

    def __init__(self, view: Callable[..., Any]) -> None:
        super().__init__()
        self._urls = (path("hook", view),)

    def get_response(self, request: Any) -> Any:  # noqa: ANN401  Django ships no types
        request.urlconf = self._urls
        return super().get_response(request)


class Asgi(ASGIHandler):  # type: ignore[misc]  # Django ships no types
    """The same, asynchronous."""

    def __init__(self, view: Callable[..., Any]) -> None:
        super().__init__()
        self._urls = (path("hook", view),)

    async def get_response_async(self, request: Any) -> Any:  # noqa: ANN401  Django ships no types
        request.urlconf = self._urls
        return await super().get_response_async(request)


def with_django(webhook: Webhook, desk: Desk) -> Built:
    @tarry.receive.django.verified(webhook, largest=LARGEST)
    def hook(request: Any, message: Verified) -> Any:  # noqa: ANN401  Django ships no types
        assert request.body == message.body
        return HttpResponse(status=desk.handle(message))

    return Built("wsgi", Wsgi(hook))


def with_async_django(webhook: Webhook, desk: Desk) -> Built:
    @tarry.receive.django.verified(webhook, largest=LARGEST)
    async def hook(request: Any, message: Verified) -> Any:  # noqa: ANN401  Django ships no types
        assert request.body == message.body
        return HttpResponse(status=await asyncio.to_thread(desk.handle, message))

    return Built("asgi", Asgi(hook))


def with_flask(webhook: Webhook, desk: Desk) -> Built:
    app = flask.Flask("site")

    @app.post("/hook")
    @tarry.receive.flask.verified(webhook, largest=LARGEST)
    def hook(message: Verified) -> tuple[str, int]:
        assert flask.request.get_data() == message.body
        return "", desk.handle(message)

    return Built("wsgi", app)


def with_async_flask(webhook: Webhook, desk: Desk) -> Built:
    app = flask.Flask("site")

    @app.post("/hook")
    @tarry.receive.flask.verified(webhook, largest=LARGEST)
    async def hook(message: Verified) -> tuple[str, int]:
        return "", await asyncio.to_thread(desk.handle, message)

    return Built("wsgi", app)


SITES: dict[str, Build] = {
    "fastapi": with_fastapi,
    "starlette": with_starlette,
    "django": with_django,
    "django-async": with_async_django,
    "flask": with_flask,
    "flask-async": with_async_flask,
}
