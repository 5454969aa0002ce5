"""Every job gets an answer, readers wait for no writer, and closing leaves nothing behind."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Thread, current_thread, get_ident

import apsw
import pytest

from tarry.errors import NotFound, StoreError, StoreUnavailable
from tarry.service.store.kinds import Environment, Environments
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Job, JobThread, Nudges, Reader, Threads
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_read_does_not_wait_for_a_write(threads: Threads) -> None:
    begun, go_on = Event(), Event()

    def work(session: Session) -> None:
        session.db.execute("INSERT INTO environment VALUES ('org_1', NULL)")
        begun.set()
        go_on.wait()

    writing = asyncio.create_task(threads.write(work))
    await asyncio.to_thread(begun.wait)
    for read in (threads.read, threads.browse, threads.survey):
        assert await read(lambda db: db.execute("SELECT count(*) FROM environment").get) == 0
    go_on.set()
    await writing
    for read in (threads.read, threads.browse):
        assert await read(lambda db: db.execute("SELECT count(*) FROM environment").get) == 1


async def test_the_dispatcher_does_not_wait_for_whoever_looks_around(threads: Threads) -> None:
    begun, go_on = Event(), Event()

    def look(_: object) -> bool:
        begun.set()
        return go_on.wait()

    looking = asyncio.create_task(threads.browse(look))
    await asyncio.to_thread(begun.wait)
    assert await threads.read(lambda db: db.execute("SELECT 1").get) == 1
    go_on.set()
    assert await looking


async def test_closing_ends_the_threads_and_copies_the_log_into_the_file(
    threads: Threads, path: Path
) -> None:
    threads.lock.take("worker-1")
    await threads.write(lambda session: session.db.execute("SELECT 1").get)
    names = {"tarry-writer", "tarry-reader", "tarry-browser", "tarry-surveyor"}
    running = [thread for thread in threading.enumerate() if thread.name in names]
    assert {thread.name for thread in running} == names
    await threads.close()
    assert not [thread for thread in running if thread.is_alive()]
    assert left_beside(path) == ["hooks.db-dispatcher"]
    assert threads.lock.workers == frozenset()


def left_beside(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if file != path)


Waiting = asyncio.Task[object]


class Echo(JobThread[str]):
    """Runs jobs on a word, and notes which jobs came in one batch."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.left = False
        self.waits: float | None = None
        self.idled = Event()
        super().__init__("echo")

    def serve(self, jobs: list[Job[str]]) -> None:
        if jobs:
            self.batches.append(len(jobs))
        for job in jobs:
            try:
                job.answer = job.work("word")
            except ValueError as error:
                job.error = error

    def patience(self) -> float | None:
        return self.waits

    def idle(self) -> None:
        self.idled.set()

    def leave(self) -> None:
        self.left = True


async def keep_busy(echo: Echo, after: Callable[[str], object] = str) -> tuple[Waiting, Event]:
    """Keep the thread busy until the event is set; then it runs `after`."""
    begun, go_on = Event(), Event()

    def work(word: str) -> object:
        begun.set()
        go_on.wait()
        return after(word)

    waiting = asyncio.create_task(echo.do(work))
    await asyncio.to_thread(begun.wait)
    return waiting, go_on


def note(order: list[int], number: int, _: str) -> None:
    order.append(number)


def refuse(word: str) -> str:
    raise ValueError(word)


def die(_: str) -> str:
    raise SystemError("the roof is on fire")


async def test_work_is_done_on_the_thread_and_its_answer_comes_back() -> None:
    echo = Echo()
    assert await echo.do(lambda word: (word, current_thread().name)) == ("word", "echo")
    await echo.close()


async def test_what_is_asked_meanwhile_is_taken_together_and_in_order() -> None:
    echo = Echo()
    first, go_on = await keep_busy(echo)
    order: list[int] = []
    rest = [asyncio.create_task(echo.do(partial(note, order, n))) for n in range(50)]
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(first, *rest)
    assert order == list(range(50))
    assert echo.batches == [1, 50]
    await echo.close()


async def test_an_error_is_the_callers_own() -> None:
    echo = Echo()
    with pytest.raises(ValueError, match="word"):
        await echo.do(refuse)
    assert await echo.do(lambda word: word) == "word"
    await echo.close()


async def test_a_thread_that_dies_answers_all_who_wait_and_all_who_come_later() -> None:
    echo = Echo()
    first, go_on = await keep_busy(echo, die)
    rest = [asyncio.create_task(echo.do(lambda word: word)) for _ in range(3)]
    await asyncio.sleep(0)
    go_on.set()
    for waiting in (first, *rest):
        with pytest.raises(StoreError, match=r"thread echo died: .*the roof is on fire"):
            await waiting
    with pytest.raises(StoreError, match="the roof is on fire"):
        await echo.do(lambda word: word)
    await echo.close()
    assert echo.left


async def test_what_was_cancelled_before_its_turn_is_not_done() -> None:
    echo = Echo()
    first, go_on = await keep_busy(echo)
    done: list[str] = []
    second = asyncio.create_task(echo.do(done.append))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    go_on.set()
    await first
    await echo.close()
    assert done == []


async def test_what_is_cancelled_while_it_is_done_disturbs_nobody() -> None:
    echo = Echo()
    waiting, go_on = await keep_busy(echo)
    waiting.cancel()
    await asyncio.wait([waiting])
    go_on.set()
    assert await echo.do(lambda word: word) == "word"
    await echo.close()


async def test_closing_does_what_was_handed_in_and_ends_the_thread() -> None:
    echo = Echo()
    handed_in = [asyncio.create_task(echo.do(lambda word: word)) for _ in range(10)]
    await asyncio.sleep(0)
    await echo.close()
    assert await asyncio.gather(*handed_in) == ["word"] * 10
    assert echo.left
    assert "echo" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(StoreError, match="the store is closed"):
        await echo.do(lambda word: word)
    await echo.close()


async def test_a_line_with_patience_is_idle_now_and_then() -> None:
    echo = Echo()
    echo.waits = 0.001
    echo.wake_thread()
    assert await asyncio.to_thread(echo.idled.wait, 10)
    await echo.close()


def test_a_caller_whose_loop_is_gone_is_passed_over() -> None:
    async def begin() -> tuple[Echo, Event]:
        echo = Echo()
        waiting, go_on = await keep_busy(echo)
        waiting.cancel()
        return echo, go_on

    echo, go_on = asyncio.run(begin())
    go_on.set()
    asyncio.run(echo.close())
    assert echo.left


async def test_in_a_process_that_was_forked_the_line_says_so_instead_of_being_silent() -> None:
    echo = Echo()
    own_thread, echo._thread = echo._thread, Thread()  # noqa: SLF001  as a fork leaves it
    with pytest.raises(StoreError, match="before this process was forked"):
        await echo.do(str.upper)
    echo._thread = own_thread  # noqa: SLF001  as it was
    await echo.close()


def count(db: apsw.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM environment").get)


async def test_one_read_sees_one_state_of_things(store: SqliteStore, path: Path) -> None:
    reader = Reader(path, "reader")
    between, go_on = Event(), Event()

    def twice(db: apsw.Connection) -> tuple[int, int]:
        first = count(db)
        between.set()
        go_on.wait()
        return first, count(db)

    reading = asyncio.create_task(reader.do(twice))
    await asyncio.to_thread(between.wait)
    await store.put(Environment("org_1"))
    go_on.set()
    assert await reading == (0, 0)
    assert await reader.do(count) == 1
    await reader.close()


async def test_an_error_ends_one_read_only(store: SqliteStore, path: Path) -> None:
    await store.check()
    reader = Reader(path, "reader")

    def miss(db: apsw.Connection) -> None:
        raise NotFound("reader", str(count(db)))

    with pytest.raises(NotFound):
        await reader.do(miss)
    with pytest.raises(StoreError, match="no such table: nowhere"):
        await reader.do(lambda db: db.execute("SELECT * FROM nowhere"))
    with pytest.raises(StoreUnavailable, match="it is read-only"):
        await reader.do(lambda db: db.execute("DELETE FROM origin"))
    assert await reader.do(count) == 0
    await reader.close()


async def test_a_file_that_is_not_there_yet_is_tried_again(path: Path) -> None:
    reader = Reader(path, "reader")
    with pytest.raises(StoreUnavailable, match="it cannot be opened"):
        await reader.do(count)
    from_now_on = await asyncio.to_thread(apsw.Connection, str(path))
    from_now_on.execute("CREATE TABLE environment (id)")
    assert await reader.do(count) == 0
    from_now_on.close()
    await reader.close()


async def test_a_lane_that_another_process_wakes_is_noticed(
    scene: Scene, other: SqliteStore
) -> None:
    heard = asyncio.Event()
    scene.store.listen(heard.set)
    await other.put(scene.endpoint)
    await asyncio.wait_for(heard.wait(), 60)
    assert await scene.store.woken(scene.leases) == [scene.lane]


async def test_it_is_noticed_also_while_there_is_much_to_read(
    scene: Scene, other: SqliteStore
) -> None:
    heard = asyncio.Event()
    scene.store.listen(heard.set)

    async def read_on() -> None:
        while not heard.is_set():
            await scene.store.server()

    reading = asyncio.create_task(read_on())
    await other.put(scene.endpoint)
    await asyncio.wait_for(reading, 60)


async def test_a_lane_that_is_woken_here_is_told_at_once(scene: Scene) -> None:
    await scene.rest()
    heard: list[str] = []
    scene.store.listen(lambda: heard.append("nudge"))
    await scene.add()
    await asyncio.sleep(0)
    assert heard


async def test_listening_to_a_file_that_is_gone_goes_on(
    scene: Scene, other: SqliteStore, path: Path
) -> None:
    reader = Reader(path.with_name("gone.db"), "reader")
    nudged = Event()
    reader.watch(nudged.set)
    await asyncio.to_thread(reader.idle)
    assert not nudged.is_set()
    await reader.close()
    assert [environment.id for environment in await other.read(Environments())] == [
        environment.id for environment in await scene.store.read(Environments())
    ]


async def test_a_nudge_comes_on_the_loops_thread_whoever_calls() -> None:
    nudges = Nudges()
    heard: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    nudges.add(lambda: heard.set_result(get_ident()))
    await asyncio.to_thread(nudges)
    assert await heard == get_ident()


async def test_all_who_listen_hear_it() -> None:
    nudges = Nudges()
    heard: list[str] = []
    nudges.add(lambda: heard.append("first"))
    nudges.add(lambda: heard.append("second"))
    nudges()
    assert heard == []
    await asyncio.sleep(0)
    assert heard == ["first", "second"]


def test_a_listener_whose_loop_is_closed_is_passed_over() -> None:
    nudges = Nudges()

    async def listen() -> None:
        nudges.add(lambda: None)

    asyncio.run(listen())
    nudges()
