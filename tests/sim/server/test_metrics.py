import math

import numpy as np
import pytest

from tarry.sim.run import Floats
from tarry.sim.server.metrics import MEASURES, Seconds, Times, Trace, curves, metrics

TROUBLE = Times(start=10.0, stop=30.0, end=60.0)


def seconds(sent: float = 3.0, *, length: int = 60) -> Seconds:
    """One request a second, `sent` attempts for it, and two waiting."""
    total = np.arange(1.0, length + 1)
    return Seconds(total, sent * total, total / 2, np.full(length, 2.0))


def traced(
    good: Floats, *, ended: Floats | None = None, tries: Floats | None = None, **rest: float
) -> Trace:
    """A request every tenth of a second from 0 to 60 s, answered after half a second or never."""
    began = np.arange(600) / 10
    over = began + 0.5 if ended is None else ended
    counted = np.ones(600) if tries is None else tries
    busy, wasted = rest.get("busy", 4.0), rest.get("wasted", 1.0)
    return Trace(began, over, counted, good > 0, seconds(), busy, wasted, 0)


def test_the_metrics_have_the_names_of_the_measures() -> None:
    assert list(metrics(traced(np.ones(600)), TROUBLE)) == list(MEASURES)


def test_goodput_is_of_the_requests_after_the_trouble() -> None:
    good = np.ones(600)
    good[:300] = 0
    good[590:] = 0
    assert metrics(traced(good), TROUBLE)["goodput"] == pytest.approx(290 / 300)


def test_a_request_that_is_not_over_at_the_end_was_not_answered() -> None:
    good, ended = np.ones(600), np.arange(600) / 10 + 0.5
    good[450:], ended[450:] = 0, math.nan
    assert metrics(traced(good, ended=ended), TROUBLE)["goodput"] == 0.5


def test_amplification_is_of_the_requests_in_the_trouble_that_are_over() -> None:
    tries, ended = np.ones(600), np.arange(600) / 10 + 0.5
    tries[100:200], tries[200:300], ended[200:300] = 4, 9, math.nan
    assert metrics(traced(np.ones(600), tries=tries, ended=ended), TROUBLE)["amplification"] == 4


def test_without_trouble_everything_after_the_warm_up_counts() -> None:
    tries, good = np.full(600, 2.0), np.ones(600)
    tries[:100], good[:100] = 7, 0
    calm = Times(10.0, 10.0, 60.0)
    found = metrics(traced(good, tries=tries), calm)
    assert (found["amplification"], found["goodput"], found["recovery"]) == (2.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("back_at", "recovery"),
    [(20.0, 0.0), (30.0, 0.0), (31.0, 0.0), (31.5, 0.5), (40.0, 9.0), (56.0, 25.0), (57.0, None)],
)
def test_recovery_is_when_a_window_begins_with_enough_answers(
    back_at: float, recovery: float | None
) -> None:
    """Five seconds of which one may be lost: so it begins a second before all are answered."""
    good = (np.arange(600) / 10 >= back_at).astype(float)
    assert metrics(traced(good), TROUBLE)["recovery"] == recovery


def test_a_run_that_ends_with_its_trouble_does_not_recover() -> None:
    found = metrics(traced(np.zeros(600)), Times(10.0, 60.0, 60.0))
    assert (found["recovery"], found["goodput"], found["p99"]) == (None, None, None)


def test_a_window_without_requests_proves_nothing() -> None:
    quiet = Trace(
        np.array([1.0, 50.0]),
        np.array([2.0, 51.0]),
        np.ones(2),
        np.array([True, True]),
        seconds(),
        1.0,
        0.0,
        0,
    )
    assert metrics(quiet, TROUBLE)["recovery"] == pytest.approx(15.1)


def test_p99_is_of_what_was_answered_after_the_warm_up() -> None:
    began = np.arange(600) / 10
    ended, good = began + 0.5, np.ones(600)
    ended[:100] += 99  # in the warm-up
    ended[100:200] += 99
    good[100:200] = 0  # never answered
    ended[590:] += 2.5
    assert metrics(traced(good, ended=ended), TROUBLE)["p99"] == pytest.approx(3.0)


def test_wasted_is_a_share_of_the_busy_time() -> None:
    assert metrics(traced(np.ones(600)), TROUBLE)["wasted"] == 0.25
    assert metrics(traced(np.ones(600), busy=0.0, wasted=0.0), TROUBLE)["wasted"] == 0.0


def test_the_worst_amplification_is_of_ten_seconds() -> None:
    each = np.ones(60)
    each[[5, 45]] = 31, 21  # the first before the trouble
    counted = seconds()._replace(sent=np.cumsum(each))
    found = metrics(traced(np.ones(600))._replace(seconds=counted), Times(20.0, 30.0, 60.0))
    assert found["worst_amplification"] == 3.0


def test_a_run_of_less_than_ten_seconds_has_a_worst_amplification_too() -> None:
    short = traced(np.ones(600))._replace(seconds=seconds(length=4))
    assert metrics(short, Times(0.0, 2.0, 4.0))["worst_amplification"] == 3.0
    nothing = short._replace(seconds=seconds(length=0))
    assert metrics(nothing, Times(0.0, 0.5, 0.9))["worst_amplification"] is None


def test_the_lines_show_each_second() -> None:
    lines = curves(seconds(), Times(10.5, 12.0, 60.0), capacity=100.0, speed=0.2)
    assert list(lines) == ["offered", "goodput", "queue", "capacity"]
    assert set(lines["offered"].values) == {3.0}
    assert set(lines["goodput"].values) == {0.5}
    assert set(lines["queue"].values) == {2.0}
    assert lines["capacity"].values[9:13].tolist() == pytest.approx([100.0, 60.0, 20.0, 100.0])
    assert all(len(line.seconds) == len(line.values) == 60 for line in lines.values())
