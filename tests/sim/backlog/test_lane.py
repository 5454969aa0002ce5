"""A lane in virtual time: what it sends when, and that nothing is lost or made up on the way."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.pace import PacerRule
from tarry.core.spacing import next_slot
from tarry.sim.backlog import lane
from tarry.sim.backlog.delivery_log import DeliveryLog
from tarry.sim.backlog.lane import simulate
from tarry.sim.backlog.settings import BacklogSettings
from tarry.sim.chance import Chance

RULE = PacerRule()


def run(seed: int = 1, **keys: object) -> DeliveryLog:
    """A small backlog behind a shedding endpoint, unless told otherwise."""
    usual: dict[str, Any] = {"waiting": 500, "capacity": 100, "endpoint": "shed", "outage": 60}
    return simulate(BacklogSettings(**{**usual, **keys}), RULE, Chance(seed))


def test_all_that_waits_is_delivered_and_nothing_is_lost() -> None:
    log = run()
    assert np.isfinite(log.delivered).all()
    assert (log.done, log.lost) == (500, 0)
    assert log.recovery == log.ended


def test_the_five_that_opened_the_lane_count_as_attempts_of_the_outage() -> None:
    assert run(outage=0.5).spent == RULE.failures
    assert run(outage=60).spent > RULE.failures


def test_nothing_is_sent_before_the_endpoint_is_found_to_be_back_but_probes() -> None:
    log = run(waiting=5_000, capacity=50)
    probe, first = log.attempts[0], log.attempts[1]
    assert first - probe >= 0.04  # not before its answer
    assert np.diff(log.attempts)[:5] == pytest.approx(1 / RULE.first, rel=0.35)


def test_sends_are_spaced_never_bunched() -> None:
    log = run(waiting=2_000, capacity=100, remembered=95)
    assert np.diff(log.attempts).min() >= 1 / 130
    assert log.peak_10ms() <= 2


def test_sends_are_spaced_by_the_rule_that_the_service_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[float, float]] = []

    def spaced(slot: float, *, sent_at: float, rate: float) -> float:
        asked.append((slot, sent_at))
        return next_slot(slot, sent_at=sent_at, rate=rate)

    monkeypatch.setattr(lane, "next_slot", spaced)
    log = run(remembered=95)
    assert [sent_at for _, sent_at in asked] == log.attempts[1:].tolist()  # the first is a probe
    assert all(slot <= sent_at for slot, sent_at in asked)


def test_a_delivery_that_fails_by_chance_goes_again() -> None:
    log = run(error_rate=0.1, remembered=95)
    assert log.done == 500
    assert len(log.attempts) == pytest.approx(500 / 0.9, rel=0.1)


def test_with_nothing_but_errors_nothing_is_delivered_until_the_watch_ends() -> None:
    log = run(error_rate=1.0, watch=300)
    assert (log.done, log.recovery) == (0, None)
    assert log.ended <= 300
    assert len(log.attempts) <= 20


def test_fresh_messages_go_first_but_every_second_send_is_the_backlogs() -> None:
    log = run(waiting=2_000, arrivals=40, remembered=95, outage=10)  # soon noticed to be over
    waits = log.fresh_delivered - log.fresh_at
    known = np.isfinite(waits) & (log.fresh_at > 30)
    assert np.median(waits[known]) < 0.2
    assert log.recovery is not None
    assert log.recovery - log.attempts[0] < 1.3 * 2_000 / 60
    flooded = run(waiting=1_000, arrivals=300, watch=60, remembered=95)
    half = np.isfinite(flooded.delivered).sum(), np.isfinite(flooded.fresh_delivered).sum()
    assert half[0] == pytest.approx(half[1], rel=0.15)


def test_a_handover_loses_nothing_and_sends_again_what_was_in_the_air() -> None:
    still, moved = run(waiting=1_000), run(waiting=1_000, handover=2, latency=0.2)
    assert moved.done == still.done == 1_000
    assert len(moved.attempts) > 1_000


def test_a_wish_of_a_down_endpoint_is_kept() -> None:
    hasty, patient = run(outage=600), run(outage=600, retry_after=120)
    assert hasty.spent > patient.spent
    assert patient.spent <= RULE.failures + 1 + 600 / 120
    assert patient.done == 500


def test_an_answer_that_comes_too_late_is_a_failure() -> None:
    log = run(latency=2.0, timeout=1.0, watch=120)
    assert log.done == 0


def test_a_slow_endpoint_is_not_piled_upon() -> None:
    log = run(waiting=2_000, queue=3.0, remembered=95)
    took = np.sort(log.delivered) - log.attempts[: len(log.delivered)]
    assert log.done == 2_000
    assert np.median(took) < 1.0


def test_only_what_has_arrived_by_the_end_is_told_of() -> None:
    log = run(arrivals=20)
    assert len(log.fresh_at) == len(log.fresh_delivered)
    assert log.fresh_at[-1] <= log.ended


def test_a_seed_gives_the_same_run_again_and_another_another() -> None:
    keys = {"error_rate": 0.1, "arrivals": 5, "endpoint": "degrade"}
    assert pickle.dumps(run(7, **keys)) == pickle.dumps(run(7, **keys))
    assert pickle.dumps(run(7, **keys)) != pickle.dumps(run(8, **keys))


def test_arrivals_do_not_depend_on_what_the_pacer_remembers() -> None:
    one, two = run(arrivals=20), run(arrivals=20, remembered=95)
    shorter = min(len(one.fresh_at), len(two.fresh_at))
    assert shorter > 50
    assert (one.fresh_at[:shorter] == two.fresh_at[:shorter]).all()


@settings(max_examples=25)
@given(
    st.integers(1, 200),
    st.floats(5, 500),
    st.sampled_from(["shed", "brittle", "degrade"]),
    st.floats(0, 0.3),
    st.none() | st.floats(5, 500),
    st.none() | st.floats(0.5, 5),
    st.integers(0, 1_000),
)
def test_whatever_the_world_each_delivery_is_made_once_after_it_was_sent(  # noqa: PLR0913, PLR0917  a world has many sides
    waiting: int,
    capacity: float,
    endpoint: str,
    error_rate: float,
    remembered: float | None,
    handover: float | None,
    seed: int,
) -> None:
    log = run(
        seed,
        waiting=waiting,
        capacity=capacity,
        endpoint=endpoint,
        error_rate=error_rate,
        remembered=remembered,
        handover=handover,
        outage=30,
        watch=900,
    )
    assert (np.diff(log.attempts) >= 0).all()
    assert log.attempts.min(initial=math.inf) >= 0
    made = np.sort(log.delivered[np.isfinite(log.delivered)])
    assert len(log.attempts) >= len(made)
    # The n-th to be made cannot be made before the n-th was sent.
    assert (made >= log.attempts[: len(made)]).all()
    assert log.lost == 0
    assert log.ended <= 900


def test_an_endpoint_that_hangs_has_one_probe_in_the_air_at_a_time() -> None:
    log = run(waiting=5_000, outage=600, hangs=True, timeout=15, remembered=95)
    assert (np.diff(np.sort(log.before)) >= 15).all()
    assert log.spent <= RULE.failures + 600 / 15
    assert np.isfinite(log.delivered).all()


@pytest.mark.parametrize("refusal", [0.001, 0.05, 0.4])
def test_how_soon_a_refusal_comes_does_not_slow_a_lane(refusal: float) -> None:
    backlog = BacklogSettings(
        waiting=5_000, capacity=100, latency=0.4, refusal=refusal, remembered=95, outage=60
    )
    recovery = simulate(backlog, RULE, Chance(1)).recovery
    assert recovery is not None
    assert recovery < 1.35 * 50


def test_a_lane_that_was_slowed_to_a_crawl_climbs_again() -> None:
    dip = run(waiting=1_000, capacity=[[0, 200], [2, 1], [30, 200]], watch=300)
    assert dip.recovery is not None
    assert run(waiting=1_000, capacity=200, remembered=0.01, watch=600).recovery is not None


def test_probes_go_to_the_lanes_of_an_origin_in_turns() -> None:
    assert run(waiting=500, lanes=1, outage=600).most_spent == run(outage=600).spent
    assert run(waiting=500, lanes=4, outage=600).most_spent <= 6
    assert run(waiting=500, lanes=500, outage=600).most_spent == 1
