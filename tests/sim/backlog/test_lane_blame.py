"""Whose failure it is in the simulator's lane: by the rules of the service."""

from tarry.core.blame import AT_PACE, Whose
from tarry.core.pace import PacerRule, Phase
from tarry.sim.backlog.lane_blame import LaneBlame

CLOSED, OPEN, PACED = Phase


def a_lane() -> LaneBlame:
    """Return a lane whose endpoint has just accepted a delivery."""
    lane = LaneBlame(PacerRule())
    lane.succeeded(1000, 0.0, 0.0)
    return lane


def fail_at_pace(lane: LaneBlame, delivery: int, now: float = 1.0) -> Whose:
    """Count a failure at the lane's pace and return whose it is."""
    found = lane.failed(delivery, PACED, now)
    lane.retry_in(delivery, found.whose, now, 0.5)
    return found.whose


def test_a_failure_while_the_lane_is_open_is_the_endpoints() -> None:
    found = a_lane().failed(1, OPEN, 1.0)
    assert (found.whose, found.counts) == (Whose.ENDPOINT, 1)


def test_the_first_failures_at_a_pace_are_the_paces_and_later_ones_the_messages() -> None:
    lane = a_lane()
    assert [fail_at_pace(lane, 1) for _ in range(AT_PACE)] == [Whose.PACE] * AT_PACE
    assert fail_at_pace(lane, 1) is Whose.UNKNOWN
    assert fail_at_pace(lane, 1) is Whose.UNKNOWN
    lane.succeeded(2, 2.0, 2.0)
    found = lane.failed(1, PACED, 3.0)
    assert (found.whose, found.counts) == (Whose.MESSAGE, None)


def test_waits_grow_with_the_failures_of_a_delivery() -> None:
    lane = a_lane()
    waits = [lane.retry_in(1, Whose.PACE, 1.0, 0.5) for _ in range(4)]
    assert waits == sorted(waits)
    assert waits[0] < waits[-1] <= 2
    assert lane.retry_in(2, Whose.PACE, 1.0, 0.5) == waits[0]


def test_what_was_accepted_is_forgotten() -> None:
    lane = a_lane()
    wait = lane.retry_in(1, Whose.PACE, 1.0, 0.5)
    lane.retry_in(1, Whose.PACE, 1.0, 0.5)
    lane.succeeded(1, 1.0, 1.0)
    assert lane.retry_in(1, Whose.PACE, 1.0, 0.5) == wait


def test_a_lane_that_closes_forgets_failures_at_its_pace() -> None:
    lane = a_lane()
    wait = lane.retry_in(1, Whose.PACE, 1.0, 0.5)
    lane.turned(PACED)
    assert lane.retry_in(1, Whose.PACE, 1.0, 0.5) > wait
    lane.turned(CLOSED)
    assert lane.retry_in(1, Whose.PACE, 1.0, 0.5) == wait


def test_a_lane_that_opens_takes_the_failures_since_its_last_success_upon_itself() -> None:
    lane = a_lane()
    for _ in range(AT_PACE + 1):
        fail_at_pace(lane, 1)
    lane.turned(OPEN)
    lane.succeeded(2, 2.0, 2.0)
    assert lane.failed(1, PACED, 3.0).counts == 1
