import socket
import threading
from threading import Barrier, Event, Semaphore

import pytest

from tarry.core.outcome import Kind
from tarry.service.wire.lookup import Threads, Unresolved, find, look_up


@pytest.fixture
def threads() -> Threads:
    return Threads(3, "tarry-test")


def alive() -> int:
    return sum(thread.name == "tarry-test" for thread in threading.enumerate())


def all_ended() -> bool:
    for thread in threading.enumerate():
        if thread.name == "tarry-test":
            thread.join(60)
    return alive() == 0


def test_all_addresses_of_a_name_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def getaddrinfo(*args: object, **named: object) -> list[tuple[object, ...]]:
        asked.append((args, named))
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 0)),
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2606:4700::1", 0, 0, 0)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert look_up("example.com") == ["93.184.216.34", "2606:4700::1"]
    # Without AI_ADDRCONFIG: an address that cannot be reached from here is still checked.
    assert asked == [(("example.com", None), {"type": socket.SOCK_STREAM})]


def test_the_system_is_asked() -> None:
    assert look_up("127.1") == ["127.0.0.1"], "libc reads it so: hence the guard"
    assert set(look_up("localhost")) <= {"127.0.0.1", "::1"}
    with pytest.raises(socket.gaierror):
        look_up("nothing.invalid")


@pytest.mark.parametrize(
    ("failure", "detail"),
    [
        (socket.gaierror(socket.EAI_NONAME, "x"), "the name is not known"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "the name servers did not answer"),
        (OSError("10.0.0.53"), "the name could not be resolved"),
        (ZeroDivisionError("10.0.0.53"), "the name could not be resolved"),
    ],
    ids=repr,
)
def test_what_a_look_up_raises_is_an_answer_without_addresses(
    failure: Exception, detail: str
) -> None:
    def fail(_: str) -> list[str]:
        raise failure

    assert find(fail, "a.b") == Unresolved(Kind.DNS, detail)


def test_what_a_look_up_finds_is_an_answer() -> None:
    assert find(lambda host: [host, "b"], "a") == ("a", "b")
    assert find(lambda _: [], "a") == Unresolved(Kind.DNS, "the name has no address")


def test_jobs_are_done_by_daemons(threads: Threads) -> None:
    done = Event()
    seen: list[threading.Thread] = []

    def job() -> None:
        seen.append(threading.current_thread())
        done.set()

    threads.do(job)
    assert done.wait(60)
    (thread,) = seen
    assert thread.daemon
    assert thread.name == "tarry-test"
    threads.close()
    assert all_ended()


def test_no_more_threads_are_begun_than_allowed_and_all_jobs_done(threads: Threads) -> None:
    together, done = Barrier(4), Semaphore(0)  # three at a time, and this test

    def job() -> None:
        together.wait(60)
        done.release()

    for _ in range(9):
        threads.do(job)
    for _ in range(3):
        assert alive() == 3
        together.wait(60)
    for _ in range(9):
        assert done.acquire(timeout=60)
    threads.close()
    assert all_ended()


def test_an_idle_thread_is_used_again(threads: Threads) -> None:
    idents = set()
    for _ in range(20):
        done = Event()

        def job(done: Event = done) -> None:
            idents.add(threading.get_ident())
            done.set()

        threads.do(job)
        assert done.wait(60)
        idle(threads, 1)
    assert len(idents) == alive() == 1
    threads.close()
    assert all_ended()


def idle(threads: Threads, count: int) -> None:
    """Wait until so many threads have nothing to do."""
    while threads._idle != count:  # noqa: SLF001  they are on their way back
        Event().wait(0.001)


def test_two_jobs_do_not_wait_for_one_idle_thread() -> None:
    together = Barrier(3)

    def job() -> None:
        together.wait(60)

    for _ in range(30):
        threads = Threads(2, "tarry-test")
        threads.do(lambda: None)
        idle(threads, 1)
        threads.do(job)
        threads.do(job)
        together.wait(60)
        threads.close()
        assert all_ended()


def test_idle_threads_are_enough_for_as_many_jobs(threads: Threads) -> None:
    together = Barrier(3)

    def job() -> None:
        together.wait(60)

    for _ in range(3):
        threads.do(job)
        threads.do(job)
        together.wait(60)
        idle(threads, 2)
    assert alive() == 2
    threads.close()
    assert all_ended()


def test_a_stuck_job_leaves_the_other_threads_free(threads: Threads) -> None:
    stuck, done = Event(), Event()

    def job() -> None:
        stuck.wait(60)

    threads.do(job)
    threads.do(job)
    threads.do(done.set)
    assert done.wait(60)
    stuck.set()
    threads.close()
    assert all_ended()


def test_after_closing_what_waits_is_not_done(threads: Threads) -> None:
    begun, stuck = Semaphore(0), Event()
    done = []

    def job() -> None:
        begun.release()
        stuck.wait(60)

    for _ in range(3):
        threads.do(job)
    for _ in range(3):
        assert begun.acquire(timeout=60)
    threads.do(lambda: done.append(1))
    threads.close()
    stuck.set()
    assert all_ended()
    assert not done


@pytest.mark.parametrize("error", [socket.EAI_NONAME, socket.EAI_AGAIN])
def test_the_host_of_containers_is_this_machine_if_nobody_knows_better(
    error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getaddrinfo(*_args: object, **_named: object) -> list[object]:
        raise socket.gaierror(error, "no")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert look_up("host.docker.internal") == ["127.0.0.1"]
    with pytest.raises(OSError, match="no"):
        look_up("gateway.docker.internal")
