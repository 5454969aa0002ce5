"""Tasks, as they begin."""

import math

from msgspec.structs import replace

from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.task import COUNTED, Piece, Work, behind, discarding
from tarry.testing.samples import NOON, a_task, an_endpoint


def test_a_task_begins_at_the_beginning_and_concerns_all() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.RECOVER)
    assert (task.cursor, task.done, task.finished_at) == ("", 0, None)
    assert (task.since, task.until) == (0.0, None)
    assert task.lane == 3


def test_a_task_without_an_end_concerns_all_that_will_be() -> None:
    endpoint = an_endpoint("app_1", lane=3)
    assert a_task(endpoint, Work.RECOVER).end == math.inf
    assert a_task(endpoint, Work.RECOVER, until=NOON).end == NOON


def test_a_task_goes_on_behind_the_message_it_came_to() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.REPLAY_MISSING, since=NOON)
    assert task.place == (NOON, "")
    at = NOON + 0.1 + 0.2  # as much of it as there is
    assert replace(task, cursor=behind(at, "msg_1")).place == (at, "msg_1")


def test_what_is_missing_was_never_sent() -> None:
    endpoint = an_endpoint("app_1", lane=3)
    wanted = ReplayFilter(status_class=500)
    for work, replays in [
        (Work.REPLAY_MISSING, ReplayFilter(fate=Fate.NEVER)),
        (Work.BULK_REPLAY, wanted),
    ]:
        assert a_task(endpoint, work, wanted=wanted).replays == replays
    assert a_task(endpoint, Work.BULK_REPLAY).replays == ReplayFilter()


def test_a_deleted_endpoint_leaves_one_task_whoever_asks_for_it() -> None:
    gone = an_endpoint("app_1", id="ep_7", lane=3, updated_at=9.0)
    task = discarding(gone, "org_1")
    assert (task.id, task.work, task.lane) == ("qtask_7", Work.DISCARD, 3)
    assert task.environment == "org_1"
    assert (task.application, task.endpoint, task.created_at) == ("app_1", "ep_7", 9.0)
    assert discarding(gone, "org_1") == task


def test_a_piece_moves_a_task_on_and_the_last_one_says_what_came_out() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.RECOVER)
    begun = task.after(Piece(4, "7", last=False), NOON)
    assert begun == replace(task, cursor="7", done=4)
    over = begun.after(Piece(2, "9", last=True), NOON)
    assert over == replace(
        task, cursor="9", done=6, data={"messagesSent": 6}, finished_at=NOON, failed=None
    )


def test_what_is_done_in_pieces_has_a_name_for_what_it_counts() -> None:
    assert set(Work) - set(COUNTED) == {Work.APP_STATS, Work.EVENT_TYPE_STATS}


def test_a_task_that_is_given_up_is_finished_and_says_why() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.RECOVER, done=4)
    assert task.given_up("no", NOON) == replace(task, failed="no", finished_at=NOON)
