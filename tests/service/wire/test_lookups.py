"""Look-ups: each application has its share of the threads, and nobody waits for another's names."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Event

import pytest

from tarry.core.outcome import Kind
from tarry.service.wire import lookups
from tarry.service.wire.lookup import Found, Unresolved, look_up
from tarry.service.wire.lookups import (
    CLOSED,
    CROWDED,
    SLOW_EACH,
    STUCK_THREADS,
    THREADS,
    Lookups,
)
from tarry.testing.virtual_loop import virtually

PUBLIC = "93.184.216.34"
GOOD = (PUBLIC,)
LATE = Unresolved(Kind.DNS, "the name was not resolved within 5 s")
UNSTARTED = Unresolved(Kind.DNS, "the name waited 5 s for others that do not resolve", local=True)


class Threads:
    """Threads of which the test says when each look-up ends."""

    def __init__(self) -> None:
        self.jobs: dict[str, Callable[[], None]] = {}
        self.started: list[str] = []
        self.most = 0
        self.closed = False

    def look_up(self, host: str) -> Iterable[str]:
        """Answer with an address, unless the name says that there is none."""
        return [] if host.startswith("none") else [PUBLIC]

    def do(self, job: Callable[[], None]) -> None:
        host = job.args[0].host  # type: ignore[attr-defined]  # a partial of the look-up
        assert host not in self.jobs
        self.started.append(host)
        self.jobs[host] = job
        self.most = max(self.most, len(self.jobs))

    async def end(self, *hosts: str) -> None:
        """End the look-ups of these names, and let the callers hear of it."""
        for host in hosts:
            self.jobs.pop(host)()
        await settled()

    async def end_good(self) -> None:
        """End all look-ups of good names, and those that start then, until none is left."""
        while good := [host for host in self.jobs if host.startswith("good")]:
            await self.end(*good)

    def close(self) -> None:
        self.closed = True


async def settled() -> None:
    """Let callbacks run, and callbacks of callbacks."""
    for _ in range(3):
        await asyncio.sleep(0)


class Asked:
    """Look-ups with such threads, and what came out for each caller."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.learned: list[tuple[str, Found]] = []
        self.lookups = Lookups(
            threads.look_up, 5.0, lambda host, found: self.learned.append((host, found))
        )
        self.answers: list[tuple[str, str, Found]] = []

    def ask(self, owner: str, *hosts: str) -> None:
        for host in hosts:
            self.lookups.ask(host, owner, partial(self._note, owner, host))

    def _note(self, owner: str, host: str, found: Found) -> None:
        self.answers.append((owner, host, found))

    def answered(self, owner: str) -> dict[str, Found]:
        """What the last answers of an owner were."""
        return {host: found for whose, host, found in self.answers if whose == owner}


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    made = Threads()
    monkeypatch.setattr(lookups, "Threads", lambda *_: made)
    return made


def hung(count: int, owner: str = "") -> list[str]:
    return [f"hung{number}.{owner}" for number in range(count)]


@virtually
async def test_names_of_one_tenant_that_never_resolve_keep_nobody_else_waiting(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    asked.ask("a", *hung(40))
    assert len(threads.jobs) == THREADS // 2
    for number in range(16):
        asked.ask(f"b{number}", f"good{number}")
        assert f"good{number}" in threads.jobs, "it starts at once"
    await threads.end_good()
    assert all(asked.answered(f"b{number}") == {f"good{number}": GOOD} for number in range(16))


@virtually
async def test_others_start_at_once_for_as_long_as_the_names_hang(threads: Threads) -> None:
    asked = Asked(threads)
    for minute in range(30):
        asked.ask("a", *(f"hung{minute}.{number}" for number in range(200)))
        for number in range(16):
            asked.ask(f"b{number}", f"good{minute}.{number}")
            assert f"good{minute}.{number}" in threads.jobs
        await threads.end_good()
        await asyncio.sleep(2)
    assert len(threads.jobs) < THREADS + STUCK_THREADS // 2
    assert threads.most <= THREADS + STUCK_THREADS


@virtually
async def test_several_tenants_whose_names_hang_leave_threads_for_the_others(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    for _ in range(5):
        for owner in "abcd":
            asked.ask(owner, *hung(40, owner))
        await asyncio.sleep(6)
    asked.ask("e", "good")
    assert "good" in threads.jobs
    assert threads.most <= THREADS + STUCK_THREADS


@virtually
async def test_a_look_up_that_takes_too_long_leaves_its_place_and_still_counts(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    asked.ask("a", *hung(16))
    asked.ask("b", *(f"good{number}" for number in range(10)))
    assert len(threads.jobs) == 24, "of the 16 places that are left b gets half"
    await threads.end_good()
    await asyncio.sleep(5.1)
    assert asked.answered("a") == dict.fromkeys(hung(16), LATE)
    asked.ask("b", *(f"good{number}" for number in range(20)))
    assert len(threads.jobs) == 32, "those that are stuck are in nobody's way"
    asked.ask("a", *(f"new{number}" for number in range(40)))
    assert len(threads.jobs) == 32, "16 of a are stuck, and 16 places are free"
    await threads.end_good()
    assert len(threads.jobs) == 24, "16 of a are stuck and 8 run, and 24 places are free"


@virtually
async def test_an_answer_that_comes_after_all_is_learned_and_frees_the_thread(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    asked.ask("a", *hung(16))
    await asyncio.sleep(1)
    asked.ask("a", *hung(30))
    await asyncio.sleep(4.1)
    assert len(threads.jobs) == 24
    while threads.jobs:
        await threads.end(*list(threads.jobs))
    assert len(asked.lookups) == 0
    assert ("hung0.", LATE) in asked.learned
    assert ("hung0.", GOOD) in asked.learned
    asked.ask("a", *(f"new{number}" for number in range(30)))
    assert len(threads.jobs) == 16, "all shares are as at the start"
    asked.lookups.close()


@virtually
async def test_waiting_names_go_round_the_owners(threads: Threads) -> None:
    asked = Asked(threads)
    asked.ask("a", *hung(20, "a"))
    asked.ask("b", *hung(20, "b"))
    asked.ask("c", *hung(20, "c"))
    asked.ask("d", *hung(20, "d"))
    asked.ask("e", *hung(20, "e"))
    assert [sum(host.endswith(owner) for host in threads.jobs) for owner in "abcde"] == [
        *(16, 8, 4, 2, 1)
    ]
    await threads.end(*hung(16, "a"))
    counts = [sum(host.endswith(owner) for host in threads.jobs) for owner in "abcde"]
    assert min(counts) >= 4
    assert max(counts) <= 8


@virtually
async def test_a_name_that_two_owners_need_is_looked_up_once_at_the_first_turn_of_either(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    asked.ask("a", *hung(16), "shared")
    assert "shared" not in threads.jobs
    await asyncio.sleep(3)
    asked.ask("b", "shared")
    assert "shared" in threads.jobs, "b need not wait for the turn of a"
    asked.ask("c", "shared")
    await threads.end("shared")
    assert asked.answers == [(owner, "shared", GOOD) for owner in "abc"]
    assert threads.started.count("shared") == 1


@virtually
async def test_who_joins_a_name_that_waits_for_another_owner_has_its_own_time(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    for owner in "abcdef":
        asked.ask(owner, *hung(40, owner))
    assert len(threads.jobs) == THREADS
    asked.ask("a", "shared")
    await asyncio.sleep(3)
    asked.ask("g", "shared")
    await asyncio.sleep(1.9)
    await threads.end("hung0.a")
    assert "shared" in threads.jobs, "g has nothing yet, so it is its turn"
    await asyncio.sleep(0.2)
    assert asked.answered("a")["shared"] == LATE
    assert "shared" not in asked.answered("g")
    await threads.end("shared")
    assert asked.answered("g") == {"shared": GOOD}


@virtually
async def test_a_name_that_only_waited_is_not_known_to_be_bad(threads: Threads) -> None:
    asked = Asked(threads)
    asked.ask("a", *hung(40), "good")
    await asyncio.sleep(5.1)
    assert asked.answered("a")["good"] == UNSTARTED
    assert "good" not in [host for host, _ in asked.learned]
    asked.ask("b", "good")
    await threads.end("good")
    assert asked.answered("b") == {"good": GOOD}


@virtually
async def test_callers_that_come_while_a_name_hangs_have_a_time_limit_each(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    for _ in range(3):
        asked.ask("a", "hung")
        asked.ask("b", "hung")
        await asyncio.sleep(6)
    assert asked.answers == [("a", "hung", LATE), ("b", "hung", LATE)] * 3
    assert threads.started == ["hung"]
    await threads.end("hung")


@virtually
async def test_names_that_were_slow_leave_the_threads_to_the_owners_other_names(
    threads: Threads,
) -> None:
    asked = Asked(threads)
    slow = hung(12)
    asked.ask("a", *slow)
    await asyncio.sleep(6)
    await threads.end(*slow)
    asked.ask("a", *slow)
    assert set(threads.jobs) == set(slow[:SLOW_EACH])
    asked.ask("a", "good")
    assert "good" in threads.jobs
    asked.ask("b", *slow[SLOW_EACH:])
    assert len(threads.jobs) == 2 * SLOW_EACH + 1, "another owner has its own"
    await threads.end(slow[0])
    assert slow[2 * SLOW_EACH] in threads.jobs
    while threads.jobs:
        await threads.end(*list(threads.jobs))
    asked.ask("a", *slow)
    assert set(threads.jobs) == set(slow), "they were quick, so they are like others again"


@virtually
async def test_it_is_forgotten_which_names_were_slow_longest_ago(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "MOST_SLOW", 5)
    asked = Asked(threads)
    for host in [*hung(6), "hung1."]:
        asked.ask("a", host)
        await asyncio.sleep(6)
        await threads.end(host)
    asked.ask("a", *hung(6))
    assert set(threads.jobs) == {"hung0.", "hung1.", "hung2.", "hung3.", "hung4."}


@virtually
async def test_names_without_an_owner_share_one_share(threads: Threads) -> None:
    asked = Asked(threads)
    asked.ask("", *hung(40))
    assert len(threads.jobs) == THREADS // 2
    asked.ask("a", "good")
    assert "good" in threads.jobs


@virtually
async def test_one_owner_cannot_use_up_the_names_that_may_wait(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "MOST_LOOKUPS", 40)
    asked = Asked(threads)
    asked.ask("a", *hung(21))
    assert asked.answers == [("a", "hung20.", CROWDED)]
    asked.ask("b", "good")
    assert "good" in threads.jobs
    asked.ask("b", *hung(20))
    assert asked.answered("b") == {}, "they join those of a"
    await asyncio.sleep(5)
    while threads.jobs:
        await threads.end(*list(threads.jobs))
    assert len(asked.lookups) == 0
    del asked.answers[:]
    asked.ask("a", *hung(21))
    assert asked.answers == [("a", "hung20.", CROWDED)]


@virtually
async def test_closing_answers_all_callers(threads: Threads) -> None:
    asked = Asked(threads)
    asked.ask("a", *hung(20))
    asked.ask("b", "hung0.")
    asked.lookups.close()
    assert threads.closed
    await settled()
    assert [found for *_, found in asked.answers] == [CLOSED] * 21
    asked.ask("a", "good")
    assert asked.answers[-1] == ("a", "good", CLOSED)
    await asyncio.sleep(60)
    await threads.end(*list(threads.jobs))
    assert len(asked.answers) == 22
    assert threads.started == hung(16), "what waited is not looked up any more"


@virtually
async def test_an_error_of_one_caller_does_not_keep_the_answer_from_the_next(
    threads: Threads,
) -> None:
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    asked = Asked(threads)

    def fail(_: Found) -> None:
        raise ZeroDivisionError

    asked.lookups.ask("good", "a", fail)
    asked.ask("a", "good")
    await threads.end("good")
    assert asked.answered("a") == {"good": GOOD}
    assert [type(each["exception"]) for each in complaints] == [ZeroDivisionError]


def test_there_are_as_many_threads_for_one_owner_as_there_were_for_all() -> None:
    assert (THREADS, STUCK_THREADS, SLOW_EACH) == (32, 32, 4)


@pytest.fixture
def let_go() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if thread.name == "tarry-resolve":
            thread.join(60)


def test_a_system_that_hangs_for_one_tenants_names_answers_those_of_the_others(
    monkeypatch: pytest.MonkeyPatch, let_go: Event
) -> None:
    def getaddrinfo(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        if host.startswith("hung"):
            assert let_go.wait(60)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    async def main() -> None:
        found: asyncio.Queue[Found] = asyncio.Queue()
        looking = Lookups(look_up, 60.0, lambda *_: None)
        for host in hung(40):
            looking.ask(host, "a", lambda _: None)
        for number in range(16):
            looking.ask(f"good{number}", f"b{number}", found.put_nowait)
        async with asyncio.timeout(120):
            assert [await found.get() for _ in range(16)] == [GOOD] * 16
        looking.close()

    asyncio.run(main())
