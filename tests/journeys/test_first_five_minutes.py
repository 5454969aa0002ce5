"""The README's first five minutes, typed as they stand there: only the ports are others."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.curl import run_curl
from tests.kept_port import kept_port

ROOT = Path(__file__).parents[2]
SECTION = re.compile(r"^## Your first five minutes.*?(?=^## )", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
FILE = re.compile(r"<!-- file: (\S+) -->\n```python\n(.*?)```", re.DOTALL)
PATIENCE = 120.0


class Terminals:
    """Types commands as a person would, in as many terminals as it takes."""

    def __init__(self, folder: Path, serving: int, listening: int) -> None:
        self._folder = folder
        self._here = {name: value for name, value in os.environ.items() if "TARRY" not in name}
        self.ports = {"8400": str(serving), "8500": str(listening)}
        self._here["TARRY_SERVER"] = f"http://127.0.0.1:{self.ports['8400']}"

    def _typed(self, line: str) -> str:
        """A line, with this machine's ports and the database elsewhere."""
        line = re.sub(r"127\.0\.0\.1:(\d+)", lambda to: f"127.0.0.1:{self.ports[to[1]]}", line)
        line = line.replace("./dev run", f"./dev run --db {self._db} --listen {self._listen}")
        line = line.replace("./dev tarry listen", f"./dev tarry listen --port {self.ports['8500']}")
        line = line.replace("send.py", str(self._folder / "send.py"))
        line = line.replace(".venv/bin/python", sys.executable)
        return f"exec {line}" if line.startswith("./dev") else line

    @property
    def _db(self) -> str:
        return f"sqlite:////{str(self._folder / 'hooks.db').lstrip('/')}"

    @property
    def _listen(self) -> str:
        return f"127.0.0.1:{self.ports['8400']}"

    def run(self, line: str) -> str:
        if line.startswith("export "):
            return ""
        if line.startswith("curl "):
            return run_curl(self._typed(line), self._here)
        done = subprocess.run(
            ["/bin/bash", "-c", self._typed(line)],
            cwd=ROOT,
            env=self._here,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def know(self, key: str) -> None:
        self._here["TARRY_KEY"] = key

    @contextmanager
    def stay(self, line: str) -> Iterator["Screen"]:
        """A command that goes on, until Ctrl-C."""
        log = self._folder / f"screen-{time.monotonic_ns()}"
        with (
            log.open("w") as screen,
            subprocess.Popen(
                ["/bin/bash", "-c", self._typed(line)],
                cwd=ROOT,
                env=self._here,
                stdout=screen,
                stderr=screen,
            ) as process,
        ):
            try:
                yield Screen(log)
            finally:
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE) == 0, log.read_text()


class Screen:
    """What a command has shown so far."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def shows(self, words: str) -> str:
        until(lambda: words in self._log.read_text(), self._log.read_text)
        return self._log.read_text()


def until(holds: Callable[[], object], say: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, say()
        time.sleep(0.05)


def test_a_newcomer_gets_there_in_five_minutes(tmp_path: Path) -> None:
    section = SECTION.search((ROOT / "README.md").read_text())
    assert section
    serve, listen, first, curl, sdk, broken = (
        [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
        for block in BLOCK.findall(section[0])
    )
    with kept_port() as serving, kept_port() as listening:
        terminals = Terminals(tmp_path, serving, listening)
        for name, text in FILE.findall(section[0]):
            (tmp_path / name).write_text(text.replace("127.0.0.1:8400", terminals._listen))  # noqa: SLF001  its port
        with terminals.stay(serve[0]) as server:
            file = re.search(r"first key, .* in the file (\S+)", server.shows("first key"))
            assert file  # its log is no terminal
            terminals.know(Path(file[1]).read_text().strip())
            with terminals.stay(listen[0]) as receiver:
                for line in first:
                    terminals.run(line)
                receiver.shows('"order": 1')
                for line in curl:
                    terminals.run(line)
                receiver.shows('"order": 2')
                (message,) = [terminals.run(line).strip() for line in sdk]
                receiver.shows(message)
            sent, why, undelivered = broken
            terminals.run(sent)
            explained = ""

            def waits() -> bool:
                nonlocal explained
                explained = terminals.run(why)
                return bool(re.search(r"backoff|endpoint down", explained))

            until(waits, lambda: explained)
            assert "shop main (" in terminals.run(undelivered)
            with terminals.stay(listen[0]) as receiver:
                receiver.shows('"order": 4')
