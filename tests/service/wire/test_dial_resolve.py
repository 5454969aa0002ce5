import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from threading import Event, Semaphore

import pytest

from tarry.core.outcome import Kind
from tarry.errors import EgressRefused, SettingsError
from tarry.service.wire import dial, lookups
from tarry.service.wire.dial import MOST_PORTS, Addresses, Resolved, Resolver
from tarry.service.wire.egress import Egress
from tarry.service.wire.lookup import Unresolved
from tarry.testing import PushedClock
from tarry.testing.virtual_loop import run_virtual
from tests.service.wire.generated_spellings import generated_urls
from tests.service.wire.spellings import listed_urls

PUBLIC, OTHER, SIXTH = "93.184.216.34", "93.184.216.35", "2606:4700::1"
BLOCKED = Unresolved(Kind.BLOCKED, "the host leads to an address that must not be called")


class Table:
    """A name server for tests: a name's answers change from call to call, the last one stays."""

    def __init__(self, **answers: list[Iterable[str] | Exception]) -> None:
        self.answers = {name.replace("_", "."): left for name, left in answers.items()}
        self.asked: list[str] = []
        self.threads: set[str] = set()

    def __call__(self, host: str) -> Iterable[str]:
        self.asked.append(host)
        self.threads.add(threading.current_thread().name)
        left = self.answers[host]
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Held:
    """A name server that keeps its answers back until they are let go."""

    def __init__(self, *held: str) -> None:
        self.held = {host: Event() for host in held}
        self.begun = Semaphore(0)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, host: str) -> Iterable[str]:
        self.asked.append((host, threading.current_thread().name))
        self.begun.release()
        if host in self.held:
            assert self.held[host].wait(60)
        return [PUBLIC]

    def let_go(self) -> None:
        for held in self.held.values():
            held.set()


def run(main: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(main())


@asynccontextmanager
async def resolver_of(
    lookup: Callable[[str], Iterable[str]],
    egress: Egress | None = None,
    *,
    clock: PushedClock | None = None,
) -> AsyncIterator[Resolver]:
    clock = clock or PushedClock()
    made = Resolver(egress or Egress.of(), lookup=lookup, clock=lambda: clock.now)
    try:
        yield made
    finally:
        made.close()


async def ask(resolver: Resolver, host: str, port: int = 80) -> Resolved:
    answered: asyncio.Future[Resolved] = asyncio.get_running_loop().create_future()
    resolver.resolve(host, port, "app_a", answered.set_result)
    return await asyncio.wait_for(answered, 60)


def at_once(resolver: Resolver, host: str, port: int = 80) -> Resolved:
    """Ask for what is answered before `resolve` returns."""
    answers: list[Resolved] = []
    resolver.resolve(host, port, "app_a", answers.append)
    (answer,) = answers
    return answer


def test_a_name_is_resolved_to_all_of_its_addresses_in_their_order() -> None:
    async def main() -> None:
        table = Table(example_com=[[OTHER, SIXTH, PUBLIC, OTHER, f"::ffff:{PUBLIC}"]])
        async with resolver_of(table) as resolver:
            assert await ask(resolver, "example.com") == Addresses((OTHER, SIXTH, PUBLIC))
        assert table.asked == ["example.com"]
        assert table.threads == {"tarry-resolve"}

    run(main)


def test_an_unknown_name_is_answered_later_and_a_known_one_at_once() -> None:
    async def main() -> None:
        table = Table(example_com=[[PUBLIC], [OTHER]])
        async with resolver_of(table) as resolver:
            answers: list[Resolved] = []
            resolver.resolve("example.com", 80, "app_a", answers.append)
            assert not answers
            assert await ask(resolver, "example.com") == Addresses((PUBLIC,))
            assert answers == [Addresses((PUBLIC,))]
            assert at_once(resolver, "example.com", 81) == Addresses((PUBLIC,))
        assert table.asked == ["example.com"]

    run(main)


def test_answers_come_on_the_event_loops_thread() -> None:
    async def main() -> None:
        async with resolver_of(Table(example_com=[[PUBLIC]])) as resolver:
            seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            resolver.resolve(
                "example.com", 80, "app_a", lambda _: seen.set_result(threading.get_ident())
            )
            assert await seen == threading.get_ident()

    run(main)


def test_a_good_answer_is_known_for_half_a_minute() -> None:
    async def main() -> None:
        clock = PushedClock()
        async with resolver_of(Table(a_b=[[PUBLIC], [OTHER]]), clock=clock) as resolver:
            assert await ask(resolver, "a.b") == Addresses((PUBLIC,))
            clock.push(29.99)
            assert at_once(resolver, "a.b") == Addresses((PUBLIC,))
            clock.push(0.01)
            assert await ask(resolver, "a.b") == Addresses((OTHER,))

    run(main)


def test_a_bad_answer_is_known_for_five_seconds() -> None:
    async def main() -> None:
        clock = PushedClock()
        table = Table(a_b=[socket.gaierror(socket.EAI_NONAME, "?"), [OTHER]])
        async with resolver_of(table, clock=clock) as resolver:
            unknown = Unresolved(Kind.DNS, "the name is not known")
            assert await ask(resolver, "a.b") == unknown
            clock.push(4.99)
            assert at_once(resolver, "a.b") == unknown
            clock.push(0.01)
            assert await ask(resolver, "a.b") == Addresses((OTHER,))

    run(main)


@pytest.mark.parametrize(
    ("failure", "detail"),
    [
        (socket.gaierror(socket.EAI_NONAME, "x"), "the name is not known"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "the name servers did not answer"),
        (socket.gaierror(socket.EAI_FAIL, "x"), "the name could not be resolved"),
        (OSError("10.0.0.53 did not answer"), "the name could not be resolved"),
        (UnicodeError("label too long"), "the name could not be resolved"),
        (ZeroDivisionError("10.0.0.53"), "the name could not be resolved"),
        ([], "the name has no address"),
    ],
    ids=repr,
)
def test_a_failure_is_told_by_its_class(failure: Exception | list[str], detail: str) -> None:
    async def main() -> None:
        async with resolver_of(Table(a_b=[failure], c_d=[[PUBLIC]])) as resolver:
            assert await ask(resolver, "a.b") == Unresolved(Kind.DNS, detail)
            assert await ask(resolver, "c.d") == Addresses((PUBLIC,)), "the thread lives on"

    run(main)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        [PUBLIC, "10.0.0.1"],
        ["10.0.0.1", PUBLIC],
        [PUBLIC, "::1"],
        [PUBLIC, SIXTH, "fd00::1"],
        [PUBLIC, "fe80::1%eth0"],
        [PUBLIC, "::ffff:10.0.0.1"],
        [PUBLIC, "64:ff9b::a00:1"],
        [PUBLIC, "what is this"],
        [*(f"93.184.216.{number}" for number in range(200)), "169.254.169.254"],
    ],
    ids=lambda addresses: addresses[-1],
)
def test_one_address_that_must_not_be_called_refuses_the_name(addresses: list[str]) -> None:
    async def main() -> None:
        async with resolver_of(Table(a_b=[addresses])) as resolver:
            assert await ask(resolver, "a.b") == BLOCKED
            assert at_once(resolver, "a.b") == BLOCKED

    run(main)


def test_a_refusal_tells_nothing_about_where_the_name_leads() -> None:
    async def main() -> None:
        names = {"a_b": "127.0.0.1", "c_d": "10.1.2.3", "e_f": "fd00::7", "g_h": "169.254.169.254"}
        table = Table()
        table.answers = {name.replace("_", "."): [[there]] for name, there in names.items()}
        async with resolver_of(table) as resolver:
            answers = {await ask(resolver, name.replace("_", ".")) for name in names}
            assert answers == {BLOCKED}

    run(main)


def test_a_name_that_leads_elsewhere_later_is_checked_anew() -> None:
    async def main() -> None:
        clock = PushedClock()
        table = Table(a_b=[[PUBLIC], ["127.0.0.1"], [PUBLIC, "127.0.0.1"], [OTHER]])
        async with resolver_of(table, clock=clock) as resolver:
            answers = []
            for _ in range(4):
                answers.append(await ask(resolver, "a.b"))
                clock.push(30)
        assert answers == [Addresses((PUBLIC,)), BLOCKED, BLOCKED, Addresses((OTHER,))]

    run(main)


def test_an_allowed_network_can_be_reached_by_name() -> None:
    async def main() -> None:
        egress = Egress.of(["10.0.0.0/8"])
        async with resolver_of(Table(db=[["10.0.0.5"]], dc=[["10.0.0.5", "::1"]]), egress) as one:
            assert await ask(one, "db") == Addresses(("10.0.0.5",))
            assert await ask(one, "dc") == BLOCKED

    run(main)


def test_the_service_itself_is_refused_on_its_own_port_only() -> None:
    async def main() -> None:
        egress = Egress.of(["127.0.0.0/8"], own=["127.0.0.1:8400"])
        table = Table(localhost=[["127.0.0.1"]])
        async with resolver_of(table, egress) as resolver:
            asking = [ask(resolver, "localhost", port) for port in (8400, 80)]
            assert await asyncio.gather(*asking) == [BLOCKED, Addresses(("127.0.0.1",))]
            assert at_once(resolver, "localhost", 8400) == BLOCKED
            assert at_once(resolver, "localhost", 81) == Addresses(("127.0.0.1",))
        assert table.asked == ["localhost"]

    run(main)


def test_an_address_is_answered_at_once_without_a_thread() -> None:
    async def main() -> None:
        table = Table()
        async with resolver_of(table, Egress.of(["127.0.0.0/8"])) as resolver:
            for _ in range(2):
                assert at_once(resolver, PUBLIC) == Addresses((PUBLIC,))
                assert at_once(resolver, SIXTH) == Addresses((SIXTH,))
                assert at_once(resolver, "127.0.0.1") == Addresses(("127.0.0.1",))
                assert at_once(resolver, "::ffff:127.0.0.1") == Addresses(("127.0.0.1",))
                assert at_once(resolver, "10.0.0.1") == BLOCKED
                assert at_once(resolver, "::1") == BLOCKED
        assert not table.asked

    run(main)


def test_what_is_known_is_not_judged_again_until_it_is_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[tuple[str, int]] = []
    permits = Egress.permits

    def noted(egress: Egress, address: str, port: int) -> bool:
        judged.append((address, port))
        return permits(egress, address, port)

    monkeypatch.setattr(Egress, "permits", noted)

    async def main() -> None:
        clock = PushedClock()
        async with resolver_of(Table(a_b=[[OTHER]]), clock=clock) as resolver:
            await ask(resolver, "a.b", 80)
            for port in (80, 81, 80, 81):
                at_once(resolver, "a.b", port)
                at_once(resolver, PUBLIC, port)
            assert sorted(judged) == [
                (there, port) for there in (PUBLIC, OTHER) for port in (80, 81)
            ]
            clock.push(30)
            at_once(resolver, PUBLIC, 80)
            assert len(judged) == 5

    run(main)


def test_of_a_host_with_very_many_ports_only_the_last_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[int] = []
    permits = Egress.permits

    def noted(egress: Egress, address: str, port: int) -> bool:
        judged.append(port)
        return permits(egress, address, port)

    monkeypatch.setattr(Egress, "permits", noted)

    async def main() -> None:
        async with resolver_of(Table()) as resolver:
            ports = range(1000, 1000 + MOST_PORTS + 1)
            for port in [*ports, ports[-1], ports[1], ports[0]]:
                assert at_once(resolver, PUBLIC, port) == Addresses((PUBLIC,))
            assert judged == [*ports, ports[0]]

    run(main)


def test_no_more_than_eight_addresses_are_given() -> None:
    async def main() -> None:
        many = [f"93.184.216.{number}" for number in range(20)]
        async with resolver_of(Table(a_b=[many])) as resolver:
            assert await ask(resolver, "a.b") == Addresses(tuple(many[:8]))

    run(main)


def test_who_asks_for_a_name_that_is_being_looked_up_waits_for_that_answer() -> None:
    async def main() -> None:
        held = Held("a.b")
        async with resolver_of(held) as resolver:
            askers = [asyncio.create_task(ask(resolver, "a.b", port)) for port in range(50, 150)]
            await begun(held)
            held.let_go()
            assert set(await asyncio.gather(*askers)) == {Addresses((PUBLIC,))}
        assert held.asked == [("a.b", "tarry-resolve")]

    run(main)


async def begun(held: Held, count: int = 1) -> None:
    """Wait until so many more lookups have begun."""
    for _ in range(count):
        assert await asyncio.to_thread(held.begun.acquire, timeout=60)


LATE = Unresolved(Kind.DNS, "the name was not resolved within 5 s")


class Threads:
    """Threads that end their look-ups when the test says so."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], None]] = []

    def do(self, job: Callable[[], None]) -> None:
        self.jobs.append(job)

    def close(self) -> None:
        self.jobs.clear()


def test_that_a_name_takes_too_long_is_known_for_five_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = Threads()
    monkeypatch.setattr(lookups, "Threads", lambda *_: threads)

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        resolver = Resolver(Egress.of(), lookup=lambda _: [PUBLIC], clock=clock)
        assert await ask(resolver, "slow.b") == LATE
        await asyncio.sleep(4.9)
        assert at_once(resolver, "slow.b") == LATE
        await asyncio.sleep(0.2)
        again = asyncio.create_task(ask(resolver, "slow.b"))
        await asyncio.sleep(1)
        (job,) = threads.jobs
        job()
        assert await again == Addresses((PUBLIC,))
        assert at_once(resolver, "slow.b") == Addresses((PUBLIC,))
        resolver.close()

    run_virtual(main())


def test_the_names_of_one_owner_do_not_keep_another_waiting() -> None:
    hung = [f"hung{number}.b" for number in range(40)]

    async def main() -> None:
        held = Held(*hung)
        async with resolver_of(held) as resolver:
            for host in hung:
                resolver.resolve(host, 80, "app_b", lambda _: None)
            assert await ask(resolver, "quick.b") == Addresses((PUBLIC,))
            held.let_go()

    run(main)


def test_the_time_limit_is_kept_by_the_event_loop() -> None:
    async def main() -> None:
        held = Held("slow.b")
        resolver = Resolver(Egress.of(), lookup=held, timeout=0.02)
        late = Unresolved(Kind.DNS, "the name was not resolved within 0.02 s")
        assert await ask(resolver, "slow.b") == late
        held.let_go()
        resolver.close()

    run(main)


def test_closing_answers_all_who_wait_and_ends_the_threads() -> None:
    async def main() -> None:
        held = Held("slow.b")
        async with resolver_of(held) as resolver:
            asking = asyncio.create_task(ask(resolver, "slow.b"))
            assert await asyncio.to_thread(held.begun.acquire, timeout=60)
            resolver.close()
            detail = "the sender was closed before the name was resolved"
            closed = Unresolved(Kind.DNS, detail, local=True)
            assert await asking == closed
            assert at_once(resolver, "other.b") == closed
            assert at_once(resolver, "slow.b") == closed
            assert at_once(resolver, PUBLIC) == Addresses((PUBLIC,))
            held.let_go()
            for thread in threading.enumerate():
                if thread.name.startswith("tarry-resolve"):
                    thread.join(60)
                    assert not thread.is_alive()

    run(main)


def test_a_lookup_may_outlive_the_event_loop() -> None:
    held = Held("slow.b")

    async def main() -> list[threading.Thread]:
        resolver = Resolver(Egress.of(), lookup=held)
        resolver.resolve("slow.b", 80, "app_a", lambda _: None)
        assert await asyncio.to_thread(held.begun.acquire, timeout=60)
        resolver.close()
        return [each for each in threading.enumerate() if each.name == "tarry-resolve"]

    threads = asyncio.run(main())
    held.let_go()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_too_many_names_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MOST_LOOKUPS", 3)

    async def main() -> None:
        held = Held("a.b", "c.d")
        async with resolver_of(held) as resolver:
            asking = [asyncio.create_task(ask(resolver, host)) for host in ("a.b", "c.d", "a.b")]
            await asyncio.sleep(0)
            detail = "too many names are being resolved just now"
            crowded = Unresolved(Kind.DNS, detail, local=True)
            assert at_once(resolver, "e.f") == crowded
            held.let_go()
            assert set(await asyncio.gather(*asking)) == {Addresses((PUBLIC,))}
            assert await ask(resolver, "e.f") == Addresses((PUBLIC,))

    run(main)


def test_the_oldest_of_too_many_known_names_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "MOST_CACHED", 2)

    async def main() -> None:
        table = Table(a_b=[[PUBLIC]], c_d=[[PUBLIC]], e_f=[[PUBLIC]])
        clock = PushedClock()
        async with resolver_of(table, clock=clock) as resolver:
            await ask(resolver, "a.b")
            clock.push(29)
            await ask(resolver, "c.d")
            clock.push(1)
            await ask(resolver, "a.b")  # anew, so it is the youngest
            await ask(resolver, "e.f")
            assert at_once(resolver, "a.b") == at_once(resolver, "e.f") == Addresses((PUBLIC,))
            await ask(resolver, "c.d")
        assert table.asked == ["a.b", "c.d", "a.b", "e.f", "c.d"]

    run(main)


@pytest.fixture
def trap() -> Iterator[socket.socket]:
    """Listen for whoever gets past the guard."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        yield listening


async def call(resolver: Resolver, egress: Egress, url: str) -> bool:
    """Do what a sender does, and say whether it came as far as to connect."""
    try:
        target = egress.target(url)
    except (EgressRefused, SettingsError):
        return False
    found = await ask(resolver, target.host, target.port)
    if not isinstance(found, Addresses):
        return False
    for address in found.addresses:
        try:
            socket.create_connection((address, target.port), timeout=1).close()
        except OSError:
            continue
    return True


@pytest.mark.parametrize("corpus", ["listed", "generated"])
def test_no_spelling_makes_a_connection_to_a_trap(corpus: str, trap: socket.socket) -> None:
    port = trap.getsockname()[1]
    urls = listed_urls(port) if corpus == "listed" else generated_urls(10_000, port, seed=3)

    async def main() -> None:
        strict, lax = Egress.of(), Egress.of(["127.0.0.0/8"])
        resolver = Resolver(strict)
        for url in urls:
            assert not await call(resolver, strict, url), url
        with pytest.raises(BlockingIOError):
            trap.accept()
        resolver.close()
        open_to_all = Resolver(lax)
        assert await call(open_to_all, lax, f"http://127.0.0.1:{port}/"), "the trap works"
        trap.accept()[0].close()
        open_to_all.close()

    run(main)


def test_hosts_libc_reads_are_refused_by_the_resolver_alone(trap: socket.socket) -> None:
    """Even if a URL got past the reading of URLs, the addresses it leads to are checked."""
    port = trap.getsockname()[1]
    hosts = ("127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0", "localhost", "0x7f000001")

    async def main() -> None:
        resolver = Resolver(Egress.of())
        for host in (*hosts, "127.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"):
            assert await ask(resolver, host, port) == BLOCKED, host
        resolver.close()

    run(main)
