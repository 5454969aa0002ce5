"""What tests need that have messages delivered, and look at that over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tarry.core.policy import Policy
from tarry.service import Hooks, open_hooks
from tarry.service.wire.seal import generate_key

APP = "/api/v1/app/shop"
QUICK = Policy(backoff=Fixed(0.02), jitter=NoJitter(), attempts=3, within=3600.0)
SLOW = '{"backoff": {"kind": "fixed", "delay": 3600}, "attempts": 5, "within": 86400}'
"""A policy that waits an hour between attempts."""
PATIENT = '{"backoff": {"kind": "fixed", "delay": 0.05}, "attempts": 1000, "within": 3600}'
"""One that does not give up."""


@asynccontextmanager
async def delivering(db: Path | str) -> AsyncIterator[Hooks]:
    """A database, by its file or URL, with an application and a dispatcher at work."""
    url = db if isinstance(db, str) else f"sqlite:////{str(db).lstrip('/')}"
    async with open_hooks(
        url, allow_network=("127.0.0.0/8",), policy=QUICK, sealing_keys=generate_key("test")
    ) as hooks:
        await hooks.application("shop")
        async with hooks.dispatching():
            yield hooks


async def sent(client: httpx.AsyncClient, event: str = "order.paid", **fields: Any) -> str:  # noqa: ANN401  JSON
    """Send a message; its id."""
    body = {"eventType": event, "payload": {"n": 1}, **fields}
    answer = await client.post(f"{APP}/msg", json=body)
    assert answer.status_code == 202, answer.text
    message_id: str = answer.json()["id"]
    return message_id


async def got(client: httpx.AsyncClient, path: str, **query: Any) -> list[dict[str, Any]]:  # noqa: ANN401  a query
    """What a list holds."""
    answer = await client.get(APP + path, params=query)
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


async def until(
    client: httpx.AsyncClient,
    path: str,
    done: Callable[[list[dict[str, Any]]], object],
    **query: Any,  # noqa: ANN401  a query
) -> list[dict[str, Any]]:
    """Look at a list until it is as it should be."""
    async with asyncio.timeout(120):
        while not done(entries := await got(client, path, **query)):  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)
    return entries
