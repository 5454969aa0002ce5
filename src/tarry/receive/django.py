"""Receive webhooks with Django.

    @verified(webhook)
    def hook(request, message): ...

If a message cannot be verified, the decorator answers, and the view is not called. If the view
raises or does not answer with 2xx, the message counts as not handled and is accepted again.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.exceptions import RequestDataTooBig
from django.http import JsonResponse

from tarry.errors import VerificationError
from tarry.receive.answer import LARGEST, Answer, answer_to, is_taken, too_large
from tarry.receive.webhook import Webhook

View = Callable[..., Any]
"""A function from a request to a response; Django ships no types for them."""


def verified(webhook: Webhook, *, largest: int = LARGEST) -> Callable[[View], View]:
    """Decorate a view, sync or async: it gets the verified message after the request.

    Requests need no CSRF token. `largest` limits the body, in bytes; Django's own setting
    `DATA_UPLOAD_MAX_MEMORY_SIZE` limits it too.
    """

    def decorate(view: View) -> View:
        receive = (_async if iscoroutinefunction(view) else _sync)(view, webhook, largest)
        receive.csrf_exempt = True  # type: ignore[attr-defined]  # where Django looks for it
        return receive

    return decorate


def _sync(view: View, webhook: Webhook, largest: int) -> View:
    @wraps(view)
    def receive(request: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401  see View
        body = _body(request, largest)
        if body is None:
            return _response(too_large(largest))
        try:
            message = webhook.start(body, request.headers)
        except VerificationError as refusal:
            return _response(answer_to(refusal))
        handled = False
        try:
            response = view(request, message, *args, **named)
            handled = is_taken(response.status_code)
        finally:
            webhook.end(message, handled=handled)
        return response

    return receive


def _async(view: View, webhook: Webhook, largest: int) -> View:
    if webhook.waits:  # probably a table of Django, which needs the thread of its connection
        start, end = sync_to_async(webhook.start), sync_to_async(webhook.end)
    else:
        start, end = _at_once(webhook.start), _at_once(webhook.end)

    @wraps(view)
    async def receive(request: Any, *args: Any, **named: Any) -> Any:  # noqa: ANN401  see View
        body = _body(request, largest)
        if body is None:
            return _response(too_large(largest))
        try:
            message = await start(body, request.headers)
        except VerificationError as refusal:
            return _response(answer_to(refusal))
        handled = False
        try:
            response = await view(request, message, *args, **named)
            handled = is_taken(response.status_code)
        finally:
            await end(message, handled=handled)
        return response

    return receive


def _at_once(work: Callable[..., Any]) -> Callable[..., Any]:
    async def done(*args: object, **named: object) -> object:
        return work(*args, **named)

    return done


def _body(request: Any, largest: int) -> bytes | None:  # noqa: ANN401  see View
    """Return the body of the request, or None if it is too long."""
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) > largest:
            return None
        body: bytes = request.body
    except (RequestDataTooBig, ValueError):
        return None
    return body if len(body) <= largest else None


def _response(answer: Answer) -> Any:  # noqa: ANN401  see View
    return JsonResponse(
        {"detail": answer.detail}, status=answer.status, headers=dict(answer.headers)
    )
