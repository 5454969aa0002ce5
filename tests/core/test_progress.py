import math

from hypothesis import given
from hypothesis import strategies as st

from tarry.core.outcome import Again
from tarry.core.progress import Progress


def test_an_effort_begins_with_its_first_attempt_and_no_end_from_outside() -> None:
    assert Progress() == Progress(attempts=1, started_at=0.0, memory=None, deadline_at=math.inf)


@given(attempts=st.integers(1, 100), memory=st.none() | st.floats(0, 10))
def test_another_attempt_keeps_all_but_the_count_and_the_memory(
    attempts: int, memory: float | None
) -> None:
    progress = Progress(attempts=attempts, started_at=3.0, memory=0.5, deadline_at=9.0)
    assert progress.after(Again(1.0, memory)) == Progress(attempts + 1, 3.0, memory, 9.0)
