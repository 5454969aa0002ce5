"""Ids sort by the time they were made, and tell it."""

import os
import string
import subprocess
import sys
from collections import Counter
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.ids import (
    ALPHABET,
    BYTES_PER_READ,
    CHANCE,
    LENGTH,
    MESSAGE,
    Entropy,
    made_at,
    make,
    moment,
    well_formed,
)

instants = st.floats(0, 7_000_000_000)  # until 2191
chances = st.binary(min_size=CHANCE, max_size=CHANCE)


def test_the_alphabet_sorts_as_bytes_do() -> None:
    assert list(ALPHABET) == sorted(string.digits + string.ascii_letters)


@given(now=instants, entropy=chances)
def test_an_id_is_a_prefix_and_twenty_seven_letters(now: float, entropy: bytes) -> None:
    known = make(MESSAGE, now=now, entropy=entropy)
    assert known.startswith("msg_")
    assert len(known) == len("msg_") + LENGTH == 31
    assert set(known[4:]) <= set(ALPHABET)


@given(one=instants, other=instants, entropy=st.tuples(chances, chances))
def test_ids_of_a_later_millisecond_sort_behind(
    one: float, other: float, entropy: tuple[bytes, bytes]
) -> None:
    first, second = sorted((one, other))
    if int(first * 1000) < int(second * 1000):
        assert make("", now=first, entropy=entropy[0]) < make("", now=second, entropy=entropy[1])


def test_ids_made_one_after_the_other_within_a_millisecond_sort_in_that_order() -> None:
    noon = 1_794_000_000.0
    times = [noon + microsecond / 1e6 for microsecond in range(2000)]
    made = [make("", now=now, entropy=os.urandom(CHANCE)) for now in times]
    assert made == sorted(made)


@given(now=instants, entropy=chances)
def test_an_id_tells_when_it_was_made(now: float, entropy: bytes) -> None:
    assert made_at(make("ep_", now=now, entropy=entropy)) == pytest.approx(now, abs=0.001)


@given(now=instants)
def test_the_moment_is_no_later_than_ids_made_then(now: float) -> None:
    assert moment(now) <= make("", now=now, entropy=bytes(CHANCE))


def test_times_before_1970_count_as_1970() -> None:
    assert moment(-5.0) == moment(0.0) == "00000000"


def test_different_chance_makes_different_ids() -> None:
    made = {make("", now=1.0, entropy=bytes([byte]) * CHANCE) for byte in range(62)}
    assert len(made) == 62


def test_every_letter_is_about_as_likely() -> None:
    letters = "".join(
        make("", now=0.0, entropy=bytes([*range(start, start + 16), 0]))[10:26]
        for start in range(0, 256, 16)
    )
    counts = [letters.count(letter) for letter in ALPHABET]
    assert (min(counts), max(counts)) == (4, 5)


@pytest.mark.parametrize(
    "known",
    ["", "msg_", "order.1", "msg_é", "app_" + "0" * 27, "msg_" + "0" * 28, "msg_" + "é" * 27],
)
def test_only_what_is_made_here_is_well_formed(known: str) -> None:
    assert not well_formed(known, "msg_")
    assert not well_formed("msg_" + "0" * 27 + "\n", "msg_")
    assert well_formed(make(MESSAGE, now=1.0, entropy=bytes(range(19))), "msg_")


SIZE = 19
FORKS = f"""
import os
from tarry.service.model.ids import entropy

entropy({SIZE})
child = os.fork()
if child:
    os.waitpid(child, 0)
print(entropy({SIZE}).hex(), flush=True)
"""


def test_many_ids_take_one_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    fetches: list[int] = []

    def fetch(size: int) -> bytes:
        fetches.append(size)
        return bytes(number % 251 for number in range(size))

    monkeypatch.setattr(os, "urandom", fetch)
    entropy = Entropy()
    given = b"".join(entropy(SIZE) for _ in range(BYTES_PER_READ // SIZE))
    assert fetches == [BYTES_PER_READ]
    assert given == bytes(number % 251 for number in range(len(given)))
    assert len(entropy(SIZE)) == SIZE
    assert fetches == [BYTES_PER_READ, BYTES_PER_READ]


def test_more_than_is_fetched_at_once_may_be_asked_for() -> None:
    entropy = Entropy()
    assert len(entropy(BYTES_PER_READ + 1)) == BYTES_PER_READ + 1
    assert len(entropy(0)) == 0


def test_no_two_threads_get_the_same() -> None:
    entropy = Entropy()
    given: Counter[bytes] = Counter()

    def draw() -> None:
        given.update([entropy(SIZE) for _ in range(20_000)])

    threads = [Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given.total() == len(given) == 80_000


def test_a_forked_process_has_its_own() -> None:
    command = [sys.executable, "-c", FORKS]
    mine, theirs = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    assert len(mine) == len(theirs) == 2 * SIZE
    assert mine != theirs
