"""Callers share a commit, and still each of them fails alone."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from threading import Event

import apsw
import pytest

from tarry.errors import Conflict, StoreError, StoreUnavailable
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.database.writer import Bulk, Joint, Writer

pytestmark = pytest.mark.anyio


def learn(origin: str, session: Session) -> str:
    """Write a row, to see whether it stays."""
    session.db.execute("INSERT INTO origin VALUES (?, x'00')", (origin,))
    return origin


def refuse(origin: str, session: Session) -> str:
    learn(origin, session)
    raise Conflict("origin", origin)


def learned(path: Path) -> list[str]:
    """Return the origins that were committed, read through another connection."""
    db = connect(path)
    origins = [origin for (origin,) in db.execute("SELECT origin FROM origin ORDER BY origin")]
    db.close()
    return origins


async def keep_busy(threads: Threads) -> tuple[asyncio.Task[object], Event]:
    """Keep the writer busy until the event is set."""
    begun, go_on = Event(), Event()

    def work(_: Session) -> bool:
        begun.set()
        return go_on.wait()

    waiting: asyncio.Task[object] = asyncio.create_task(threads.write(work))
    await asyncio.to_thread(begun.wait)
    return waiting, go_on


async def together(threads: Threads, works: Sequence[Callable[[Session], object]]) -> list[object]:
    """Run several jobs in one commit; return the outcome of each."""
    waiting, go_on = await keep_busy(threads)
    tasks = [asyncio.create_task(threads.write(work)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    await waiting
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_what_is_asked_while_a_commit_runs_shares_the_next_one(
    threads: Threads, path: Path
) -> None:
    def log_size(_: Session) -> int:
        return path.with_name("hooks.db-wal").stat().st_size

    before = await threads.write(log_size)
    await together(threads, [partial(learn, f"{n:02}") for n in range(50)])
    assert len(learned(path)) == 50
    page, pages_of_a_commit = 4096, 8
    assert await threads.write(log_size) - before < pages_of_a_commit * page


async def test_what_fails_in_a_shared_commit_fails_alone(threads: Threads, path: Path) -> None:
    first, refused, twice, last = await together(
        threads,
        [partial(learn, "a"), partial(refuse, "b"), partial(learn, "a"), partial(learn, "c")],
    )
    assert (first, last) == ("a", "c")
    assert isinstance(refused, Conflict)
    assert isinstance(twice, StoreError)
    assert isinstance(twice.__cause__, apsw.ConstraintError)
    assert learned(path) == ["a", "c"]


async def test_what_fails_with_nobody_beside_it_leaves_nothing_behind(
    threads: Threads, path: Path
) -> None:
    with pytest.raises(Conflict):
        await threads.write(partial(refuse, "a"))
    await threads.write(partial(learn, "a"))
    with pytest.raises(StoreError) as twice:
        await threads.write(lambda session: [learn(name, session) for name in ("b", "a")])
    assert isinstance(twice.value.__cause__, apsw.ConstraintError)
    assert await threads.write(partial(learn, "c")) == "c"
    assert learned(path) == ["a", "c"]


async def test_what_fails_alone_is_not_remembered_either(threads: Threads, path: Path) -> None:
    def remember(session: Session) -> None:
        session.db.execute("INSERT INTO origin VALUES ('a', x'00')")
        session._shards[7] = 7  # noqa: SLF001  as if it had been read from what is undone
        raise Conflict("origin", "a")

    with pytest.raises(Conflict):
        await threads.write(remember)
    assert await threads.write(lambda session: session.shard(7)) is None
    assert learned(path) == []


async def test_what_changes_much_goes_first_and_fails_alone_all_the_same(
    threads: Threads, path: Path
) -> None:
    order: list[str] = []

    def noted(origin: str, session: Session) -> str:
        order.append(origin)
        return learn(origin, session)

    works: list[Callable[[Session], object]] = [partial(noted, "a")]
    works += [Bulk(partial(noted, "b")), Bulk(partial(noted, "c"))]
    assert await together(threads, works) == ["a", "b", "c"]
    assert order == ["b", "a", "c"]
    first, refused, last = await together(
        threads, [partial(learn, "d"), Bulk(partial(refuse, "e")), partial(learn, "f")]
    )
    assert (first, last) == ("d", "f")
    assert isinstance(refused, Conflict)
    assert learned(path) == ["a", "b", "c", "d", "f"]


async def test_nobody_hears_of_a_commit_before_it_was_made(threads: Threads, path: Path) -> None:
    committed: list[list[str]] = []
    task = asyncio.create_task(threads.write(partial(learn, "a")))
    task.add_done_callback(lambda _: committed.append(learned(path)))
    await task
    await asyncio.sleep(0)
    assert committed == [["a"]]


async def test_when_the_disk_is_full_all_hear_so_and_nothing_is_kept(
    threads: Threads, path: Path, full_disk: Callable[[], AbstractContextManager[None]]
) -> None:
    await threads.write(partial(learn, "first"))
    with full_disk():
        large = [partial(learn, "x" * 9_000 + str(n)) for n in range(8)]
        answers = await together(threads, [*large, partial(refuse, "refused")])
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 9
    assert learned(path) == ["first"]
    await threads.write(partial(learn, "last"))
    assert learned(path) == ["first", "last"]


async def test_what_sqlite_rolls_back_as_a_whole_fails_for_all_who_share_it(
    threads: Threads, path: Path
) -> None:
    await threads.write(
        lambda session: session.db.pragma("max_page_count", session.db.pragma("page_count"))
    )
    answers = await together(threads, [partial(learn, "small"), partial(learn, "x" * 100_000)])
    for answer in answers:
        assert isinstance(answer, StoreUnavailable)
        assert "the disk is full" in str(answer)
    assert learned(path) == []
    assert await threads.write(partial(learn, "small")) == "small"


async def test_a_lock_of_another_process_is_waited_for_and_then_told(
    threads: Threads, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.store.sqlite.database.connection.LOCK_WAIT_SECONDS", 0.02)
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="another process keeps it locked"):
        await threads.write(partial(learn, "a"))
    other.execute("ROLLBACK")
    other.close()
    assert await threads.write(partial(learn, "a")) == "a"


async def test_a_file_that_was_taken_away_is_not_written_to(threads: Threads, path: Path) -> None:
    await threads.write(partial(learn, "a"))
    away = path.with_name("away.db")
    await asyncio.to_thread(path.rename, away)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"removed or replaced|cannot be opened"):
            await threads.write(partial(learn, "b"))
    await asyncio.to_thread(away.rename, path)
    await threads.write(partial(learn, "c"))
    assert learned(path) == ["a", "c"]


class Count(Joint):
    """Returns how many jobs ran together; the word "bad" makes a job fail."""

    def __init__(self, word: str) -> None:
        self.word = word

    @property
    def weight(self) -> int:
        return 1

    def __call__(self, session: Session) -> object:
        if self.word == "bad":
            raise Conflict("word", self.word)
        learn(self.word, session)
        return 1

    def together(self, works: Sequence["Count"], session: Session) -> list[object]:
        for work in works:
            work(session)
        return [len(works)] * len(works)


async def test_what_many_want_alike_is_done_in_one_go(threads: Threads, path: Path) -> None:
    works: list[Callable[[Session], object]] = [Count("a"), partial(learn, "b"), Count("c")]
    works.append(Count("d"))
    assert await together(threads, works) == [3, "b", 3, 3]
    assert learned(path) == ["a", "b", "c", "d"]


async def test_if_one_of_many_alike_is_bad_the_others_are_done_one_by_one(
    threads: Threads, path: Path
) -> None:
    first, bad, last = await together(threads, [Count("a"), Count("bad"), Count("c")])
    assert (first, last) == (1, 1)
    assert isinstance(bad, Conflict)
    assert learned(path) == ["a", "c"]


class Heavy(Count):
    """The largest weight of one commit."""

    @property
    def weight(self) -> int:
        return Writer.MOST_WEIGHT


async def test_a_commit_is_not_made_longer_than_those_behind_it_can_bear(
    threads: Threads,
) -> None:
    works = [Count("a"), Count("b"), Heavy("c"), Heavy("d"), Count("e"), Count("f")]
    assert await together(threads, works) == [3, 3, 3, 1, 2, 2]
