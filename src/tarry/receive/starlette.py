"""Receive webhooks with FastAPI, or with Starlette alone.

    @app.post("/hook")
    async def hook(message: Annotated[Verified, Depends(verified(webhook))]) -> None: ...

If a message cannot be verified, an HTTPException is raised before the function is called. If the
function raises, even an HTTPException, the message counts as not handled and is accepted again.
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
    """Return a FastAPI dependency: the verified message. `largest` limits the body, in bytes."""

    async def message(request: Request) -> AsyncIterator[Verified]:
        async with receiving(webhook, request, largest=largest) as received:
            yield received

    return message


@asynccontextmanager
async def receiving(
    webhook: Webhook, request: Request, *, largest: int = LARGEST
) -> AsyncIterator[Verified]:
    """Verify a Starlette request, and handle its message in the `async with` block."""
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
    # Starlette caches the body here. Without it, `request.body()` would fail for the handler.
    request._body = bytes(body)  # noqa: SLF001  there is no other way
    return request._body  # noqa: SLF001  likewise


async def _start(webhook: Webhook, request: Request, body: bytes) -> Verified:
    headers = request.headers.items()
    if webhook.waits:
        return await to_thread.run_sync(webhook.start, body, headers)
    return webhook.start(body, headers)


async def _end(webhook: Webhook, message: Verified, *, handled: bool) -> None:
    if webhook.waits:
        with CancelScope(shield=True):  # a cancelled request must be recorded too
            await to_thread.run_sync(partial(webhook.end, message, handled=handled))
    else:
        webhook.end(message, handled=handled)


def _as_exception(answer: Answer) -> HTTPException:
    return HTTPException(answer.status, answer.detail, headers=dict(answer.headers) or None)
