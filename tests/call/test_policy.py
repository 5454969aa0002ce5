import asyncio
import copy
import json
import pickle
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import AsyncMock

import pytest

import tarry
from tarry import (
    Breaker,
    DecorationError,
    Equal,
    Exponential,
    Fixed,
    Full,
    GaveUp,
    NoJitter,
    Policy,
    PolicyError,
    PolicyFormatError,
    Quota,
    Schedule,
)
from tarry.call.world import world
from tarry.core.policy import Policy as PurePolicy
from tarry.observe import Event

QUICK = Policy(backoff=Fixed(0), attempts=3)
WRITTEN = """
version = 1
attempts = 7
within = 20
[backoff]
kind = "exponential"
base = 0.5
cap = 30
[jitter]
kind = "full"
"""


def fails_once(tries: list[object], *args: object, **kwargs: object) -> object:
    tries.append((args, kwargs))
    if len(tries) == 1:
        raise ConnectionError
    return len(tries)


async def fails_once_later(tries: list[object], *args: object) -> object:
    return fails_once(tries, *args)


def test_a_call_is_a_retry_without_a_decorator() -> None:
    tries: list[object] = []
    assert QUICK.call(fails_once, tries, 1, on=ConnectionError, key=2) == 2
    assert tries == [((1,), {"key": 2})] * 2


def test_an_async_call_likewise() -> None:
    tries: list[object] = []
    assert asyncio.run(QUICK.acall(fails_once_later, tries, 1, on=ConnectionError)) == 2
    assert tries == [((1,), {})] * 2


def test_both_take_what_retry_takes() -> None:
    quota, breaker, heard = Quota(), Breaker(failures=9), list[Event]()
    named: dict[str, Any] = {
        "on": ConnectionError,
        "until": lambda made: made == 4,
        "on_result": lambda made: made == 2,
        "budget": quota,
        "breaker": breaker,
        "hooks": heard.append,
    }
    policy = QUICK.replace(attempts=4)
    assert policy.call(fails_once, [], **named) == 4
    assert asyncio.run(policy.acall(fails_once_later, [], **named)) == 4
    assert quota.tokens == 500 - 2 * (5 + 5 - 5)
    assert {event.name for event in heard} == {
        "tests.call.test_policy.fails_once",
        "tests.call.test_policy.fails_once_later",
    }


def test_they_want_to_know_what_to_retry_as_retry_does() -> None:
    with pytest.raises(DecorationError, match="nothing is retried unless named"):
        QUICK.call(len, "x")
    with pytest.raises(DecorationError, match="nothing is retried unless named"):
        asyncio.run(QUICK.acall(fails_once_later, []))


def items() -> Iterator[int]:
    yield 1


async def async_items() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [fails_once_later, items, async_items, AsyncMock()])
def test_a_call_takes_plain_functions_only(function: Any) -> None:  # noqa: ANN401
    with pytest.raises(DecorationError):
        Policy().call(function, on=ConnectionError)


def test_who_wants_the_other_kind_of_call_is_told_so() -> None:
    with pytest.raises(DecorationError, match=r"call takes a plain function, not .*; see acall$"):
        QUICK.call(fails_once_later, [], on=ConnectionError)  # type: ignore[unused-coroutine]


def test_an_async_call_takes_anything_that_gives_something_to_await() -> None:
    async def main() -> None:
        mock = AsyncMock(side_effect=[ConnectionError, "done"])
        assert await QUICK.acall(mock, 5, on=ConnectionError) == "done"
        assert mock.await_count == 2
        tries: list[object] = []
        assert await QUICK.acall(lambda: fails_once_later(tries), on=ConnectionError) == 2

    asyncio.run(main())


def test_an_async_call_of_something_that_is_not_awaited_says_so() -> None:
    wrong: Any = len
    with pytest.raises(TypeError, match="await"):
        asyncio.run(QUICK.acall(wrong, "x", on=ConnectionError))


def test_a_call_cannot_be_cut_off_and_an_async_one_can() -> None:
    policy = QUICK.replace(attempt_timeout=0.001, attempts=2)
    with pytest.raises(PolicyError, match="'attempt_timeout' is"):
        policy.call(len, "x", on=ConnectionError)
    with pytest.raises(tarry.AttemptTimedOut):
        asyncio.run(policy.acall(asyncio.sleep, 5, on=ConnectionError))


def test_a_call_that_is_judged_by_its_result_gives_up_on_it() -> None:
    with pytest.raises(GaveUp):
        QUICK.call(len, "", until=bool)


# Waits


def test_the_same_seed_gives_the_same_waits_without_end() -> None:
    policy = Policy(jitter=Full())
    assert list(islice(policy.waits(seed=7), 20)) == list(islice(policy.waits(seed=7), 20))
    assert list(islice(policy.waits(seed=7), 20)) != list(islice(policy.waits(seed=8), 20))
    assert list(islice(policy.waits(seed="x"), 5)) == list(islice(policy.waits(seed="x"), 5))
    assert len(list(islice(policy.waits(seed=7), 5_000))) == 5_000


def test_without_a_seed_the_waits_are_by_chance() -> None:
    policy = Policy(jitter=Full())
    assert list(islice(policy.waits(), 5)) != list(islice(policy.waits(), 5))


def test_the_waits_are_those_of_the_policy() -> None:
    draws = Random(7)
    policy = Policy(backoff=Schedule([1, 2, 4]), jitter=Equal(), attempts=2, within=1)
    halves = [0.5, 1, 2, 2, 2]
    wanted = [half + half * draws.random() for half in halves]
    assert list(islice(policy.waits(seed=7), 5)) == wanted


def test_the_waits_are_those_a_call_takes(
    slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy(backoff=Exponential(base=0.5, cap=20), attempts=8, within=None)
    monkeypatch.setattr(world, "draw", Random(7).random)
    with pytest.raises(GaveUp):
        policy.call(len, "", until=bool)
    assert slept == list(islice(policy.waits(seed=7), 7))


# A value


def test_a_policy_is_a_value() -> None:
    policy = Policy(backoff=Fixed(3), name="mine")
    for other in (
        Policy(backoff=Fixed(3.0), name="mine"),
        copy.copy(policy),
        copy.deepcopy(policy),
        *(pickle.loads(pickle.dumps(policy, protocol)) for protocol in range(6)),  # noqa: S301
        policy.replace(),
    ):
        assert other == policy
        assert hash(other) == hash(policy)
        assert type(other) is Policy
    assert policy != Policy(backoff=Fixed(3))


def test_a_policy_of_the_core_with_the_same_fields_is_the_same_policy() -> None:
    assert PurePolicy(attempts=3) == Policy(attempts=3)
    assert Policy(attempts=3) == PurePolicy(attempts=3)
    assert hash(PurePolicy(attempts=3)) == hash(Policy(attempts=3))


def test_a_call_leaves_no_trace_in_its_policy() -> None:
    policy, before = QUICK.replace(), QUICK.replace()
    with pytest.raises(ConnectionError):
        policy.call(fails_once, [], on=ValueError)
    assert policy == before
    with pytest.raises(AttributeError, match="Policy is frozen"):
        policy.attempts = 5  # type: ignore[misc]


def test_replacing_checks_anew() -> None:
    assert QUICK.replace(attempts=9).attempts == 9
    with pytest.raises(PolicyError, match="'attempts' is 0"):
        QUICK.replace(attempts=0)
    with pytest.raises(PolicyError, match="'attempt' is 3; it must be one of backoff, jitter"):
        QUICK.replace(attempt=3)


def test_a_policy_may_be_subclassed_for_behaviour() -> None:
    class Ours(Policy, init=False):
        def times(self) -> int:
            return (self.attempts or 0) * 2

    ours = Ours(attempts=4)
    assert ours.times() == 8
    assert ours == Policy(attempts=4)
    assert isinstance(pickle.loads(pickle.dumps(QUICK)), Policy)  # noqa: S301
    assert isinstance(ours.replace(attempts=2), Ours)
    assert tarry.retry(ours, on=ConnectionError)(len)("x") == 1


# Written down


def test_a_policy_can_be_written_down_and_read_back() -> None:
    policy = Policy(backoff=Exponential(base=0.5, cap=30), jitter=NoJitter(), within=None)
    document = policy.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert Policy.from_dict(document) == policy
    assert type(Policy.from_dict(document)) is Policy


def test_a_policy_can_be_loaded_from_toml_and_from_json(tmp_path: Path) -> None:
    wanted = Policy(backoff=Exponential(base=0.5, cap=30), jitter=Full(), attempts=7, within=20)
    toml, as_json = tmp_path / "policy.toml", tmp_path / "policy.json"
    toml.write_text(WRITTEN, encoding="utf-8")
    as_json.write_text(json.dumps(wanted.to_dict()), encoding="utf-8")
    for path in (toml, as_json, str(toml), str(as_json)):
        loaded = Policy.load(path)
        assert loaded == wanted
        assert type(loaded) is Policy


@pytest.mark.parametrize("name", ["policy.yaml", "policy", "policy.toml.bak"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(WRITTEN, encoding="utf-8")
    with pytest.raises(PolicyFormatError) as caught:
        Policy.load(path)
    assert (caught.value.field, caught.value.value) == ("file name", str(path))
    assert caught.value.wanted == "a name that ends in .toml or .json"


def test_the_name_of_a_policy_is_what_events_call_its_calls() -> None:
    heard: list[str] = []

    def hear(event: Event) -> None:
        heard.append(event.name)

    named = QUICK.replace(name="billing")
    named.call(len, "x", on=ConnectionError, hooks=hear)
    asyncio.run(named.acall(fails_once_later, [0], on=ConnectionError, hooks=hear))
    tarry.retry(named, on=ConnectionError, hooks=hear)(len)("x")
    assert set(heard) == {"billing"}
    heard.clear()
    tarry.retry(named, on=ConnectionError, hooks=hear, name="mine")(len)("x")
    assert set(heard) == {"mine"}


def test_a_subclass_reads_itself(tmp_path: Path) -> None:
    class Ours(Policy, init=False):
        pass

    path = tmp_path / "policy.toml"
    path.write_text(WRITTEN, encoding="utf-8")
    assert type(Ours.load(path)) is Ours
    assert type(Ours.from_dict(Policy().to_dict())) is Ours


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyFormatError, match="it must be text in UTF-8"):
        Policy.load(path)
