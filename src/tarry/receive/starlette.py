"""Receive webhooks with FastAPI, or with Starlette alone.

    @app.post("/hook")
    async def hook(message: Annotated[Verified, Depends(verified(webhook))]) -> None: ...

What is not proven ends as an HTTPException, before the function is called. If the function raises,
an HTTPException too, the message counts as not handled and is new when it comes again.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from anyio import CancelScope, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tarry.errors import VerificationError
from tarry.receive.answer import LARGEST, Answer, answer_to, too_large
from tarry.receive.verify import Verified
from tarry.receive.webhook import Webhook


def verified(
    webhook: Webhook, *, largest: int = LARGEST
) -> Callable[[Request], AsyncIterator[Verified]]:
    """Make a dependency of FastAPI: the message, proven. `largest` is of the body, in bytes."""

    async def message(request: Request) -> AsyncIterator[Verified]:
        async with receiving(webhook, request, largest=largest) as received:
            yield received

    return message


@asynccontextmanager
async def receiving(
    webhook: Webhook, request: Request, *, largest: int = LARGEST
) -> AsyncIterator[Verified]:
    """Verify a request of Starlette and handle its message in the block."""
    body = await _read(request, largest)
    try:
        message = await _start(webhook, request, body)
    except VerificationError as refusal:
        raise _as_exception(answer_to(refusal)) from refusal
    handled = False
    try:
        yield message
        handled = True
    finally:
        await _end(webhook, message, handled=handled)


async def _read(request: Request, largest: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > largest:
            raise _as_exception(too_large(largest))
    # Where Starlette itself keeps it: else who asks the request for it would get an error.
    request._body = bytes(body)  # noqa: SLF001  there is no other way
    return request._body  # noqa: SLF001  likewise


async def _start(webhook: Webhook, request: Request, body: bytes) -> Verified:
    headers = request.headers.items()
    if webhook.waits:
        return await to_thread.run_sync(webhook.start, body, headers)
    return webhook.start(body, headers)


async def _end(webhook: Webhook, message: Verified, *, handled: bool) -> None:
    if webhook.waits:
        with CancelScope(shield=True):  # who hangs up has not handled it, and this must be known
            await to_thread.run_sync(partial(webhook.end, message, handled=handled))
    else:
        webhook.end(message, handled=handled)


def _as_exception(answer: Answer) -> HTTPException:
    return HTTPException(answer.status, answer.detail, headers=dict(answer.headers) or None)
