"""Whatever is handed to a line gets an answer, in order, also when its thread dies."""

import asyncio
from collections.abc import Callable
from functools import partial
from threading import Event, Thread, current_thread
from threading import enumerate as threads

import pytest

from tarry.errors import StoreError
from tarry.service.store.sqlite.line import Job, Line

pytestmark = pytest.mark.anyio

Waiting = asyncio.Task[object]


class Echo(Line[str]):
    """Works with a word, and writes down which jobs came together."""

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


async def keep_busy(line: Echo, after: Callable[[str], object] = str) -> tuple[Waiting, Event]:
    """Let the thread work on something until the event is set; then it does `after`."""
    begun, go_on = Event(), Event()

    def work(word: str) -> object:
        begun.set()
        go_on.wait()
        return after(word)

    waiting = asyncio.create_task(line.do(work))
    await asyncio.to_thread(begun.wait)
    return waiting, go_on


def note(order: list[int], number: int, _: str) -> None:
    order.append(number)


def refuse(word: str) -> str:
    raise ValueError(word)


def die(_: str) -> str:
    raise SystemError("the roof is on fire")


async def test_work_is_done_on_the_thread_and_its_answer_comes_back() -> None:
    line = Echo()
    assert await line.do(lambda word: (word, current_thread().name)) == ("word", "echo")
    await line.close()


async def test_what_is_asked_meanwhile_is_taken_together_and_in_order() -> None:
    line = Echo()
    first, go_on = await keep_busy(line)
    order: list[int] = []
    rest = [asyncio.create_task(line.do(partial(note, order, n))) for n in range(50)]
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(first, *rest)
    assert order == list(range(50))
    assert line.batches == [1, 50]
    await line.close()


async def test_an_error_is_the_callers_own() -> None:
    line = Echo()
    with pytest.raises(ValueError, match="word"):
        await line.do(refuse)
    assert await line.do(lambda word: word) == "word"
    await line.close()


async def test_a_thread_that_dies_answers_all_who_wait_and_all_who_come_later() -> None:
    line = Echo()
    first, go_on = await keep_busy(line, die)
    rest = [asyncio.create_task(line.do(lambda word: word)) for _ in range(3)]
    await asyncio.sleep(0)
    go_on.set()
    for waiting in (first, *rest):
        with pytest.raises(StoreError, match=r"thread echo died: .*the roof is on fire"):
            await waiting
    with pytest.raises(StoreError, match="the roof is on fire"):
        await line.do(lambda word: word)
    await line.close()
    assert line.left


async def test_what_was_cancelled_before_its_turn_is_not_done() -> None:
    line = Echo()
    first, go_on = await keep_busy(line)
    done: list[str] = []
    second = asyncio.create_task(line.do(done.append))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    go_on.set()
    await first
    await line.close()
    assert done == []


async def test_what_is_cancelled_while_it_is_done_disturbs_nobody() -> None:
    line = Echo()
    waiting, go_on = await keep_busy(line)
    waiting.cancel()
    await asyncio.wait([waiting])
    go_on.set()
    assert await line.do(lambda word: word) == "word"
    await line.close()


async def test_closing_does_what_was_handed_in_and_ends_the_thread() -> None:
    line = Echo()
    handed_in = [asyncio.create_task(line.do(lambda word: word)) for _ in range(10)]
    await asyncio.sleep(0)
    await line.close()
    assert await asyncio.gather(*handed_in) == ["word"] * 10
    assert line.left
    assert "echo" not in {thread.name for thread in threads()}
    with pytest.raises(StoreError, match="the store is closed"):
        await line.do(lambda word: word)
    await line.close()


async def test_a_line_with_patience_is_idle_now_and_then() -> None:
    line = Echo()
    line.waits = 0.001
    line.stir()
    assert await asyncio.to_thread(line.idled.wait, 10)
    await line.close()


def test_a_caller_whose_loop_is_gone_is_passed_over() -> None:
    async def begin() -> tuple[Echo, Event]:
        line = Echo()
        waiting, go_on = await keep_busy(line)
        waiting.cancel()
        return line, go_on

    line, go_on = asyncio.run(begin())
    go_on.set()
    asyncio.run(line.close())
    assert line.left


async def test_in_a_process_that_was_forked_the_line_says_so_instead_of_being_silent() -> None:
    line = Echo()
    there, line._thread = line._thread, Thread()  # noqa: SLF001  as a fork leaves it
    with pytest.raises(StoreError, match="before this process was forked"):
        await line.do(str.upper)
    line._thread = there  # noqa: SLF001  as it was
    await line.close()
