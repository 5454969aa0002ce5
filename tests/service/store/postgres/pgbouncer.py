"""A real PgBouncer in transaction mode: the machine's own, or the one of Debian's registry."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tarry.testing.postgres import Cluster
from tests.project_files import ROOT

PACKAGES = ("pgbouncer", "libc-ares2", "libcares2", "libevent-2.1-7", "libevent-2.1-7t64")
"""PgBouncer, and the libraries it needs; their names differ between versions of Debian."""
START_SECONDS = 30.0
SETTINGS = """\
[databases]
postgres = host={folder} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = {log}
"""


class NoPgBouncerError(Exception):
    """There is no PgBouncer on this machine, and none could be fetched."""


@cache
def command() -> tuple[list[str], dict[str, str]]:
    """Return the program and its environment; raise NoPgBouncerError if there is none."""
    installed = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if installed:
        return [installed], {}
    folder = ROOT / "build" / "pgbouncer"
    program = folder / "usr/sbin/pgbouncer"
    if not program.exists():
        _fetch(folder)
    if not program.exists():
        raise NoPgBouncerError("no pgbouncer here, and apt-get cannot fetch it")
    libraries = {str(path.parent) for path in folder.rglob("*.so*")}
    return [str(program)], {"LD_LIBRARY_PATH": ":".join(sorted(libraries))}


def _fetch(folder: Path) -> None:
    """Unpack PgBouncer and its libraries from the registry of the system, without installing."""
    fetch, unpack = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if fetch is None or unpack is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as downloads:
        for package in PACKAGES:
            download = [fetch, "download", package]
            subprocess.run(download, cwd=downloads, capture_output=True, check=False)
        for file in Path(downloads).glob("*.deb"):
            subprocess.run([unpack, "-x", str(file), str(folder)], check=True)


@contextmanager
def pgbouncer_of(cluster: Cluster) -> Iterator[str]:
    """Provide a PgBouncer before a test cluster's server, and the URL that leads through it."""
    program, environment = command()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = cluster.folder
    settings, log = folder / "pgbouncer.ini", folder / "pgbouncer.log"
    settings.write_text(SETTINGS.format(folder=folder, port=port, log=log))
    settings.chmod(0o644)
    user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
    if user:
        shutil.chown(settings, user)
    with subprocess.Popen([*program, str(settings)], env=environment, user=user) as process:
        try:
            _wait_for(port, process)
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            process.kill()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    last_look_at = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < last_look_at:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise NoPgBouncerError("pgbouncer did not start")
