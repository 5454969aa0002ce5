"""Chance is fetched rarely, and given away once."""

import os
import subprocess
import sys
from collections import Counter
from threading import Thread

import pytest

from tarry.service.model.entropy import AT_ONCE, Entropy

SIZE = 19
FORKS = f"""
import os
from tarry.service.model.entropy import entropy

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
    given = b"".join(entropy(SIZE) for _ in range(AT_ONCE // SIZE))
    assert fetches == [AT_ONCE]
    assert given == bytes(number % 251 for number in range(len(given)))
    assert len(entropy(SIZE)) == SIZE
    assert fetches == [AT_ONCE, AT_ONCE]


def test_more_than_is_fetched_at_once_may_be_asked_for() -> None:
    entropy = Entropy()
    assert len(entropy(AT_ONCE + 1)) == AT_ONCE + 1
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
