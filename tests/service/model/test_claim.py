"""A claim passes on when its holder's time is up, to who asks for the same."""

import pytest

from tarry.testing.samples import NOON, a_claim


@pytest.mark.parametrize(
    ("now", "status", "fingerprint", "passes"),
    [
        (NOON + 9, None, b"same", False),
        (NOON + 10, None, b"same", True),
        (NOON + 10, None, b"another", False),
        (NOON + 10, 201, b"same", False),
    ],
)
def test_a_claim_passes_to_who_asks_for_the_same_when_time_is_up(
    now: float, status: int | None, fingerprint: bytes, *, passes: bool
) -> None:
    held = a_claim("first", fingerprint=b"same", status=status)
    assert held.passes_to(a_claim("second", fingerprint=fingerprint), now) is passes
