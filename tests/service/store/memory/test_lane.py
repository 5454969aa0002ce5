"""A lane in memory keeps its orders and counts whatever is done to its deliveries."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.service.model.delivery import ENDED, LIVE, Delivery, State
from tarry.service.store.memory.lane import Lane
from tarry.testing.samples import an_endpoint

moves = st.lists(
    st.tuples(
        st.integers(1, 9),
        st.sampled_from(State),
        st.sampled_from([1.0, 2.0, 3.0]),
        st.sampled_from([1.0, 2.0, 3.0]),
    )
)


def lane_after(steps: list[tuple[int, State, float, float]]) -> Lane:
    """Return a lane after these changes of its deliveries, applied in order."""
    lane = Lane(an_endpoint("app_1", lane=1))
    for seq, state, due_at, accepted_at in steps:
        first = Delivery(lane=1, seq=seq, message=f"msg_{seq}", accepted_at=accepted_at)
        stored = lane.deliveries.get(seq, first)
        due = due_at if state is State.WAITING else None
        lane.put(replace(stored, state=state, due_at=due, accepted_at=accepted_at))
    return lane


@given(steps=moves)
def test_what_waits_is_what_is_live(steps: list[tuple[int, State, float, float]]) -> None:
    lane = lane_after(steps)
    rows = list(lane.deliveries.values())
    assert lane.added == len(rows)
    assert lane.ended == sum(row.state in ENDED for row in rows)
    assert lane.aging == sorted((row.accepted_at, row.seq) for row in rows if row.state in LIVE)
    assert lane.idle == (lane.added == lane.ended)


@given(steps=moves, after=st.integers(0, 9), before=st.none() | st.integers(0, 10))
def test_what_is_ready_comes_by_number(
    steps: list[tuple[int, State, float, float]], after: int, before: int | None
) -> None:
    lane = lane_after(steps)
    expected = [
        row.seq
        for row in lane.deliveries.values()
        if row.state is State.READY and row.seq > after and (before is None or row.seq < before)
    ]
    assert [row.seq for row in lane.ready_between(after, before)] == sorted(expected)


@given(steps=moves, now=st.sampled_from([0.5, 1.0, 2.5, 3.0]), after=st.integers(0, 9))
def test_what_waits_comes_by_due_time(
    steps: list[tuple[int, State, float, float]], now: float, after: int
) -> None:
    lane = lane_after(steps)
    due = sorted(
        (row.due_at, row.seq) for row in lane.deliveries.values() if row.due_at is not None
    )
    behind = [(row.due_at, row.seq) for row in lane.waiting_behind(now, after)]
    assert behind == [entry for entry in due if entry > (now, after)]
    later = [due_at for due_at, _ in due if due_at > now]
    assert lane.next_due_at(now) == (later[0] if later else None)


def test_what_is_forgotten_was_added_and_has_ended_all_the_same() -> None:
    lane = lane_after([(1, State.DELIVERED, 1.0, 1.0), (2, State.READY, 1.0, 1.0)])
    lane.forget(1)
    assert (lane.added, lane.ended, list(lane.deliveries)) == (2, 1, [2])


def test_a_resend_is_something_to_send() -> None:
    lane = lane_after([])
    assert lane.idle
    lane.resends["r1"] = "msg_1"
    assert not lane.idle
