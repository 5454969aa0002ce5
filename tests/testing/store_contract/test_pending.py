"""The topic `pending` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.task import Task
from tarry.service.store.memory import MemoryStore, tasks
from tarry.testing.store_contract.pending import PendingContract

Try = Callable[..., None]


class Unfair(MemoryStore):
    """Returns the oldest task of all tenants, regardless of turns."""

    async def next_task(self, *args: object, **_: object) -> Task | None:
        return await super().next_task(*args)  # type: ignore[arg-type]  # handed on


@pytest.mark.parametrize(
    "test",
    [
        "test_environments_take_turns_with_tasks_of_no_application",
        "test_a_tenant_that_has_nothing_left_to_do_is_passed_over",
    ],
)
def test_a_store_without_turns_is_noticed(try_on: Try, test: str) -> None:
    try_on(PendingContract, test)
    with pytest.raises(AssertionError):
        try_on(PendingContract, test, Unfair)


@pytest.mark.parametrize(
    "test",
    [
        "test_the_pending_replays_of_an_endpoint_are_limited",
        "test_of_equal_replays_that_come_at_once_one_is_added",
    ],
)
def test_a_store_that_adds_every_replay_is_noticed(
    try_on: Try, test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(PendingContract, test)
    monkeypatch.setattr(tasks, "standing_for", lambda new, *_, **__: new)
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        try_on(PendingContract, test)
