"""What the processes do that are killed: deliver, or accept messages and log each one."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvloop
from msgspec.structs import replace

from tarry.cli.commands import tarry
from tarry.cli.service import worker as _worker  # so that a fork need not
from tarry.core.text import to_json
from tarry.errors import Conflict, DiskNearlyFull, NotFound, StoreUnavailable
from tarry.service import Hooks, open_hooks
from tarry.service.model.application import Application
from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Notice
from tarry.service.model.settings import DELIVERY
from tarry.service.store.kinds import Endpoints, Messages
from tarry.service.store.postgres import store as _postgres  # likewise
from tarry.service.store.sqlite import store as _sqlite

AT_ONCE = 8
"""How many are sent at a time."""


def worker(arguments: list[str]) -> None:
    """Do what the command line `tarry ...` does."""
    tarry(arguments, prog_name="tarry")


def ingest(db: str, apps: int, acknowledged: str, pause: float, most: int) -> None:
    """Accept messages until a signal ends it, and append each accepted number to a file."""
    uvloop.run(_ingest(db, apps, acknowledged, pause, most))


async def _ingest(db: str, apps: int, acknowledged: str, pause: float, most: int) -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    file = os.open(acknowledged, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    async with _opened(db) as hooks:
        applications = [await hooks.application(f"app-{number}") for number in range(apps)]
        numbers = iter(range(_next(acknowledged), most))

        async def send_some() -> None:
            while not told.is_set() and (number := next(numbers, None)) is not None:
                id_ = await _send(hooks, applications[number % apps], number, told)
                if id_ is not None:
                    await _write_down(file, f"{number} {id_}\n")
                await asyncio.sleep(pause)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(send_some())
        if not told.is_set():
            await told.wait()


async def _write_down(file: int, line: str) -> None:
    """Append a line, also if the disk is full for this file as well: then once it is not."""
    while True:
        try:
            os.write(file, line.encode())
        except OSError:
            await asyncio.sleep(0.1)
        else:
            return


def _opened(db: str) -> Any:  # noqa: ANN401  a context manager of Hooks
    return open_hooks(db, migrate=False, allow_network=("127.0.0.0/8",))


def _next(acknowledged: str) -> int:
    """Where to go on: before the last that was acknowledged, and so with keys that are known."""
    with open(acknowledged, encoding="ascii") as lines:  # noqa: PTH123  a child's own file
        numbers = [int(line.split()[0]) for line in lines]
    return max(0, max(numbers, default=0) - AT_ONCE)


async def _send(
    hooks: Hooks, application: Application, number: int, told: asyncio.Event
) -> str | None:
    """Send one, again and again while the database is away or its disk is full; its id."""
    while not told.is_set():
        try:
            accepted = await hooks.send(
                application, "happened", {"number": number}, key=str(number)
            )
        except (DiskNearlyFull, StoreUnavailable):
            with suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), 0.1)
        else:
            return accepted.message.id
    return None


def people(db: str, act: str, about: dict[str, str]) -> None:
    """Do one thing that a person would ask for."""
    asyncio.run(_act(db, act, **about))


def change(db: str, act: str, url: str) -> None:
    """Change something about an application's world; once more it stays as it is."""
    asyncio.run(_change(db, act, url))


def _told(_before: Endpoint | None, after: Endpoint) -> list[Notice]:
    return [
        Notice(
            id="notice_of_change",
            application=after.application,
            endpoint=after.id,
            kind="endpoint.updated",
            facts={},
            at=after.updated_at,
        )
    ]


async def _change(db: str, act: str, url: str) -> None:
    async with _opened(db) as opened:
        known, hooks = await opened.application("app-0"), opened.for_command(act)
        loud = hooks.noting(_told)
        match act:
            case "application":
                await hooks.application("app-0", name="changed")
            case "change":
                there = await hooks.store.get(Endpoints(known.id), "end-0")
                await loud.change_endpoint(there, description="changed")
            case "delete":
                with suppress(NotFound):
                    await loud.delete_endpoint(await hooks.store.get(Endpoints(known.id), "end-0"))
            case "endpoint":
                with suppress(Conflict):
                    await loud.add_endpoint(known, url, uid="changed")
            case "environment":
                await hooks.set_policy(to_json(DELIVERY))
            case _:
                message = await hooks.store.get(Messages(known.id), "changed")
                await hooks.store.expunge(Messages(known.id), message.id, by=hooks.action)


async def _act(db: str, act: str, *, application: str, endpoint: str, message: str) -> None:
    async with _opened(db) as opened:
        known, hooks = await opened.application(application), opened.for_command(act)
        there = await hooks.store.get(Endpoints(known.id), endpoint)
        concerned = await hooks.store.get(Messages(known.id), message)
        match act:
            case "cancel":
                await hooks.cancel(concerned)
            case "resend":
                await hooks.resend(there, concerned)
            case "claim" | "answer":
                await _once(hooks, message)
            case _:
                await hooks.recover(there, since=0.0)


async def _once(hooks: Hooks, key: str) -> None:
    """Do something once under an idempotency key, after the claim of an earlier holder ends."""
    while True:
        now = time.time()
        asked = Claim(
            environment=hooks.environment,
            key=key,
            fingerprint=b"",
            at=now,
            holder=str(os.getpid()),
            until=now + 1.0,
        )
        claim = await hooks.store.claim(asked, now=now)
        if claim.status is not None:
            return
        if claim.holder == asked.holder:
            await hooks.store.end_claim(replace(claim, status=201, body=b"done"), ClaimEnd.ANSWERED)
        await asyncio.sleep(0.05)


PROGRAMS: dict[str, Callable[..., None]] = {
    "worker": worker,
    "ingest": ingest,
    "people": people,
    "change": change,
}
_LOADED = (_postgres, _sqlite, _worker)
