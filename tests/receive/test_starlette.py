import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated

import pytest
from fastapi import Body, Depends, FastAPI
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from tarry.receive import Memory, Verified, Webhook
from tarry.receive.starlette import receiving, verified
from tests.receive.sites import BODY, SECRET, signed

Message = Annotated[Verified, Depends(verified(Webhook(SECRET, seen=Memory()), largest=1000))]


def an_app() -> TestClient:
    app = FastAPI()

    @app.post("/hook")
    def hook(message: Message) -> dict[str, object]:
        return {"id": message.id, "type": message.json()["type"]}

    return TestClient(app)


def test_a_plain_function_gets_the_message() -> None:
    answer = an_app().post("/hook", content=BODY, headers=signed(time.time(), message="msg_plain"))
    assert (answer.status_code, answer.json()) == (200, {"id": "msg_plain", "type": "order.paid"})


def test_a_refusal_is_json_as_every_error_of_fastapi() -> None:
    client, now = an_app(), time.time()
    answer = client.post("/hook", content=BODY)
    assert answer.json() == {"detail": "the header 'webhook-id' is missing"}
    answer = client.post("/hook", content=b"{}", headers=signed(now))
    assert answer.json() == {"detail": "no signature fits the message and the secrets given"}
    answer = client.post("/hook", content=b"x" * 1001, headers=signed(now))
    assert answer.json() == {"detail": "the body is larger than 1000 bytes"}
    headers = signed(now, message="msg_json")
    client.post("/hook", content=BODY, headers=headers)
    answer = client.post("/hook", content=BODY, headers=headers)
    assert answer.json() == {"detail": "the message 'msg_json' was handled before"}


def test_the_dependency_has_no_parameter_for_the_openapi_document_to_tell_of() -> None:
    (operation,) = an_app().get("/openapi.json").json()["paths"]["/hook"].values()
    assert "parameters" not in operation
    assert "requestBody" not in operation


def test_who_asks_the_request_for_its_body_gets_it_all_the_same() -> None:
    app = FastAPI()

    @app.post("/hook")
    async def hook(message: Message, request: Request) -> bool:
        return await request.body() == message.body and await request.json() == message.json()

    answer = TestClient(app).post(
        "/hook", content=BODY, headers=signed(time.time(), message="msg_asked")
    )
    assert answer.json() is True


def test_a_body_that_fastapi_has_read_already_is_read_again() -> None:
    app = FastAPI()

    @app.post("/hook")
    async def hook(message: Message, payload: Annotated[dict[str, object], Body()]) -> bool:
        return bool(message.json() == payload)

    headers = {**signed(time.time(), message="msg_both"), "content-type": "application/json"}
    assert TestClient(app).post("/hook", content=BODY, headers=headers).json() is True


def test_starlette_alone_answers_by_its_own_handlers() -> None:
    webhook = Webhook(SECRET)

    async def hook(request: Request) -> Response:
        async with receiving(webhook, request) as message:
            return PlainTextResponse(message.id)

    client = TestClient(Starlette(routes=[Route("/hook", hook, methods=["POST"])]))
    assert client.post("/hook", content=BODY, headers=signed(time.time())).text == "msg_1"
    answer = client.post("/hook", content=BODY)
    assert (answer.status_code, answer.text) == (400, "the header 'webhook-id' is missing")


def test_who_hangs_up_in_the_middle_is_not_heard() -> None:
    reached = []

    async def hook(request: Request) -> Response:
        async with receiving(Webhook(SECRET), request) as message:
            reached.append(message)
        return Response()

    async def parts() -> AsyncIterator[dict[str, object]]:
        yield {"type": "http.request", "body": BODY[:5], "more_body": True}
        yield {"type": "http.disconnect"}

    coming = parts()

    async def receive() -> dict[str, object]:
        return await anext(coming)

    async def talk() -> None:
        headers = [(name.encode(), text.encode()) for name, text in signed(time.time()).items()]
        scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
        await hook(Request(scope, receive))

    with pytest.raises(ClientDisconnect):
        asyncio.run(talk())
    assert reached == []
