"""Steps come as often as they are meant to."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tarry.testing.store_machine import StoreMachine
from tarry.testing.store_machine.step import Step, any_step

seen: Counter[str] = Counter()


@settings(max_examples=40, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=st.lists(any_step(), min_size=50, max_size=50))
def _draw(steps: list[Step]) -> None:
    seen.update(name for name, _ in steps)


def test_every_step_is_there_and_what_matters_comes_more_often() -> None:
    seen.clear()
    _draw()
    assert len(seen) > 20
    assert all(callable(getattr(StoreMachine, name)) for name in seen)
    assert seen["send"] > 2 * seen["sweep"]
    assert seen["add_messages"] > seen["expire"]
