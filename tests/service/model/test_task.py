"""Tasks, as they begin."""

from tarry.service.model.task import Work
from tarry.testing.samples import a_task, an_endpoint


def test_a_task_begins_at_the_beginning_and_concerns_all() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.RECOVER)
    assert (task.cursor, task.done, task.finished_at) == ("", 0, None)
    assert (task.since, task.until) == (0.0, None)
    assert task.lane == 3
