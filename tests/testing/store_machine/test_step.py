"""Steps come as often as they are meant to."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tarry.testing.store_machine import StoreMachine
from tarry.testing.store_machine.step import Step, any_step

drawn: Counter[str] = Counter()


@settings(max_examples=40, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=st.lists(any_step(), min_size=50, max_size=50))
def _draw(steps: list[Step]) -> None:
    drawn.update(name for name, _ in steps)


def test_every_step_is_there_and_what_matters_comes_more_often() -> None:
    drawn.clear()
    _draw()
    assert len(drawn) > 20
    assert all(callable(getattr(StoreMachine, name)) for name in drawn)
    assert drawn["send"] > 2 * drawn["sweep"]
    assert drawn["add_messages"] > drawn["expire"]
