"""Every code block of the README and the docs runs, page by page, top to bottom.

- ``python`` blocks of a page share one namespace and a fresh folder to work in.
- ``<!-- file: NAME -->`` above a block: it is written to that file instead of being run.
- ``<!-- twice -->`` above a ``python`` block: it runs a second time, as a reader runs a program.
- ``console`` blocks: each ``$ tarry ...`` must succeed; ``<!-- check -->`` above the block: what it
  prints must be what the page shows.
- ``<!-- background -->`` above a ``console`` block: its command runs on until the page ends, or
  until the comment ``<!-- stop: COMMAND -->``, with as much of it as tells it apart, above a later
  block. A page with such a block has ports of its own in place of 8400 and 8500, and its
  ``$ curl ...`` and ``$ export ...`` are carried out as well, the way a shell does; for
  ``$ curl ...`` the machine needs no curl.
- https://api.example.com is answered by a server that says 503 to the first request of each path.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import httpx
import pytest

from tests.curl import run_curl
from tests.kept_port import kept_port
from tests.project_files import ROOT, project_files

DOCS = [path for path in project_files("docs") if path.suffix == ".md"]
PAGES = [ROOT / "README.md", *DOCS]
PUBLIC_ADDRESS = "https://api.example.com"
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]+) -->\n+)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: the comment above it, its language, its text and the text's first line."""

    note: str
    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """Give a page's blocks in order."""
    for found in BLOCK.finditer(page):
        line = page.count("\n", 0, found.start("text")) + 1
        yield Block(found["note"] or "", found["language"], found["text"], line)


class Flaky(BaseHTTPRequestHandler):
    """Refuses the first request of each path and answers the ones after it."""

    protocol_version = "HTTP/1.1"
    server: "FlakyServer"

    def answer(self) -> None:
        """Read the request to its end, then answer."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        known = self.path in self.server.known_paths
        self.server.known_paths.add(self.path)
        body = json.dumps({"ok": known}).encode()
        self.send_response(200 if known else 503)
        if not known:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class FlakyServer(ThreadingHTTPServer):
    """Remembers which paths it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Flaky)
        self.known_paths: set[str] = set()


@pytest.fixture
def address() -> Iterator[str]:
    with FlakyServer() as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """Let no page see the variables that another one has set."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_reader_is_told_what_a_file_is_called(page: Path) -> None:
    text, before = page.read_text(), 0
    for found in BLOCK.finditer(text):
        if (found["note"] or "").startswith("file: "):
            name = found["note"].removeprefix("file: ")
            assert f"`{name}`" in text[before : found.start()], f"{name} is named only in a comment"
        before = found.end()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_from_top_to_bottom(
    page: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)  # so that a page's classes can be pickled
    text = page.read_text().replace(PUBLIC_ADDRESS, address)
    live = "<!-- background -->" in text
    with ExitStack() as running:
        running.callback(close_clients, main)
        if live:
            ports = [running.enter_context(kept_port()) for _ in range(2)]
            text = with_ports(text, *ports)
        background: dict[str, ExitStack] = {}
        for block in blocks(text):
            if block.note.startswith("file: "):
                Path(block.note.removeprefix("file: ")).write_text(block.text)
                continue
            if block.note.startswith("stop: "):
                stop(background, block.note.removeprefix("stop: "))
            if block.note == "background":
                (found,) = COMMAND.finditer(block.text)
                background[found["command"]] = command = running.enter_context(ExitStack())
                command.enter_context(started(found["command"]))
            elif block.language == "python":
                as_on_the_page = "\n" * (block.line - 1) + block.text  # keeps tracebacks' lines
                code = compile(as_on_the_page, page, "exec")
                for _ in range(2 if block.note == "twice" else 1):
                    exec(code, vars(main))  # noqa: S102 - our own docs
            elif block.language == "console":
                run_commands(block, live=live)


def run_commands(block: Block, *, live: bool) -> None:
    """Run a block's tarry commands; others (installing, say) are only for the reader."""
    for found in COMMAND.finditer(block.text):
        program, *arguments = shlex.split(found["command"])
        if program == "tarry":
            printed = tarry_prints(arguments)
            if block.note == "check":
                assert printed.rstrip() == found["shown"].rstrip()
        elif live and program == "curl":
            run_curl(found["command"], os.environ)
        elif live and program == "export":
            name, _, value = found["command"].removeprefix("export ").partition("=")
            os.environ[name] = shell(f"printf %s {value}")


# --- Pages with a server ------------------------------------------------------------------------

READY = ("ready: ", "listening at ")


def with_ports(text: str, serving: int, listening: int) -> str:
    """Let a page have ports of its own, in its text and for what its commands take as told."""
    served = f"127.0.0.1:{serving}"
    os.environ.update(TARRY_LISTEN=served, TARRY_SERVER=f"http://{served}")
    own = {"8400": str(serving), "8500": str(listening)}
    return re.sub("|".join(own), lambda found: own[found[0]], text)


@contextmanager
def started(command: str) -> Iterator[None]:
    """Have a command of tarry run; it is ready when it says so, and has to end well when told."""
    _, *arguments = shlex.split(command)
    said = Path(f"said-{time.monotonic_ns()}")
    with said.open("w") as out:
        process = subprocess.Popen(
            [Path(sys.executable).with_name("tarry"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        until = time.monotonic() + 120
        while not any(word in said.read_text() for word in READY):
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < until, said.read_text()
            time.sleep(0.01)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
    assert process.returncode == 0, said.read_text()


def close_clients(page: ModuleType) -> None:
    """Close the HTTP clients that a page has left open; an SDK keeps its own to itself."""
    for made in vars(page).values():
        client = getattr(made, "_httpx_client", made)
        if isinstance(client, httpx.Client):
            client.close()


def stop(background: dict[str, ExitStack], wanted: str) -> None:
    """End a command that runs."""
    (command,) = (command for command in background if wanted in command)
    background.pop(command).close()


def shell(command: str) -> str:
    """Do what a shell does with a command, and return what it prints."""
    bin_folder = Path(sys.executable).parent
    result = subprocess.run(
        ["/bin/bash", "-c", command],
        env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, f"{command}: {result.stdout} {result.stderr}"
    return result.stdout


def tarry_prints(arguments: list[str]) -> str:
    """Run the installed command as a terminal of fixed width would and return what it prints."""
    result = subprocess.run(
        [Path(sys.executable).with_name("tarry"), *arguments],
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
