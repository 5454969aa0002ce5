import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from tarry.cli.bench.sink import Sink
from tarry.service import open_hooks
from tarry.service.build import KEYS, sqlite_path
from tarry.service.store.postgres.queries import SQL
from tarry.service.wire.seal import generate_key
from tarry.testing.receiver import Receiver
from tests.cli.log_lines import next_line, without_log
from tests.plain_http import PLAIN

COMMAND = (sys.executable, "-m", "tarry.cli", "serve")
OPTIONS = ("--listen", "127.0.0.1:0", "--api-key", "k", "--allow-network", "127.0.0.0/8")
MESSAGE = b'{"eventType": "order.created", "payload": {"total": 12}}'

Serve = Callable[..., AbstractContextManager[tuple[str, "subprocess.Popen[str]"]]]


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:////{str(tmp_path / 'hooks.db').lstrip('/')}"


@pytest.fixture
def serve(db: str) -> Serve:
    """`tarry serve`, ready; killed at the end if it still runs."""

    @contextmanager
    def start(*more: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
        command = [*COMMAND, "--db", db, *OPTIONS, *more]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            try:
                said = next_line(process.stderr)
                assert said.startswith("ready: http://127.0.0.1:"), said + process.stderr.read()
                yield said.removeprefix("ready: ").partition(",")[0], process
            finally:
                process.kill()

    return start


def read_ready(process: "subprocess.Popen[str]") -> dict[str, str]:
    """What a server says of itself once it is ready, by name."""
    assert process.stderr
    said = {}
    for _ in range(5):
        name, _, value = next_line(process.stderr).strip().partition(": ")
        said[name] = value.partition(",")[0]
    return said


def failing(*typed: str) -> tuple[int, str]:
    """How a command ends that cannot start, and what it says."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
    ended = subprocess.run(
        [*COMMAND, *typed], env=plain, capture_output=True, text=True, check=False, timeout=120
    )
    return ended.returncode, without_log(ended.stderr)


async def set_up(db: str, url: str) -> None:
    async with open_hooks(db, allow_network=("127.0.0.0/8",)) as hooks:
        await hooks.add_endpoint(await hooks.application("shop"), url)


def post(url: str) -> httpx.Response:
    way = f"{url}/api/v1/app/shop/msg"
    return httpx.post(way, content=MESSAGE, headers={"authorization": "Bearer k"}, **PLAIN)


@pytest.mark.slow
def test_what_comes_in_over_http_is_delivered_and_sigterm_lets_it_finish(
    db: str, serve: Serve
) -> None:
    with Sink() as sink:
        asyncio.run(set_up(db, sink.url))
        with serve() as (url, process):
            assert httpx.get(f"{url}/readyz", **PLAIN).status_code == 200
            answers = [post(url).status_code for _ in range(20)]
            process.send_signal(signal.SIGTERM)
            assert process.stderr
            said = process.stderr.read()
            assert process.wait(120) == 0
        assert answers == [202] * 20
        assert said.endswith("stopped; no attempts are in flight\n")
        with serve():  # what had not gone out goes now
            while sink.arrivals() < 20:
                time.sleep(0.01)
        assert sink.report().distinct == 20


@pytest.mark.slow
def test_it_waits_no_longer_than_its_grace(db: str, serve: Serve) -> None:
    with Receiver() as receiver:
        receiver.go_down("hang")
        asyncio.run(set_up(db, receiver.url))
        with serve("--grace", "0.1") as (url, process):
            assert post(url).status_code == 202
            while not receiver.arrivals:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 1


@pytest.mark.slow
def test_told_twice_it_waits_for_nothing(db: str, serve: Serve) -> None:
    with Receiver() as receiver:
        receiver.go_down("hang")
        asyncio.run(set_up(db, receiver.url))
        with serve() as (url, process):
            assert post(url).status_code == 202
            while not receiver.arrivals:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            assert process.stderr
            while not process.stderr.readline().startswith("stopping"):
                assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.stderr.readline().startswith("Stopping now")
            assert process.wait(120) == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", [("serve",), ("api",), ("worker", "--migrate")])
def test_told_while_another_process_changes_the_schema_it_does_not_wait_for_that(
    database_url: str, command: tuple[str, ...]
) -> None:
    typed = [*COMMAND[:-1], *command, "--db", database_url]
    environment = {**os.environ, KEYS: generate_key("test")}
    with psycopg.connect(database_url) as other:
        other.execute(SQL["up_lock"])
        with subprocess.Popen(typed, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                while not other.execute(
                    "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                ).fetchall():
                    assert process.poll() is None
                    time.sleep(0.01)
                process.send_signal(signal.SIGTERM)
                assert process.wait(120) == 0
            finally:
                process.kill()
            assert process.stderr
            waiting, stopped = process.stderr.read().splitlines()
            assert waiting.endswith("another process changes the schema: waiting for it")
            assert stopped == "stopped before it was ready"


@pytest.mark.slow
def test_a_second_one_on_the_same_file_is_refused(db: str, serve: Serve) -> None:
    with serve():
        code, said = failing("--db", db, *OPTIONS)
    assert code == 3
    assert said.count("\n") == 1


def test_a_key_that_is_empty_is_refused(db: str) -> None:
    for none in (" ", "schlüssel"):
        code, said = failing("--db", db, "--api-key", none)
        assert (code, "'api-key' is '...'" in said) == (2, True)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--listen", "nonsense"), 2, "HOST:PORT"),
        (("--ports", "all"), 2, "ports"),
        (("--allow-network", "10.0.0.0/99"), 2, "10.0.0.0/99"),
        (("--public-url", "hooks.example"), 2, "https://hooks.example.com"),
        (("--trusted-proxy", "10.0.0.0/99"), 2, "10.0.0.0/99"),
        (("--redact", "card"), 2, "'redact' is 'card'; it must be header:NAME"),
        (("--db", "mysql://x"), 2, "sqlite:///FILE"),
        (("--db", "postgresql://127.0.0.1:1/x"), 3, "127.0.0.1"),
        (("--db", "sqlite:////proc/hooks.db"), 3, "/proc"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    db: str, options: tuple[str, ...], code: int, words: str
) -> None:
    found, said = failing("--db", db, *OPTIONS, *options)
    assert (found, words in said, said.count("\n")) == (code, True, 1), said


def test_an_address_that_is_taken_is_said_to_be_so(db: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        code, said = failing("--db", db, *OPTIONS, "--listen", listen)
    assert (code, listen in said, said.count("\n")) == (2, True, 1), said


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "api"])
def test_without_a_key_the_first_one_is_made_and_written_once(command: str, db: str) -> None:
    typed = [*COMMAND[:-1], command, "--db", db, "--listen", "127.0.0.1:0"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
    with subprocess.Popen(typed, env=plain, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = read_ready(process)
            url, file = said["ready"], Path(f"{sqlite_path(db)}.first-key")
            key = file.read_text().strip()
            lets_in = {"authorization": f"Bearer {key}"}
            assert httpx.get(f"{url}/api/v1/app", headers=lets_in, **PLAIN).json()["data"] == []
            (entry,) = httpx.get(f"{url}/api/v1/audit", headers=lets_in, **PLAIN).json()["data"]
            made_by = (entry["operation"], entry["actor"]["kind"], entry["target"]["kind"])
            assert made_by == (f"tarry {command}", "command-line", "key")
            for page in ("dashboard", "docs"):
                assert httpx.get(said[page], **PLAIN).status_code == 200
            assert said["to use it"] == f"export TARRY_SERVER={url} TARRY_KEY_FILE={file}"
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0
    with subprocess.Popen(typed, env=plain, stderr=subprocess.PIPE, text=True) as again:
        assert again.stderr
        said_now = [again.stderr.readline(), again.stderr.readline()]
        again.send_signal(signal.SIGTERM)
        assert "first key" not in "".join([*said_now, again.stderr.read()])


@pytest.mark.slow
def test_a_key_makes_so_many_requests_a_second(db: str) -> None:
    typed = [*COMMAND, "--db", db, *OPTIONS, "--key-rate", "1"]
    with subprocess.Popen(typed, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            url = next_line(process.stderr).removeprefix("ready: ").partition(",")[0]
            headers = {"authorization": "Bearer k"}
            with httpx.Client(base_url=url, headers=headers, **PLAIN) as client:
                answers = [client.get("/api/v1/app") for _ in range(10)]
        finally:
            process.kill()
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert refused[0].json()["code"] == "rate_limit"
    assert int(refused[0].headers["retry-after"]) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("command", [("serve",), ("api",), ("worker", "--migrate")])
def test_a_new_database_is_said_to_be_new_in_one_line_and_only_once(
    command: tuple[str, ...], db: str, tmp_path: Path
) -> None:
    listen = () if command[0] == "worker" else ("--listen", "127.0.0.1:0")
    typed = [*COMMAND[:-1], *command, "--db", db, *listen]
    told = []
    for _ in range(2):
        with subprocess.Popen(
            typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            assert process.stdout
            told.append(process.stderr.readline())
            process.send_signal(signal.SIGTERM)
            told[-1] += process.stderr.read()
            assert process.stdout.read() == ""
    assert f" INFO set up the new database {tmp_path / 'hooks.db'} with schema " in told[0]
    assert told[0].count("database ") == 1
    assert "schema" not in told[1]
