"""The suite as a whole: nothing in it hides anything else, and others can bind it."""

from collections import Counter

import pytest

from tarry.testing.store_contract import TOPICS, StoreContract

pytest_plugins = "pytester"

BINDING = """
import pytest
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract import Later, StoreContract

class TestTheirStore(StoreContract):
    @pytest.fixture
    async def store(self):
        self.now = 5.0
        return MemoryStore(lambda: self.now)

    @pytest.fixture
    async def later(self):
        async def push(seconds):
            self.now += seconds
        return push
"""


def test_every_topic_is_in_the_suite() -> None:
    modules = [topic.__module__.rpartition(".")[2] for topic in StoreContract.__bases__]
    assert modules == list(TOPICS)


def test_no_two_topics_have_a_test_of_the_same_name() -> None:
    names = Counter(
        name
        for topic in StoreContract.__bases__
        for name in vars(topic)
        if name.startswith("test_")
    )
    assert sum(names.values()) > 150
    assert [name for name, count in names.items() if count > 1] == []


def test_others_can_bind_the_suite_to_their_store(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BINDING)
    result = pytester.runpytest_inprocess("-q", "-k", "a_stale_lease or bytes_of_a_payload")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] > 10
    assert "failed" not in outcomes
    assert "errors" not in outcomes


def test_a_suite_without_a_store_says_what_is_missing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "from tarry.testing.store_contract import StoreContract\n"
        "class TestNothing(StoreContract): pass\n"
    )
    result = pytester.runpytest_inprocess("-q", "-k", "the_clock_goes_forward")
    result.stdout.fnmatch_lines(["*a test of a store must have a fixture `store`*"])
