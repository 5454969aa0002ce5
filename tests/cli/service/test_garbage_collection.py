"""While a service runs, Python looks for garbage now and then; afterwards as before."""

import gc

import pytest

from tarry.cli.service.garbage_collection import YOUNG, seldom_collected


class Knot:
    """Holds on to itself."""

    def __init__(self) -> None:
        self.me = self


def looks_at_garbage(made: int) -> int:
    """How often Python looks while so many knots are made and thrown away."""
    looks = 0

    def note(phase: str, _info: dict[str, int]) -> None:
        nonlocal looks
        looks += phase == "start"

    gc.callbacks.append(note)
    for _ in range(made):
        Knot()
    gc.callbacks.remove(note)
    return looks


def test_garbage_is_looked_for_now_and_then_only() -> None:
    often = looks_at_garbage(3 * YOUNG)
    with seldom_collected():
        assert 1 <= looks_at_garbage(3 * YOUNG) <= 6 < often


def test_what_was_there_before_is_left_alone() -> None:
    with seldom_collected():
        assert gc.get_freeze_count() > 0


def test_afterwards_it_is_as_before() -> None:
    before = gc.get_threshold()
    with pytest.raises(RuntimeError, match="over"), seldom_collected():
        raise RuntimeError("over")
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
