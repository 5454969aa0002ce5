"""Tasks, as they begin."""

from tarry.service.model.task import Work, discarding
from tarry.testing.samples import a_task, an_endpoint


def test_a_task_begins_at_the_beginning_and_concerns_all() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.RECOVER)
    assert (task.cursor, task.done, task.finished_at) == ("", 0, None)
    assert (task.since, task.until) == (0.0, None)
    assert task.lane == 3


def test_a_deleted_endpoint_leaves_one_task_whoever_asks_for_it() -> None:
    gone = an_endpoint("app_1", id="ep_7", lane=3, updated_at=9.0)
    task = discarding(gone)
    assert (task.id, task.work, task.lane) == ("qtask_7", Work.DISCARD, 3)
    assert (task.application, task.endpoint, task.created_at) == ("app_1", "ep_7", 9.0)
    assert discarding(gone) == task
