import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import SettingsError
from tarry.receive.seen import Memory, Seen


class Time:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_an_id_is_new_once() -> None:
    memory: Seen = Memory(clock=Time())
    assert memory.add("a", 1_300.0)
    assert not memory.add("a", 1_300.0)
    assert memory.add("b", 1_300.0)


def test_an_id_is_new_again_when_its_time_is_over() -> None:
    time = Time()
    memory = Memory(clock=time)
    memory.add("a", 1_300.0)
    time.now = 1_300.0
    assert not memory.add("a", 1_300.0)
    time.now = 1_300.1
    assert memory.add("b", 1_600.0)
    assert len(memory) == 1, "what is over takes no room"
    assert memory.add("a", 1_600.0)


def test_one_that_comes_again_is_kept_for_as_long_as_the_later_says() -> None:
    time = Time()
    memory = Memory(clock=time)
    memory.add("a", 1_300.0)
    memory.add("a", 1_500.0)
    memory.add("a", 1_200.0)
    time.now = 1_499.0
    assert not memory.add("a", 1_400.0)
    time.now = 1_501.0
    assert memory.add("a", 1_600.0)


def test_an_id_is_known_while_its_time_lasts() -> None:
    time = Time()
    memory: Seen = Memory(clock=time)
    assert not memory.known("a")
    memory.add("a", 1_300.0)
    assert memory.known("a")
    time.now = 1_300.1
    assert not memory.known("a")


def test_a_full_memory_forgets_the_one_that_ends_first() -> None:
    memory = Memory(2, clock=Time())
    for name, until in (("a", 1_200.0), ("b", 1_100.0), ("c", 1_300.0)):
        assert memory.add(name, until)
    assert len(memory) == 2
    assert not memory.add("a", 1_200.0)
    assert not memory.add("c", 1_300.0)
    assert memory.add("b", 1_400.0)


def test_a_memory_of_nothing_is_refused() -> None:
    with pytest.raises(SettingsError, match="'most' is 0; it must be 1 or more"):
        Memory(0)


def test_a_memory_stays_small_whatever_comes() -> None:
    memory = Memory(10, clock=Time())
    for step in range(10_000):
        memory.add(f"m{step % 7}", 1_000.0 + step)
    assert len(memory) <= 10
    assert sys.getsizeof(memory._ends) < 1_000  # noqa: SLF001  nobody else can see it grow


def test_of_many_threads_only_one_is_told_that_an_id_is_new() -> None:
    memory = Memory(clock=Time())
    together = Barrier(8)

    def add_all() -> int:
        together.wait()
        return sum(memory.add(str(number), 1_300.0) for number in range(500))

    with ThreadPoolExecutor(8) as pool:
        told = [pool.submit(add_all) for _ in range(8)]
    assert sum(count.result() for count in told) == 500


STEP = st.tuples(
    st.sampled_from(["add", "known", "later"]), st.sampled_from("abcde"), st.integers(0, 20)
)


@given(steps=st.lists(STEP))
def test_it_remembers_as_a_plain_table_would(steps: list[tuple[str, str, int]]) -> None:
    time, table = Time(), dict[str, float]()
    memory = Memory(clock=time)
    for kind, name, amount in steps:
        if kind == "later":
            time.now += amount
            table = {known: until for known, until in table.items() if until >= time.now}
        elif kind == "known":
            assert memory.known(name) is (name in table)
        else:
            until = time.now + amount
            assert memory.add(name, until) is (name not in table)
            table[name] = max(until, table.get(name, until))
            assert len(memory) == len(table)
