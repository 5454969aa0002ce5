"""A PostgreSQL server for tests: a cluster in a folder of its own, deleted afterwards.

It listens on a Unix socket in a folder that only its user may enter. PostgreSQL refuses to run as
root; then it runs as `nobody`. If the process that started the server ends in any way, even by kill
-9, the server ends, too: a second process makes sure of that.
"""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from tarry.errors import TarryError
from tarry.testing.postgres_programs import Programs, find_programs

START_TIMEOUT = 60.0
END_TIMEOUT = 10.0
POLL_INTERVAL = 0.01
LONGEST_FOLDER = 60
"""The longest path of the temporary folder: that of the Unix socket in it must be below 108."""

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "dynamic_shared_memory_type": "mmap",  # files in the folder: a kill leaves none elsewhere
    "jit": "off",
}
QUICK_SETTINGS = {"fsync": "off", "full_page_writes": "off"}
"""Safe if the server is killed, not if the machine crashes."""


class Cluster:
    """A running server. Its data survives `stop`, `kill` and `start`, until `close`."""

    def __init__(self, programs: Programs, folder: Path, settings: Mapping[str, str]) -> None:
        self.programs = programs
        self.folder = folder
        self._settings = settings
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of the database that always exists."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """Return the URL of a database in the cluster."""
        return f"postgresql://postgres@/{quote(database)}?host={quote(str(self.folder), safe='')}"

    @property
    def log(self) -> str:
        """What the server has logged so far."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        """The id of the server's first process; the others are its children."""
        return self._running().pid

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        if self._server is not None:
            raise TarryError("the PostgreSQL cluster is running already")
        settings = {**SETTINGS, "unix_socket_directories": str(self.folder), **self._settings}
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [self.programs.path("postgres"), "-D", str(self._data), *options]
        self._server = _start(command, self.folder)
        self._wait_until_ready(self._server)

    def stop(self) -> None:
        """Shut the server down properly; open connections are closed."""
        self._stop_server(signal.SIGINT)

    def kill(self) -> None:
        """Kill all processes at once, as a crash of the machine would."""
        server = self._running()
        children = _children(server.pid)
        server.kill()
        _send(signal.SIGKILL, children)
        server.wait()
        _wait_for_end_of(children)  # while one lives, its shared memory blocks a new server
        self._server = None

    def restart(self) -> None:
        """Stop and start again: same data, same URL."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let the server hang until `resume`: connections stay open, but nothing is answered."""
        _send(signal.SIGSTOP, _family(self.pid))

    def resume(self) -> None:
        """Continue after `pause`."""
        _send(signal.SIGCONT, _family(self.pid))

    def close(self) -> None:
        """End the server, whatever its state is, and delete the data."""
        if self._server is not None:
            self._stop_server(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the server's process; TarryError if it does not run."""
        if self._server is None:
            raise TarryError("the PostgreSQL cluster is not running: start() it first")
        return self._server

    def _stop_server(self, end_signal: signal.Signals) -> None:
        """Send the server this signal and wait for its end; kill it if that takes too long."""
        server = self._running()
        self.resume()
        _send(end_signal, [server.pid])
        try:
            server.wait(END_TIMEOUT)
            self._server = None
        except subprocess.TimeoutExpired:
            self.kill()

    def _wait_until_ready(self, server: subprocess.Popen[bytes]) -> None:
        """Wait until the server writes into its status file that it is ready."""
        last_look_at = time.monotonic() + START_TIMEOUT
        while _status(self._data) != (server.pid, "ready"):
            if server.poll() is not None or time.monotonic() > last_look_at:
                self.kill()
                raise TarryError(
                    f"{self.programs} did not start; its log ends:\n{self.log[-4000:]}"
                )
            time.sleep(POLL_INTERVAL)


@contextmanager
def throw_away_cluster(
    programs: Programs | None = None,
    *,
    quick: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Cluster]:
    """Run a new cluster for the duration of the block.

    `quick` is for tests that do not care about durability: commits are not synced to disk.
    `settings` are for postgresql.conf, and override ours.
    """
    folder = _new_folder()
    with _guarded(folder):
        programs = programs or find_programs()
        if _server_user() and not open_to_all(programs.folder):
            programs = programs.copied(folder)
        cluster = Cluster(
            programs, folder, {**(QUICK_SETTINGS if quick else {}), **(settings or {})}
        )
        try:
            _make_data(cluster)
            cluster.start()
            yield cluster
        finally:
            cluster.close()


# --- Files and users ----------------------------------------------------------------------------


def _server_user() -> pwd.struct_passwd | None:
    """Return the user that the server runs as, if not the user who runs the tests."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _new_folder() -> Path:
    """Create a folder with a short path that only the server's user can enter."""
    user = _server_user()
    parents = [Path(path).resolve() for path in (tempfile.gettempdir(), "/tmp", "/var/tmp")]  # noqa: S108  mkdtemp creates a private folder
    fitting = [
        parent
        for parent in parents
        if len(str(parent)) <= LONGEST_FOLDER and os.access(parent, os.W_OK)
        if user is None or open_to_all(parent)
    ]
    if not fitting:
        raise TarryError(
            f"no folder for a PostgreSQL cluster: {', '.join(map(str, parents))} cannot be written,"
            " or entered by all users, or their paths are too long for a socket"
        )
    folder = Path(tempfile.mkdtemp(prefix="tarry-postgres-", dir=fitting[0]))
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


def open_to_all(path: Path) -> bool:
    """Return whether every user can enter a folder, or run a program."""
    return all(each.stat().st_mode & stat.S_IXOTH for each in (path, *path.parents))


def _make_data(cluster: Cluster) -> None:
    """Create the data of a new cluster, without syncing it."""
    options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    command = [cluster.programs.path("initdb"), "-D", str(cluster.folder / "data"), *options]
    if _start(command, cluster.folder).wait():
        raise TarryError(f"{cluster.programs}: initdb failed:\n{cluster.log[-4000:]}")


def _status(data: Path) -> tuple[int, str]:
    """Return the process id and the status from the server's status file."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        return int(lines[0]), lines[7].strip()
    except (FileNotFoundError, ValueError, IndexError):  # missing, or not written completely
        return 0, ""


# --- Processes ----------------------------------------------------------------------------------


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a program as the server's user, with its output in the log."""
    user = _server_user()
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603  runs a program from `find_programs`
            command,
            cwd=folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},  # without PGDATA and the like
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for the tests, not for the server
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
        )


def _family(pid: int) -> list[int]:
    """Return the ids of a process and its children."""
    return [pid, *_children(pid)]


def _children(pid: int) -> list[int]:
    """Return the ids of a process's child processes."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    return []


def _send(signal_number: signal.Signals, pids: Sequence[int]) -> None:
    """Send a signal to processes; those that have ended are left out."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal_number)


def _wait_for_end_of(pids: Sequence[int]) -> None:
    """Wait for the end of processes that are not our children."""
    last_look_at = time.monotonic() + END_TIMEOUT
    while any(map(_alive, pids)):
        if time.monotonic() > last_look_at:
            raise TarryError(f"processes of PostgreSQL do not end: {pids}")
        time.sleep(POLL_INTERVAL)


def _alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        status_line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status_line.rpartition(")")[2].split()[0] not in "ZX"


# --- The guard ----------------------------------------------------------------------------------


@contextmanager
def _guarded(folder: Path) -> Iterator[None]:
    """Run a process that removes the cluster if this process dies."""
    command = [sys.executable, "-m", "tarry.testing.postgres", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):  # noqa: S603  runs this file
        yield  # leaving closes the guard's input, which makes it clean up, and waits for it


def _clear_away(folder: Path) -> None:
    """Kill the server in this folder, if one is running, and remove the folder."""
    pid, _ = _status(folder / "data")
    # The id may belong to another process by now. The server's command line names its folder.
    if pid and str(folder).encode() in _command_line(pid):
        family = _family(pid)
        _send(signal.SIGKILL, family)
        _wait_for_end_of(family)
    shutil.rmtree(folder, ignore_errors=True)


def _command_line(pid: int) -> bytes:
    """Return the command line of a process; nothing if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


if __name__ == "__main__":
    sys.stdin.read()  # to its end: the parent process is done, or dead
    _clear_away(Path(sys.argv[1]))
