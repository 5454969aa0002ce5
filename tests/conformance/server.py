"""A `tarry serve` or `tarry api` in a process of its own, for tests that are hard on it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tarry.service.wire.seal import generate_key
from tests.plain_http import PLAIN

KEY = "let-me-in"
PATIENCE = 120.0
SEALING = generate_key("one")


class Server:
    """A server that answers, where it is, and what it has said."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, url: str) -> None:
        self.process, self.log, self.url = process, log, url

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    @property
    def memory(self) -> int:
        """Bytes that it holds."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def client(self, key: str | None = KEY) -> httpx.Client:
        """Somebody who asks it, with a key or without."""
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, **PLAIN)


@contextmanager
def serving(db: str, log: Path, command: str = "serve") -> Iterator[Server]:
    """A server on a database, until the end of the block; it must end in good order."""
    typed = [sys.executable, "-m", "tarry.cli", command, "--db", db, "--listen", "127.0.0.1:0"]
    variables = {**os.environ, "TARRY_API_KEY": KEY, "TARRY_SEALING_KEYS": SEALING}
    with log.open("wb") as said, subprocess.Popen(typed, env=variables, stderr=said) as process:
        try:
            yield Server(process, log, _ready(process, log))
        finally:
            process.terminate()
            process.wait(PATIENCE)
    assert process.returncode == 0, log.read_text(errors="replace")


def _ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where it is, once it says so."""
    while True:
        for line in log.read_text(errors="replace").splitlines():
            if line.startswith("ready: "):
                return line.removeprefix("ready: ").partition(",")[0]
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(log.read_text(errors="replace"))
