"""What the dispatcher does unless told otherwise: the defaults the documentation promises."""

from itertools import accumulate

import pytest

from tarry.core.jitter import Percent
from tarry.core.policy import waits
from tarry.core.text import from_json, to_json
from tarry.service.model.settings import DAY, DELIVERY, HOUR, MINUTE, Limits, Parking
from tarry.service.wire import exchange


def test_a_delivery_is_tried_nine_times_over_some_thirty_five_hours() -> None:
    planned = list(waits(DELIVERY, [0.5] * 8))
    assert planned == pytest.approx([10, 30, 120, 600, 1800, 2 * HOUR, 8 * HOUR, DAY])
    assert DELIVERY.attempts == len(planned) + 1
    assert list(accumulate(planned))[-1] / HOUR == pytest.approx(34.7, abs=0.05)


@pytest.mark.parametrize(("draw", "share"), [(0.0, 0.8), (0.5, 1.0), (0.999999, 1.2)])
def test_each_wait_is_a_fifth_shorter_or_longer_by_chance(draw: float, share: float) -> None:
    planned = list(waits(DELIVERY, [draw] * 8))
    assert planned[0] == pytest.approx(10 * share, rel=1e-4)
    assert planned[7] == pytest.approx(DAY * share, rel=1e-4)


def test_the_longest_schedule_ends_before_the_age_limit() -> None:
    assert isinstance(DELIVERY.jitter, Percent)
    assert DELIVERY.within == 5 * DAY
    assert sum(waits(DELIVERY, [0.999999] * 8)) < DELIVERY.within


def test_an_endpoint_may_ask_for_an_hour_at_the_most() -> None:
    assert (DELIVERY.retry_after.honour, DELIVERY.retry_after.at_most) == (True, HOUR)


def test_the_policy_can_be_written_down_and_read_again() -> None:
    assert from_json(to_json(DELIVERY)) == DELIVERY


def test_an_attempt_takes_no_longer_than_the_wire_allows_by_itself() -> None:
    assert DELIVERY.attempt_timeout == exchange.TIMEOUT == 15
    assert Limits().connect_timeout == exchange.CONNECT_TIMEOUT == 5


def test_an_endpoint_is_parked_after_five_days_and_its_owner_is_warned_before() -> None:
    rule = Parking()
    assert (rule.after, rule.failures, rule.over) == (5 * DAY, 5, 12 * HOUR)
    assert rule.warn == (0.5, 0.75, 0.9)


def test_one_lane_cannot_use_up_what_a_process_may_have_on_its_way() -> None:
    limits = Limits()
    assert (limits.lane_in_flight, limits.in_flight) == (256, 1000)
    assert limits.in_flight < limits.unsettled


def test_a_lease_outlasts_a_renewal_that_is_missed() -> None:
    limits = Limits()
    assert limits.margin < limits.lease - 2 * limits.lease / 3


def test_who_is_told_to_stop_waits_for_the_longest_attempt() -> None:
    assert Limits().grace > exchange.TIMEOUT


def test_the_units_are_seconds() -> None:
    assert (MINUTE, HOUR, DAY) == (60, 60 * MINUTE, 24 * HOUR)
