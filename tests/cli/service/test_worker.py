"""`tarry worker` as a process: how it starts, how it is refused, how it stops."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from tarry.service import open_hooks
from tarry.service.build import KEYS
from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.kinds import Endpoints, Messages
from tarry.testing.receiver import Receiver
from tests.cli.log_lines import next_line, without_log

pytestmark = pytest.mark.slow

NETWORK = "127.0.0.0/8"

Worker = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'hooks.db'}"


@pytest.fixture
def worker(db: str) -> Iterator[Worker]:
    """Starts `tarry worker`; whoever is left is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str, url: str = db) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tarry.cli", "worker", "--db", url, *options]
        plain = {name: said for name, said in os.environ.items() if not name.startswith("TARRY_")}
        process = subprocess.Popen(command, env=plain, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        said_by(process).close()


def said_by(process: "subprocess.Popen[str]") -> IO[str]:
    assert process.stderr is not None
    return process.stderr


def at_work(process: "subprocess.Popen[str]") -> None:
    said = next_line(said_by(process))
    assert said.startswith("delivering from sqlite:///"), said + said_by(process).read()
    assert said.endswith("64 shards\n")


def refused(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """How it ended that could not start: its code, and the one line it said beside the log."""
    said = without_log(said_by(process).read())
    assert said.count("\n") == 1, said
    return process.wait(120), said


def send(db: str, url: str) -> None:
    async def fill() -> None:
        async with open_hooks(db, allow_network=(NETWORK,)) as hooks:
            shop = await hooks.application("shop")
            if not (await hooks.store.page(Endpoints(shop.id), Cut())).entries:
                await hooks.add_endpoint(shop, url)
            await hooks.send(shop, "order.paid", {})

    asyncio.run(fill())


def wait_for(receiver: Receiver, arrivals: int) -> None:
    end = time.monotonic() + 120
    while len(receiver.arrivals) < arrivals:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_delivers_and_stops_with_nothing_on_its_way(db: str, worker: Worker) -> None:
    with Receiver(latency=0.3) as receiver:
        send(db, receiver.url)
        process = worker("--allow-network", NETWORK)
        at_work(process)
        wait_for(receiver, 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert "no attempts are in flight" in said_by(process).read()
    assert "delivered" in {state for _, state in states(db)}


def states(db: str) -> list[tuple[str, str]]:
    async def look() -> list[tuple[str, str]]:
        async with open_hooks(db) as hooks:
            shop = await hooks.application("shop")
            newest = Cut(descending=True)
            messages = (await hooks.store.page(Messages(shop.id, MessageFilter()), newest)).entries
            return [
                (message.id, delivery.state)
                for message in messages
                for _, delivery in await hooks.deliveries(message)
            ]

    return asyncio.run(look())


def test_it_does_not_wait_longer_than_its_grace(db: str, worker: Worker) -> None:
    with Receiver() as receiver:
        receiver.go_down("hang")
        send(db, receiver.url)
        process = worker("--allow-network", NETWORK, "--grace", "0.2")
        at_work(process)
        wait_for(receiver, 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 1


@pytest.mark.parametrize("again", [signal.SIGINT, signal.SIGTERM])
def test_told_twice_it_waits_for_nothing(db: str, worker: Worker, again: signal.Signals) -> None:
    with Receiver() as receiver:
        receiver.go_down("hang")
        send(db, receiver.url)
        process = worker("--allow-network", NETWORK, "--grace", "60")
        at_work(process)
        wait_for(receiver, 1)
        process.send_signal(signal.SIGINT)
        assert said_by(process).readline().startswith("stopping")
        process.send_signal(again)
        assert process.wait(120) == 1
    assert said_by(process).readline().startswith("Stopping now")


def test_a_second_one_on_the_same_file_is_refused_while_others_may_add(
    db: str, worker: Worker
) -> None:
    with Receiver() as receiver:
        send(db, receiver.url)
        first = worker("--allow-network", NETWORK)
        at_work(first)
        code, said = refused(worker())
        assert code == 3
        assert f"process {first.pid}" in said
        assert "use PostgreSQL for several" in said
        send(db, receiver.url)
        wait_for(receiver, 2)


def test_the_schema_is_made_only_if_asked_for(worker: Worker) -> None:
    code, said = refused(worker())
    assert code == 3
    assert "hooks.db" in said
    at_work(worker("--migrate"))


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--allow-network", "ten"), 2, "ten"),
        (("--ports", "many"), 2, "many"),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    worker: Worker, options: tuple[str, ...], code: int, told: str
) -> None:
    ended = refused(worker("--migrate", *options))
    assert (ended[0], told in ended[1]) == (code, True), ended


@pytest.mark.parametrize(
    ("url", "code", "told"),
    [
        ("hooks.db", 2, "sqlite:///FILE"),
        ("postgresql://me:hush@127.0.0.1:1/x", 3, "127.0.0.1"),
        ("sqlite:////dev/null/hooks.db", 3, "hooks.db"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(
    worker: Worker, url: str, code: int, told: str
) -> None:
    ended = refused(worker("--migrate", url=url))
    assert (ended[0], told in ended[1]) == (code, True), ended
    assert "hush" not in ended[1]


def test_a_server_needs_sealing_keys(worker: Worker, database_url: str) -> None:
    code, said = refused(worker("--migrate", url=database_url))
    assert (code, KEYS in said) == (2, True)
