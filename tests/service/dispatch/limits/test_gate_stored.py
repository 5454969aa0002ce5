"""A pacer's state, written down and taken up by another owner."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.pace import Mode, Pace, Phase, Sample
from tarry.core.pacer import handed_over
from tarry.core.probe import JITTER, LONGEST_ASKED
from tarry.core.window import Window
from tarry.service.dispatch.limits.gate import read_pace, write_pace
from tarry.testing.samples import NOON


def test_what_is_as_at_first_is_left_out() -> None:
    assert write_pace(Pace()) == b'{"phase":"closed"}'


def test_an_open_state_says_when_it_is_probed() -> None:
    pace = Pace(phase=Phase.OPEN, rate=0.0, probe_at=NOON + 5)
    assert write_pace(pace) == b'{"phase":"open","rate":0.0,"probe_at":1800000005.0}'


def test_a_new_owner_goes_on_where_the_old_one_was() -> None:
    pace = Pace(
        phase=Phase.OPEN,
        rate=0.0,
        goal=80.0,
        capacity=120.0,
        baseline=0.02,
        most=0.04,
        judged=300,
        epoch=4,
        climb=0.03,
        hold=4.0,
        failed_at=130.0,
        latency=0.2,
        usual=0.1,
        down_since=NOON - 600,
        probes=12,
        probe_at=NOON + 30,
    )
    found = read_pace(write_pace(pace), now=NOON)
    assert found == handed_over(pace, now=NOON)
    assert (found.phase, found.probes, found.probe_at) == (Phase.OPEN, 12, NOON + 30)
    assert (found.capacity, found.down_since, found.epoch) == (120.0, NOON - 600, 5)


def test_what_is_about_attempts_in_the_air_is_not_handed_over() -> None:
    pace = Pace(
        phase=Phase.PACED,
        mode=Mode.TEST,
        rate=40.0,
        tried=50.0,
        sample=Sample(8, 2),
        run=9,
        streak=4,
        top=99.0,
        answered=Window(1, ((3, 4),)),
        passed_at=NOON - 99,
    )
    assert read_pace(write_pace(pace), now=NOON) == handed_over(
        Pace(phase=Phase.PACED, rate=40.0), now=NOON
    )


def test_no_probe_is_further_away_than_an_endpoint_may_ask_for() -> None:
    pace = Pace(phase=Phase.OPEN, rate=0.0, probe_at=NOON + 10 * LONGEST_ASKED)
    assert read_pace(write_pace(pace), now=NOON).probe_at == NOON + LONGEST_ASKED * (1 + JITTER)


@pytest.mark.parametrize(
    "text",
    [
        b"nonsense",
        b"[]",
        b"7",
        b'{"phase":"ajar"}',
        b'{"phase":"open","rate":"fast"}',
        b'{"phase":"open","rate":null}',
        b'{"phase":"open","probes":"1e3"}',
        b'{"phase":"open","rate":1e999}',
        b"\xff\xfe",
    ],
)
def test_what_cannot_be_read_is_as_good_as_nothing(text: bytes) -> None:
    assert read_pace(text, now=NOON) == Pace()


def test_nothing_written_down_is_a_fresh_state() -> None:
    assert read_pace(b"", now=NOON) == Pace()


def test_what_a_newer_version_wrote_besides_is_passed_over() -> None:
    text = b'{"phase":"paced","rate":12,"mood":"good","streak":5}'
    assert read_pace(text, now=NOON) == handed_over(Pace(phase=Phase.PACED, rate=12.0), now=NOON)


@given(st.binary(max_size=60))
def test_no_bytes_make_it_fail(text: bytes) -> None:
    assert read_pace(text, now=NOON).phase in Phase


KEPT = (
    *("baseline", "climb", "hold", "latency", "usual", "down_since", "capacity", "goal", "rate"),
    "held_until",
)


@given(
    phase=st.sampled_from(Phase),
    numbers=st.dictionaries(
        st.sampled_from(KEPT), st.floats(0, 1e9) | st.just(math.inf), max_size=len(KEPT)
    ),
    counts=st.dictionaries(st.sampled_from(("judged", "probes", "epoch")), st.integers(0, 10**6)),
)
def test_written_and_read_it_is_the_same(
    phase: Phase, numbers: dict[str, float], counts: dict[str, int]
) -> None:
    finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
    found = read_pace(write_pace(Pace(phase=phase).replace(**numbers, **counts)), now=NOON)
    assert found == handed_over(Pace(phase=phase).replace(**finite, **counts), now=NOON)
    assert all(isinstance(getattr(found, name), int) for name in counts)
