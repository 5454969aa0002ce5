"""Readers wait for nobody who writes, and closing leaves nothing behind."""

import asyncio
import threading
from pathlib import Path
from threading import Event

import pytest

from tarry.service.store.sqlite.session import Session
from tarry.service.store.sqlite.threads import Threads

pytestmark = pytest.mark.anyio


async def test_a_read_does_not_wait_for_a_write(threads: Threads) -> None:
    begun, go_on = Event(), Event()

    def work(session: Session) -> None:
        session.db.execute("INSERT INTO environment VALUES ('org_1', NULL)")
        begun.set()
        go_on.wait()

    writing = asyncio.create_task(threads.write(work))
    await asyncio.to_thread(begun.wait)
    for read in (threads.read, threads.browse, threads.survey):
        assert await read(lambda db: db.execute("SELECT count(*) FROM environment").get) == 0
    go_on.set()
    await writing
    for read in (threads.read, threads.browse):
        assert await read(lambda db: db.execute("SELECT count(*) FROM environment").get) == 1


async def test_the_dispatcher_does_not_wait_for_whoever_looks_around(threads: Threads) -> None:
    begun, go_on = Event(), Event()

    def look(_: object) -> bool:
        begun.set()
        return go_on.wait()

    looking = asyncio.create_task(threads.browse(look))
    await asyncio.to_thread(begun.wait)
    assert await threads.read(lambda db: db.execute("SELECT 1").get) == 1
    go_on.set()
    assert await looking


async def test_closing_ends_the_threads_and_copies_the_log_into_the_file(
    threads: Threads, path: Path
) -> None:
    threads.lock.take("worker-1")
    await threads.write(lambda session: session.db.execute("SELECT 1").get)
    await threads.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("tarry-")]
    assert left_beside(path) == ["hooks.db-dispatcher"]
    assert threads.lock.workers == frozenset()


def left_beside(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if file != path)
