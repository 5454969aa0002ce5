import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.sim.backlog.delivery_log import DeliveryLog
from tarry.sim.backlog.endpoint import Capacity

CAPACITY = Capacity(((0.0, 10.0),))


def log(  # noqa: PLR0913  one argument a column
    attempts: list[float] | None = None,
    *,
    delivered: list[float] | None = None,
    fresh_at: list[float] | None = None,
    fresh_delivered: list[float] | None = None,
    lost: int = 0,
    ended: float = 10.0,
) -> DeliveryLog:
    return DeliveryLog(
        attempts=np.array(attempts or []),
        spent=7,
        delivered=np.array(delivered or [1.0]),
        fresh_at=np.array(fresh_at or []),
        fresh_delivered=np.array(fresh_delivered or []),
        lost=lost,
        ended=ended,
    )


def test_it_has_recovered_when_the_last_waiting_one_is_made() -> None:
    assert log(delivered=[1.0, 9.5, 3.0], fresh_delivered=[99.0]).recovery == 9.5
    assert log(delivered=[1.0, math.inf]).recovery is None


def test_what_is_done_is_counted_over_waiting_and_fresh() -> None:
    assert log(delivered=[1.0, math.inf], fresh_delivered=[2.0, math.inf, 3.0]).done == 3


def test_fresh_ones_that_are_left_wait_to_the_end() -> None:
    found = log(fresh_at=[1.0, 2.0], fresh_delivered=[1.5, math.inf], ended=10.0).fresh_p99()
    assert found == pytest.approx(np.quantile([0.5, 8.0], 0.99))
    assert log().fresh_p99() is None


def test_without_attempts_there_is_no_peak() -> None:
    assert log().peak_ratio(CAPACITY) == 0.0
    assert log().peak_10ms() == 0.0


def test_a_peak_is_measured_by_the_most_capacity_in_its_second() -> None:
    halves = Capacity(((0.0, 10.0), (5.0, 5.0)))
    burst = [4.9 + number / 100 for number in range(20)]  # over the step
    assert log(burst).peak_ratio(halves) == 2.0
    assert log([time + 2 for time in burst]).peak_ratio(halves) == 4.0


def test_curves_are_by_the_second_to_the_end() -> None:
    curves = log([0.1, 0.2, 2.5], delivered=[0.5, 1.0, math.inf], ended=2.6).curves(CAPACITY)
    assert curves["arrivals"].values.tolist() == [2, 0, 1]
    assert curves["capacity"].values.tolist() == [10, 10, 10]
    assert curves["delivered"].seconds.tolist() == [0, 1, 2, 3]
    assert curves["delivered"].values.tolist() == [0, 1, 2, 2]
    assert len(log(ended=0.0).curves(CAPACITY)["arrivals"].values) == 1


def test_curves_show_the_last_minute_of_the_outage_at_most() -> None:
    last = log([0.5], ended=1.0)._replace(before=np.array([-0.5, -1.2, -1.9]))
    short, long = (last.curves(CAPACITY, outage) for outage in (1.5, 600.0))
    assert short["arrivals"].seconds.tolist() == [-2, -1, 0]
    assert short["arrivals"].values.tolist() == [2, 1, 1]
    assert short["capacity"].values.tolist() == [0, 0, 10]
    assert long["arrivals"].seconds[0] == -60


def test_a_peak_is_found_though_it_lies_across_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [0.0, 2.0, 2.1, 2.2, 2.3, 2.4, 4.0]
    whole = log(times)
    assert whole.peak_ratio(CAPACITY) == 0.5
    monkeypatch.setattr("tarry.sim.backlog.delivery_log.AT_A_TIME", 2)
    assert whole.peak_ratio(CAPACITY) == 0.5


moments = st.lists(
    st.floats(0, 8) | st.integers(0, 800).map(lambda n: n / 100), min_size=1, max_size=60
).map(sorted)


@given(moments)
def test_the_peak_is_the_fullest_of_all_seconds(times: list[float]) -> None:
    naive = max(sum(end - 1 < time <= end for time in times) for end in times)
    # `end - 1 < time` and `time > end - 1` meet the same rounding.
    assert log(times).peak_ratio(CAPACITY) == naive / 10


@given(moments)
def test_the_flattest_peak_is_the_fullest_hundredth(times: list[float]) -> None:
    naive: dict[int, int] = {}
    for time in times:
        naive[int(time / 0.01)] = naive.get(int(time / 0.01), 0) + 1
    assert log(times).peak_10ms() == max(naive.values())


def test_an_attempt_long_after_the_others_takes_no_room() -> None:
    assert log([0.001, 0.002, 1e13]).peak_10ms() == 2  # 1e15 hundredths would not fit


@given(moments, st.integers(1, 20))
def test_peaks_are_the_same_however_many_attempts_are_looked_at_together(
    times: list[float], together: int
) -> None:
    whole, steps = log(times), Capacity(((0.0, 10.0), (3.0, 7.0)))
    with patch("tarry.sim.backlog.delivery_log.AT_A_TIME", together):
        parts = whole.peak_ratio(steps), whole.peak_10ms()
    assert parts == (whole.peak_ratio(steps), whole.peak_10ms())


@given(moments, st.data())
def test_the_wait_of_fresh_messages_is_a_plain_quantile(
    arrived: list[float], data: st.DataObject
) -> None:
    waits = data.draw(
        st.lists(st.floats(0, 5) | st.just(math.inf), min_size=len(arrived), max_size=len(arrived))
    )
    made = [at + wait for at, wait in zip(arrived, waits, strict=True)]
    ended = 20.0
    naive = [(end if end < math.inf else ended) - at for at, end in zip(arrived, made, strict=True)]
    found = log(fresh_at=arrived, fresh_delivered=made, ended=ended).fresh_p99()
    assert found == pytest.approx(float(np.quantile(naive, 0.99)), abs=1e-12)
