"""Receive webhooks with Flask, 3.1 or newer.

    @app.post("/hook")
    @verified(webhook)
    def hook(message): ...

If a message cannot be verified, the decorator answers, and the view is not called. If the view
raises or does not answer with 2xx, the message counts as not handled and is accepted again.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from flask import Response, current_app, jsonify, make_response, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from tarry.errors import VerificationError
from tarry.receive.answer import LARGEST, Answer, answer_to, is_taken, too_large
from tarry.receive.verify import Verified
from tarry.receive.webhook import Webhook

P = ParamSpec("P")
View = Callable[Concatenate[Verified, P], ResponseReturnValue | Awaitable[ResponseReturnValue]]


def verified(
    webhook: Webhook, *, largest: int = LARGEST
) -> Callable[[View[P]], Callable[P, Response]]:
    """Decorate a view, sync or async: it gets the verified message before its other arguments.

    `largest` limits the body, in bytes; Flask's own `MAX_CONTENT_LENGTH` does not apply.
    """

    def decorate(view: View[P]) -> Callable[P, Response]:
        @wraps(view)
        def receive(*args: P.args, **named: P.kwargs) -> Response:
            body = _body(largest)
            if body is None:
                return _response(too_large(largest))
            try:
                message = webhook.start(body, request.headers.items())
            except VerificationError as refusal:
                return _response(answer_to(refusal))
            handled = False
            try:
                answer = current_app.ensure_sync(view)(message, *args, **named)
                response = make_response(answer)
                handled = is_taken(response.status_code)
            finally:
                webhook.end(message, handled=handled)
            return response

        return receive

    return decorate


def _body(largest: int) -> bytes | None:
    """Return the body of the request, or None if it is too long."""
    request.max_content_length = largest + 1  # a chunked body is silently cut there
    try:
        body = request.get_data()
    except RequestEntityTooLarge:
        return None
    return body if len(body) <= largest else None


def _response(answer: Answer) -> Response:
    response = jsonify(detail=answer.detail)
    response.status_code = answer.status
    response.headers.extend(answer.headers)
    return response
