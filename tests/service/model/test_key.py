"""A key is valid until it expires or is revoked."""

import pytest

from tarry.testing.samples import NOON, a_key


@pytest.mark.parametrize(
    ("expires_at", "revoked_at", "is_valid", "ends_at"),
    [
        (None, None, True, None),
        (NOON + 1, None, True, NOON + 1),
        (NOON, None, False, NOON),
        (None, NOON - 1, False, NOON - 1),
        (NOON + 1, NOON - 1, False, NOON - 1),
        (NOON - 2, NOON - 1, False, NOON - 2),
    ],
)
def test_a_key_is_valid_until_it_expires_or_is_revoked(
    expires_at: float | None, revoked_at: float | None, ends_at: float | None, *, is_valid: bool
) -> None:
    key = a_key(expires_at=expires_at, revoked_at=revoked_at)
    assert key.is_valid_at(NOON) is is_valid
    assert key.ends_at == ends_at


def test_a_key_is_revoked_once_and_expires_no_later_than_it_would() -> None:
    key = a_key(expires_at=NOON + 90)
    assert key.revoked(NOON).revoked(NOON + 1).revoked_at == NOON
    assert key.revoked(NOON, 60.0).expires_at == NOON + 60
    assert key.revoked(NOON, 120.0) == key
    assert a_key().revoked(NOON, 60.0).expires_at == NOON + 60
    assert key.revoked(NOON).revoked(NOON, 60.0).expires_at == NOON + 90
