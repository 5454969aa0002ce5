import asyncio
import inspect
import json
import time
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import AsyncRequestFactory, RequestFactory, override_settings
from django.utils.decorators import method_decorator
from django.views import View

from tarry.receive import Memory, Verified, Webhook
from tarry.receive.django import verified
from tests.receive.sites import BODY, SECRET, signed


@verified(Webhook(SECRET, seen=Memory()), largest=3_000_000)
def hook(_: Any, message: Verified, shop: str = "") -> Any:  # noqa: ANN401  Django ships no types
    """Take a message."""
    return HttpResponse(f"{message.id} {shop}")


def posted(headers: dict[str, str] | None = None, body: bytes = BODY) -> Any:  # noqa: ANN401  Django ships no types
    return RequestFactory().post("/hook", body, content_type="application/json", headers=headers)


def test_a_view_gets_the_message_and_what_its_path_says() -> None:
    response = hook(posted(signed(time.time(), message="msg_view")), shop="acme")
    assert (response.status_code, response.content) == (200, b"msg_view acme")


def test_a_decorated_view_keeps_its_name_and_needs_no_token() -> None:
    assert (hook.__name__, hook.__doc__) == ("hook", "Take a message.")
    assert vars(hook)["csrf_exempt"] is True


def test_a_refusal_is_json() -> None:
    response = hook(posted())
    assert response.status_code == 400
    assert json.loads(response.content) == {"detail": "the header 'webhook-id' is missing"}


def test_the_limit_of_django_itself_is_a_limit_too() -> None:
    body = b"x" * 2000
    request = posted(signed(time.time(), message="msg_big", body=body), body)
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1999):
        response = hook(request)
    assert response.status_code == 413
    assert json.loads(response.content) == {"detail": "the body is larger than 3000000 bytes"}


@pytest.mark.parametrize("length", ["3000001", "9" * 5000, "many"])
def test_a_length_that_is_too_much_is_refused_unread(length: str) -> None:
    request = posted(signed(time.time(), message="msg_long"))
    request.META["CONTENT_LENGTH"] = length
    assert hook(request).status_code == 413


def test_a_view_can_be_a_class() -> None:
    @method_decorator(verified(Webhook(SECRET)), name="post")
    class Hook(View):  # type: ignore[misc]  # Django ships no types
        def post(self, _: Any, message: Verified) -> Any:  # noqa: ANN401  Django ships no types
            return HttpResponse(message.id)

    assert Hook.as_view()(posted(signed(time.time()))).content == b"msg_1"
    assert Hook.as_view()(posted()).status_code == 400


def test_an_async_view_stays_one() -> None:
    @verified(Webhook(SECRET))
    async def later(_: Any, message: Verified) -> Any:  # noqa: ANN401  Django ships no types
        return HttpResponse(message.id)

    assert inspect.iscoroutinefunction(later)
    assert vars(later)["csrf_exempt"] is True
    request = AsyncRequestFactory().post(
        "/hook", BODY, content_type="application/json", headers=signed(time.time())
    )
    assert asyncio.run(later(request)).content == b"msg_1"
