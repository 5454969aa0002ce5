import math
from datetime import timedelta

import pytest

from tarry.core.probe_rule import ProbeRule
from tarry.errors import PolicyError


def test_the_defaults_are_those_of_the_documentation() -> None:
    rule = ProbeRule()
    assert rule.latest(7_200, waiting=1) == pytest.approx(360.0)
    assert rule.latest(7_200, waiting=999) == pytest.approx(360.0)
    assert rule.latest(7_200, waiting=1_000) == pytest.approx(72.0)
    assert rule.latest(500_000, waiting=1) == 3_600.0


def test_durations_may_be_timedeltas() -> None:
    rule = ProbeRule(steady=timedelta(minutes=30), at_most=timedelta(minutes=20))
    assert (rule.steady, rule.at_most) == (1_800.0, 1_200.0)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("late", 0, "a number from 0.001 to 1"),
        ("late", 1.5, "a number from 0.001 to 1"),
        ("late_large", math.nan, "a number from 0.001 to 1"),
        ("large", 0, "a whole number, 1 or more"),
        ("steady", -1, "a number of seconds from 0"),
        ("at_most", 0.5, "a number of seconds from 1 to 3,600"),
        ("at_most", 3_601, "a number of seconds from 1 to 3,600"),
        ("at_most", "soon", "a number of seconds from 1 to 3,600"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(field: str, value: float, wanted: str) -> None:
    with pytest.raises(PolicyError, match=wanted) as refused:
        ProbeRule(**{field: value})  # type: ignore[arg-type]
    assert refused.value.field == f"probe.{field}"
    assert refused.value.value is value
