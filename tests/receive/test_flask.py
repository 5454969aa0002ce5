import time

import flask
import pytest

from tarry.receive import Memory, Verified, Webhook
from tarry.receive.flask import verified
from tests.receive.sites import BODY, SECRET, signed


@pytest.fixture
def app() -> flask.Flask:
    app = flask.Flask("shop")

    @app.post("/hook/<shop>")
    @verified(Webhook(SECRET, seen=Memory()), largest=1000)
    def hook(message: Verified, shop: str) -> dict[str, str]:
        return {"id": message.id, "shop": shop}

    return app


def test_a_view_gets_the_message_and_what_its_path_says(app: flask.Flask) -> None:
    answer = app.test_client().post("/hook/acme", data=BODY, headers=signed(time.time()))
    assert (answer.status_code, answer.json) == (200, {"id": "msg_1", "shop": "acme"})


def test_a_decorated_view_keeps_its_name(app: flask.Flask) -> None:
    assert "hook" in app.view_functions


def test_a_refusal_is_json(app: flask.Flask) -> None:
    answer = app.test_client().post("/hook/acme", data=BODY)
    assert answer.status_code == 400
    assert answer.json == {"detail": "the header 'webhook-id' is missing"}


@pytest.mark.parametrize("size", [1001, 1002, 5000])
def test_a_body_that_is_too_large_is_refused(app: flask.Flask, size: int) -> None:
    body = b"x" * size
    headers = signed(time.time(), body=body)
    answer = app.test_client().post("/hook/acme", data=body, headers=headers)
    assert answer.status_code == 413
    assert answer.json == {"detail": "the body is larger than 1000 bytes"}


@pytest.mark.parametrize("size", [999, 1000])
def test_the_limit_of_the_app_is_not_asked(app: flask.Flask, size: int) -> None:
    app.config["MAX_CONTENT_LENGTH"] = 10
    body = b"x" * size
    headers = signed(time.time(), body=body)
    assert app.test_client().post("/hook/acme", data=body, headers=headers).status_code == 200


def test_a_body_that_was_read_before_is_read_again_and_still_limited(app: flask.Flask) -> None:
    app.before_request(lambda: flask.request.get_data() and None)
    for size, status in ((1000, 200), (1001, 413)):
        body = b"x" * size
        headers = signed(time.time(), body=body)
        assert app.test_client().post("/hook/a", data=body, headers=headers).status_code == status


def test_what_the_view_returns_is_read_as_flask_reads_it(app: flask.Flask) -> None:
    webhook = Webhook(SECRET, seen=Memory())
    said: list[flask.typing.ResponseReturnValue] = [
        ("no", 422),
        flask.Response(status=500),
        ("yes", 201, {"X-Seen": "1"}),
    ]

    @app.post("/said")
    @verified(webhook)
    def say(_: Verified) -> flask.typing.ResponseReturnValue:
        return said.pop(0)

    now = time.time()
    answers = [app.test_client().post("/said", data=BODY, headers=signed(now)) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [422, 500, 201, 200]
    assert answers[2].headers["X-Seen"] == "1"
