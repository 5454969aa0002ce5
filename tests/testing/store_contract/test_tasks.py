"""The topic `tasks` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.task import Work
from tarry.service.store.memory import tasks
from tarry.testing.store_contract.tasks import TasksContract

Try = Callable[..., None]


def test_a_store_that_replays_too_much_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(TasksContract, "test_a_task_concerns_messages_of_its_time", work=Work.RECOVER)
    monkeypatch.setattr(tasks, "_is_in_range", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(TasksContract, "test_a_task_concerns_messages_of_its_time", work=Work.RECOVER)
