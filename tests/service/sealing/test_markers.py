"""Does a payload or a response appear in the database, its log or a copy, although it is sealed?

Each is planted as a marker: a text that nothing else contains. Without the setting every marker is
found, so the search works. Headers of responses are not stored at all.
"""

import asyncio
import shutil
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tarry.service import Hooks, open_hooks, outbox
from tarry.service.model.delivery import ENDED
from tarry.service.model.listing import Cut
from tarry.service.model.message import Message
from tarry.service.store.kinds import AllAttemptsOf, DataKeys, Messages
from tarry.service.wire.seal import generate_key
from tests.audit.canary import forms

pytestmark = pytest.mark.anyio

KEY = generate_key("sealing")
POLICY = '{"attempts": 2, "backoff": {"kind": "fixed", "delay": 600}}'
HEADER = f"canary-header-{token_hex(8)}"
MARKERS = {name: f"canary-{name}-{token_hex(8)}" for name in ("payload", "body")}
ANSWERS = (
    f"HTTP/1.1 500 No\r\nretry-after: {HEADER}\r\ncontent-length: {len(MARKERS['body'])}\r\n\r\n"
    + MARKERS["body"],
    f"HTTP/1.1 500 {HEADER}\r\n{HEADER}\r\n\r\n",  # not valid
)
Found = TypeVar("Found")


@pytest.fixture
def endpoint_urls() -> Iterator[list[str]]:
    """Receivers that answer each request with one of the answers."""
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        listening = (first, second)

        def serve(server: socket.socket, answer: str) -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer.encode())

        for server, answer in zip(listening, ANSWERS, strict=True):
            threading.Thread(target=serve, args=(server, answer), daemon=True).start()
        yield [f"http://127.0.0.1:{server.getsockname()[1]}/" for server in listening]
        for server in listening:
            server.shutdown(socket.SHUT_RDWR)


@asynccontextmanager
async def opened(db: str, *, seal_payloads: bool) -> AsyncIterator[Hooks]:
    async with open_hooks(
        db, sealing_keys=KEY, seal_payloads=seal_payloads, allow_network=("127.0.0.0/8",)
    ) as hooks:
        yield hooks


async def fill(hooks: Hooks, urls: list[str], database: str | None = None) -> list[Message]:
    """Send the markers, and wait until each response is saved."""
    shop = await hooks.application("shop", policy=POLICY)
    for url in urls:
        await hooks.add_endpoint(shop, url)
    payload = {"marker": MARKERS["payload"]}
    async with hooks.dispatching():
        sent = [(await hooks.send(shop, "order.paid", payload, key="once")).message]
        if database is not None:
            with psycopg.connect(database) as connection:
                body = MARKERS["payload"].encode()
                id_ = outbox.put(connection, application=shop.id, event_type="a", payload=body)
            collected = await until(lambda: by_id(hooks, shop.id, id_))
            sent += collected
        for message in sent:
            await until(partial(tried, hooks, message.id, len(urls)))
    return sent


async def until(look: Callable[[], Awaitable[Found]]) -> Found:
    """Look again and again until something is found, and return it."""
    async with asyncio.timeout(60):
        while True:
            if what := await look():
                return what
            await asyncio.sleep(0.01)


async def by_id(hooks: Hooks, application: str, id_: str) -> list[Message]:
    entries = (await hooks.store.page(Messages(application), Cut())).entries
    return [message for message in entries if message.id == id_]


async def tried(hooks: Hooks, message: str, times: int) -> bool:
    return len(await hooks.store.read(AllAttemptsOf(message))) >= times


async def has_ended(hooks: Hooks, message: Message) -> bool:
    return all(delivery.state in ENDED for _, delivery in await hooks.deliveries(message))


def found(content: bytes) -> set[str]:
    """Return the names of the markers that are in some bytes, however they are written."""
    assert not any(form in content for form in forms(HEADER))
    return {name for name, text in MARKERS.items() if any(form in content for form in forms(text))}


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tables_of(url: str) -> bytes:
    """Return everything that `COPY` writes of all tables in the schema."""
    copied = []
    with psycopg.connect(url) as database:
        names = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'tarry'")
        for (name,) in names.fetchall():
            statement = SQL("COPY (SELECT * FROM tarry.{}) TO STDOUT").format(Identifier(name))
            with database.cursor().copy(statement) as copy:
                copied += [bytes(data) for data in copy]
    return b"\n".join(copied)


@pytest.mark.parametrize("seal_payloads", [True, False])
async def test_no_marker_is_in_an_sqlite_file_its_log_or_its_backup(
    db: str, tmp_path: Path, endpoint_urls: list[str], *, seal_payloads: bool
) -> None:
    async with opened(db, seal_payloads=seal_payloads) as hooks:
        (message,) = await fill(hooks, endpoint_urls)
        await hooks.store.backup(tmp_path / "backup.db")
        contents = files_of(tmp_path)
        await check_that_it_is_shown(hooks, message)
    contents["closed"] = (tmp_path / "hooks.db").read_bytes()
    assert {"hooks.db", "hooks.db-wal", "backup.db", "closed"} <= contents.keys()
    wanted = set() if seal_payloads else set(MARKERS)
    for name in ("backup.db", "closed"):
        assert found(contents[name]) == wanted
    assert found(b"\n".join(contents.values())) == wanted


@pytest.mark.parametrize("seal_payloads", [True, False])
async def test_no_marker_is_in_a_postgres_database(
    tarry_url: str, endpoint_urls: list[str], *, seal_payloads: bool
) -> None:
    async with opened(tarry_url, seal_payloads=seal_payloads) as hooks:
        sent = await fill(hooks, endpoint_urls, tarry_url)
        assert len(sent) == 2
        assert found(tables_of(tarry_url)) == (set() if seal_payloads else set(MARKERS))
        await check_that_it_is_shown(hooks, sent[0])


async def check_that_it_is_shown(hooks: Hooks, message: Message) -> None:
    """Check that the markers can be read, so that they were stored."""
    shown = await hooks.store.get(Messages(message.application), message.id)
    attempts = await hooks.store.read(AllAttemptsOf(message.id))
    texts = [attempt.detail.encode() + attempt.body for attempt in attempts]
    assert found((shown.payload or b"") + b"\n".join(texts)) == set(MARKERS)


# --- Erasing ------------------------------------------------------------------------------------


async def test_a_copy_from_after_erasing_cannot_be_opened_with_all_sealing_keys(
    db: str, tmp_path: Path, endpoint_urls: list[str]
) -> None:
    async with opened(db, seal_payloads=True) as hooks:
        (message,) = await fill(hooks, endpoint_urls)
        (data_key,) = await hooks.store.read(DataKeys())
        before = tmp_path / "before.db"
        await hooks.store.backup(before)
        async with hooks.dispatching():
            shop = await hooks.application("shop")
            assert await hooks.erase_payloads(shop)
            await discarded(hooks, message)
        await hooks.store.backup(tmp_path / "after.db")
    assert data_key.sealed in before.read_bytes()
    for name in ("after.db", "hooks.db"):  # not even in a free page
        assert data_key.sealed not in (tmp_path / name).read_bytes()
    copy = tmp_path / "copy.db"
    shutil.copy(tmp_path / "after.db", copy)
    async with opened(f"sqlite:///{copy}", seal_payloads=True) as hooks:
        await check_that_it_is_erased(hooks, message)


async def test_after_erasing_the_data_key_is_in_no_table(
    tarry_url: str, endpoint_urls: list[str]
) -> None:
    async with opened(tarry_url, seal_payloads=True) as hooks:
        message, _ = await fill(hooks, endpoint_urls, tarry_url)
        (data_key,) = await hooks.store.read(DataKeys())
        assert data_key.sealed.hex().encode() in tables_of(tarry_url)
        async with hooks.dispatching():
            assert await hooks.erase_payloads(await hooks.application("shop"))
            await discarded(hooks, message)
        assert data_key.sealed.hex().encode() not in tables_of(tarry_url)
    async with opened(tarry_url, seal_payloads=True) as hooks:
        await check_that_it_is_erased(hooks, message)


async def discarded(hooks: Hooks, message: Message) -> None:
    """Wait until a message's deliveries have ended, and check that they were erased."""
    await until(lambda: has_ended(hooks, message))
    for _, delivery in await hooks.deliveries(message):
        assert (delivery.state, delivery.reason) == ("discarded", "erased")


async def check_that_it_is_erased(hooks: Hooks, message: Message) -> None:
    shown = await hooks.store.get(Messages(message.application), message.id)
    assert shown.is_erased
    attempts = await hooks.attempts(message)
    assert len(attempts) == len(ANSWERS)
    assert {attempt.body for attempt in attempts} == {b"ERASED", b""}
