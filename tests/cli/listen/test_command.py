import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.core.backoff import Fixed
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.service import open_hooks
from tarry.service.wire.secret import generate_private, generate_shared, public_of
from tarry.service.wire.sign import Signer
from tests.plain_http import PLAIN

COMMAND = (sys.executable, "-m", "tarry.cli", "listen", "--port", "0")
SECRET = generate_shared()
BODY = b'{"type": "order.paid"}'


class Listening:
    """A running `tarry listen`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.first = self.line()
        (self.url,) = re.findall(r"http://[0-9.:]+", self.first)

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def post(self, message: str = "msg_1", secret: str = SECRET) -> httpx.Response:
        headers = Signer.of([(secret, None)]).headers(message, 1, BODY, now=time.time())
        with httpx.Client(trust_env=False, **PLAIN) as client:
            return client.post(self.url, content=BODY, headers=list(headers))

    def ended(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=120)
        return self.process.returncode, rest


Start = Callable[..., Listening]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as running:

        def listen(*options: str, **variables: str) -> Listening:
            process = running.enter_context(
                subprocess.Popen(
                    [*COMMAND, *options],
                    env={**os.environ, **variables},
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            running.callback(process.kill)
            return Listening(process)

        yield listen


def test_it_shows_what_comes_and_tells_at_the_end(start: Start) -> None:
    listening = start("--secret", SECRET)
    assert listening.first == f"listening at {listening.url}"
    assert listening.post().status_code == 200
    assert listening.line()[8:] == "  order.paid  msg_1  attempt 1  signature fits  -> 200"
    assert listening.post(secret=generate_shared()).status_code == 401
    assert "refused: no signature fits" in listening.line()
    assert listening.ended() == (
        0,
        "received 2: 1 verified, 1 refused, 0 failed on purpose, 0 came after they were taken\n",
    )


def test_it_speaks_json_line_by_line(start: Start) -> None:
    listening = start("--json", "--show-body", "--status", "503", "--retry-after", "5s")
    assert json.loads(listening.first) == {"event": "listening", "url": listening.url}
    answer = listening.post()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    told = json.loads(listening.line())
    assert (told["event"], told["status"], told["on_purpose"]) == ("message", 503, True)
    assert (told["signature"], told["body"]) == ("unchecked", BODY.decode())
    code, rest = listening.ended(signal.SIGTERM)
    assert code == 0
    assert json.loads(rest) == {
        "event": "summary",
        "received": 1,
        "verified": 0,
        "refused": 0,
        "failed": 1,
        "duplicates": 0,
    }


def test_bodies_are_shown_below_their_line(start: Start) -> None:
    listening = start("--show-body")
    listening.post()
    assert "signature not checked" in listening.line()
    assert listening.line() == f"    {BODY.decode()}"


def test_the_secret_may_come_from_the_environment(start: Start) -> None:
    pair = generate_private()
    listening = start(TARRY_WEBHOOK_SECRET=f"{SECRET} {public_of(pair)}")
    for secret in (SECRET, pair):
        assert listening.post(secret=secret).status_code == 200


def test_it_is_down_at_first_if_asked_for(start: Start) -> None:
    listening = start("--json", "--down", "300ms")
    assert json.loads(listening.first) == {"event": "down", "url": listening.url}
    assert json.loads(listening.line()) == {"event": "listening", "url": listening.url}
    assert listening.post().status_code == 200


def test_signals_take_it_down_and_bring_it_back(start: Start) -> None:
    listening = start("--down", "1h")
    with pytest.raises(httpx.ConnectError):
        listening.post()
    listening.process.send_signal(signal.SIGUSR2)
    assert listening.line() == f"listening at {listening.url}"
    assert listening.post().status_code == 200
    listening.line()
    listening.process.send_signal(signal.SIGUSR1)
    assert listening.line() == "down: connections are refused"
    with pytest.raises(httpx.ConnectError):
        listening.post()
    assert listening.ended()[0] == 0


def test_it_can_be_slow(start: Start) -> None:
    listening = start("--slow", "200ms")
    before = time.monotonic()
    assert listening.post().status_code == 200
    assert time.monotonic() - before >= 0.2
    assert listening.line().endswith("-> 200 after 200 ms")


def test_it_ends_when_nobody_reads_what_it_shows(start: Start) -> None:
    listening = start()
    assert listening.process.stdout
    listening.process.stdout.close()
    assert listening.post().status_code == 200
    assert listening.process.wait(timeout=120) == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--secret", "hunter2"], "'secret' is '... (7 characters)'; it must be 'whsec_'"),
        (["--retry-after", "5"], "--retry-after goes with failures: give --fail or --status too"),
        (["--fail", "0", "--retry-after", "5"], "--retry-after goes with failures"),
        (["--status", "200"], "200 is not in the range 300<=x<=599"),
        (["--fail", "lots"], "'lots' is no share"),
        (["--slow", "long"], "'long' is no duration"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--host", ""], "'host' is ''; it must be an address of this machine"),
        (["--host", "192.0.2.1"], "'host' is '192.0.2.1'; it must be an address of this machine"),
    ],
)
def test_an_option_that_cannot_work_ends_it_with_two(typed: list[str], said: str) -> None:
    told = CliRunner().invoke(tarry, ["listen", *typed])
    assert told.exit_code == 2
    assert said in told.stderr
    assert "hunter2" not in told.output


def test_a_port_that_is_taken_ends_it_with_two() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = CliRunner().invoke(tarry, ["listen", "--port", port])
    assert told.exit_code == 2
    assert told.stderr == (
        f"Error: 'port' is {port}; it must be a port of 127.0.0.1 that is free"
        " (Address already in use); 0 takes any\n"
    )


def test_it_needs_nothing_of_the_service() -> None:
    code = "import sys, tarry.cli.listen.command; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = ("apsw", "cryptography", "msgspec", "numpy", "tarry.service", "uvloop")
    assert not [name for name in heavy if name in loaded.stdout.split()]


@pytest.mark.slow
def test_a_receiver_that_is_broken_and_mended_gets_what_waited(
    start: Start, tmp_path: Path
) -> None:
    listening = start("--json", "--secret", SECRET, "--down", "1h")

    async def send_and_mend() -> str:
        database = f"sqlite:///{tmp_path}/hooks.db"
        async with open_hooks(database, allow_network=("127.0.0.0/8",)) as hooks:
            shop = await hooks.application("shop")
            endpoint = await hooks.add_endpoint(
                shop, listening.url, secret=SECRET, policy=to_json(Policy(backoff=Fixed(0.3)))
            )
            accepted = await hooks.send(shop, "order.paid", BODY)
            async with hooks.dispatching():
                while not await hooks.attempts(accepted.message):  # noqa: ASYNC110  on disk
                    await asyncio.sleep(0.02)
                listening.process.send_signal(signal.SIGUSR2)
                while (await hooks.lane(endpoint)).waiting:  # noqa: ASYNC110  likewise
                    await asyncio.sleep(0.02)
        return accepted.message.id

    sent = asyncio.run(send_and_mend())
    assert json.loads(listening.line())["event"] == "listening"
    told = json.loads(listening.line())
    assert (told["id"], told["signature"], told["status"]) == (sent, "fits", 200)
    assert told["attempt"] > 1
