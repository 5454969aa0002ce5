import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tarry.cli.bench.front import BENCH_APPLICATION, BENCH_KEY
from tarry.cli.bench.sink import Sink
from tests.plain_http import PLAIN

LET_IN = {"authorization": f"Bearer {BENCH_KEY}"}
MESSAGE = b'{"eventType": "a", "payload": {}}'


@contextmanager
def front(*what: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tarry.cli.bench.front", *what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip(), process
        process.stdin.close()
        assert process.wait(60) == 0


def test_the_echo_says_202_to_anything() -> None:
    with front("echo") as (url, _):
        assert httpx.post(f"{url}/anything", content=b"x" * 100_000, **PLAIN).status_code == 202


def test_the_one_of_a_framework_says_202_where_messages_go() -> None:
    with front("starlette") as (url, _):
        assert httpx.post(f"{url}/api/v1/app/a/msg", content=MESSAGE, **PLAIN).status_code == 202
        assert httpx.post(f"{url}/elsewhere", content=MESSAGE, **PLAIN).status_code == 404


def test_the_other_one_keeps_what_it_gets(tmp_path: Path) -> None:
    for _ in range(2):  # it can be started again on the same file
        with front(f"sqlite:////{str(tmp_path / 'a.db').lstrip('/')}") as (url, _):
            way = f"{url}/api/v1/app/{BENCH_APPLICATION}/msg"
            assert (
                httpx.post(way, content=MESSAGE, headers=LET_IN, **PLAIN).json()["eventType"] == "a"
            )


def test_with_a_sink_it_delivers_too(tmp_path: Path) -> None:
    db = f"sqlite:////{str(tmp_path / 'a.db').lstrip('/')}"
    with Sink() as sink, front(db, sink.url) as (url, _):
        answer = httpx.post(
            f"{url}/api/v1/app/{BENCH_APPLICATION}/msg", content=MESSAGE, headers=LET_IN, **PLAIN
        )
        assert answer.status_code == 202
        while not sink.arrivals():
            time.sleep(0.01)
