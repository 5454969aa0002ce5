from collections.abc import Callable, Hashable

import pytest

from tarry.service.wire.pool import Pool


class Rested:
    """A connection as far as a pool knows one."""

    def __init__(self, key: Hashable, rested_at: float = 0.0) -> None:
        self.key = key
        self.rested_at = rested_at
        self.open = True

    def usable(self) -> bool:
        return self.open

    def close(self) -> None:
        self.open = False


class Turns:
    """The timer of the pool: turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.call: Callable[[], None] | None = None

    def clock(self) -> float:
        return self.now

    def later(self, delay: float, call: Callable[[], None]) -> "Turns":
        assert delay > 0
        self.call = call
        return self

    def cancel(self) -> None:
        self.call = None

    def turn(self, now: float) -> None:
        call, self.call, self.now = self.call, None, now
        assert call is not None
        call()


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def pool(turns: Turns) -> Pool[Rested]:
    return Pool(turns.later, turns.clock, most=3, idle_time=30.0)


def test_a_connection_is_taken_once_and_only_under_its_key(pool: Pool[Rested]) -> None:
    connection = Rested("a")
    pool.keep(connection)
    assert pool.take("b") is None
    assert pool.take("a") is connection
    assert pool.take("a") is None
    assert len(pool) == 0


def test_the_one_that_rested_last_is_taken_first(pool: Pool[Rested]) -> None:
    old, new = Rested("a"), Rested("a")
    pool.keep(old)
    pool.keep(new)
    assert pool.take("a") is new
    assert pool.take("a") is old


def test_one_that_closed_meanwhile_is_passed_over(pool: Pool[Rested]) -> None:
    good, closed = Rested("a"), Rested("a")
    pool.keep(good)
    pool.keep(closed)
    closed.close()
    assert pool.take("a") is good
    assert pool.take("a") is None


def test_too_many_close_the_one_that_rests_longest_whatever_its_key(pool: Pool[Rested]) -> None:
    all_four = [Rested(key) for key in "abca"]
    for connection in all_four:
        pool.keep(connection)
    assert [connection.open for connection in all_four] == [False, True, True, True]
    assert pool.take("a") is all_four[3]
    assert pool.take("a") is None


def test_what_rests_too_long_is_closed(pool: Pool[Rested], turns: Turns) -> None:
    old, new = Rested("a", 0.0), Rested("a", 20.0)
    pool.keep(old)
    pool.keep(new)
    opens = []
    for now in (29.0, 30.0, 50.0):
        turns.turn(now)
        opens.append((old.open, new.open))
    assert opens == [(True, True), (False, True), (False, False)]
    assert turns.call is None, "nothing rests, so nothing ticks"


def test_a_lost_one_is_forgotten_and_one_in_use_was_never_there(pool: Pool[Rested]) -> None:
    lost, used = Rested("a"), Rested("a")
    pool.keep(lost)
    pool.forget(lost)
    pool.forget(used)
    assert pool.take("a") is None
    assert len(pool) == 0


def test_it_shrinks_from_the_end_that_rests_longest(pool: Pool[Rested]) -> None:
    three = [Rested(key) for key in "abc"]
    for connection in three:
        pool.keep(connection)
    pool.shrink(1)
    assert [connection.open for connection in three] == [False, False, True]


def test_closed_it_closes_all_and_ticks_no_more(pool: Pool[Rested], turns: Turns) -> None:
    connection = Rested("a")
    pool.keep(connection)
    pool.close()
    assert not connection.open
    assert turns.call is None
