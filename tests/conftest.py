"""What all tests share: how hard they look, a time that stands still until pushed, PostgreSQL.

`./dev test` uses the profile `ci`, which looks at the same examples each time: what it finds has to
do with the change at hand. `./dev test --long` and `./dev test --hypothesis-profile=deep` use the
profile `deep`: many more examples, and different ones each time.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import anyio.lowlevel
import psycopg
import pytest
from hypothesis import settings
from psycopg.sql import SQL, Identifier

from tarry.call.world import world
from tarry.testing.postgres import throw_away_cluster
from tarry.testing.postgres_programs import URL_VARIABLE

TERMINAL = {"COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "TERM"}
TERMINAL |= {"TTY_COMPATIBLE", "TTY_INTERACTIVE"}  # as Rich has it


def forget_where_we_are() -> None:
    """Let the tests not see who runs them where: settings of tarry, terminal, proxy, language.

    A language that the machine does not have makes bash print a warning. `ssh` brings such ones.
    """
    for name in list(os.environ):
        ours = name.startswith("TARRY_") and not name.startswith("TARRY_TEST_")
        if ours or name in TERMINAL or name in {"LANG", "LANGUAGE"} or name.startswith("LC_"):
            del os.environ[name]
    os.environ["LC_ALL"] = "C.UTF-8"
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1,localhost"]))


def hear_ctrl_c() -> None:
    """Handle SIGINT as usual, here and in the processes that tests start and end with it.

    A shell starts background jobs with SIGINT ignored, which every process inherits.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


forget_where_we_are()
hear_ctrl_c()
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=5_000)
settings.load_profile("ci")


def pytest_collection_finish() -> None:
    """Spare the collector what is loaded and stays: a look through it takes a quarter second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_variable_left_behind() -> Iterator[None]:
    """Fail a test that changes the environment of those after it, which pass or fail by chance."""
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    changed = {name for name in before.keys() | after if before.get(name) != after.get(name)}
    assert changed <= {"PYTEST_CURRENT_TEST"}


class StillTime:
    """A clock to push, and the waits that pushed it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def push(self, seconds: float) -> None:
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)
        await anyio.lowlevel.checkpoint()


@pytest.fixture
def still_time(monkeypatch: pytest.MonkeyPatch) -> StillTime:
    time = StillTime()
    for name in ("clock", "sleep", "asleep"):
        monkeypatch.setattr(world, name, getattr(time, name))
    return time


@pytest.fixture
def slept(still_time: StillTime) -> list[float]:
    """Every wait so far."""
    return still_time.slept


@pytest.fixture
def push(still_time: StillTime) -> Callable[[float], None]:
    """Let so many seconds go by."""
    return still_time.push


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server for the whole run: the one that is named, or one started for it."""
    named = os.environ.get(URL_VARIABLE)
    if named:
        yield named
        return
    with throw_away_cluster(quick=True) as cluster:  # whether the disk keeps it is not tested here
        yield cluster.url


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """A new, empty PostgreSQL database for this test."""
    name = f"tarry_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(name)))
    yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
