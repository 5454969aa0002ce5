"""Tasks, as they begin."""

import math

import pytest
from msgspec.structs import replace

from tarry.errors import TooManyReplays
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.task import (
    COUNTED,
    FIRST_TENANT,
    IN_PIECES,
    MOST_PENDING,
    REPLAYS,
    STATISTICS,
    Failure,
    Piece,
    Task,
    Work,
    behind,
    discarding,
    standing_for,
)
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
    assert task.finished(Failure("no"), NOON) == replace(task, failed="no", finished_at=NOON)


def test_a_tenant_is_an_application_or_an_environment() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.RECOVER, environment="org_1")
    count = Task(id="qtask_1", work=Work.APP_STATS, environment="org_1", created_at=NOON)
    assert (task.tenant, count.tenant) == (("app_1", "org_1"), ("", "org_1"))
    assert FIRST_TENANT < count.tenant < task.tenant


@pytest.mark.parametrize("work", sorted(REPLAYS))
def test_a_replay_covers_another_of_its_kind_and_lane_that_is_within_its_time(work: Work) -> None:
    endpoint = an_endpoint("app_1", lane=3)
    task = a_task(endpoint, work, since=NOON, until=NOON + 9)
    for since, until in [(NOON, NOON + 9), (NOON + 1, NOON + 8)]:
        assert task.covers(a_task(endpoint, work, since=since, until=until))
    for span in ((NOON - 1, NOON + 9), (NOON, NOON + 10), (NOON, None)):
        assert not task.covers(a_task(endpoint, work, since=span[0], until=span[1]))
    assert a_task(endpoint, work).covers(task)
    assert a_task(endpoint, work).covers(a_task(endpoint, work))
    assert not a_task(an_endpoint("app_1", lane=4), work).covers(task)
    for other in REPLAYS - {work}:
        assert not a_task(endpoint, other).covers(task)


def test_a_replay_that_has_begun_or_is_done_covers_nothing() -> None:
    task = a_task(an_endpoint("app_1", lane=3), Work.RECOVER)
    for later in (task.after(Piece(0, "7", last=False), NOON), task.finished(Failure("no"), NOON)):
        assert not later.covers(task)


def test_bulk_replays_that_want_different_messages_do_not_cover_each_other() -> None:
    endpoint = an_endpoint("app_1", lane=3)
    one, other = (
        a_task(endpoint, Work.BULK_REPLAY, wanted=ReplayFilter(status_class=status))
        for status in (400, 500)
    )
    assert one.covers(one)
    assert not one.covers(other)
    assert a_task(endpoint, Work.BULK_REPLAY).covers(
        a_task(endpoint, Work.BULK_REPLAY, wanted=ReplayFilter())
    )


def test_a_known_replay_stands_for_a_new_one_if_it_covers_it() -> None:
    endpoint = an_endpoint("app_1", id="ep_1", lane=3)
    new, small, large = (
        a_task(endpoint, Work.RECOVER, since=since) for since in (NOON, NOON + 1, NOON - 1)
    )
    assert standing_for(new, [], pending=0, most=1) is new
    assert standing_for(new, [small], pending=1, most=2) is new
    assert standing_for(new, [small, large], pending=9, most=2) is large
    with pytest.raises(TooManyReplays) as error:
        standing_for(new, [small], pending=2, most=2)
    assert (error.value.endpoint, error.value.allowed) == ("ep_1", 2)


def test_replays_are_what_people_ask_for_of_an_endpoint() -> None:
    assert {Work.DISCARD, Work.ERASE, Work.PURGE_CONTENT} == IN_PIECES - REPLAYS
    assert not REPLAYS & STATISTICS
    assert MOST_PENDING == 10
