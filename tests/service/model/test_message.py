"""Messages are values: nobody changes one that was accepted."""

import pytest

from tarry.errors import SettingsError
from tarry.service.model.message import (
    MOST_IN_CHAIN,
    Accepted,
    NewMessage,
    check_chain,
    fingerprint,
)
from tarry.testing.samples import a_message


def test_a_message_cannot_be_changed() -> None:
    message = a_message("app_1")
    with pytest.raises(AttributeError):
        message.payload = b"other"  # type: ignore[misc]  # that is what is tried


def test_a_message_is_new_and_has_no_key_unless_said() -> None:
    message = a_message("app_1")
    assert NewMessage(message) == NewMessage(message, None, b"")
    assert not Accepted(message).repeated


def test_a_fingerprint_tells_applications_and_requests_apart_and_is_short() -> None:
    marks = {fingerprint(app, body) for app in ("app_1", "app_2") for body in (b"{}", b"{ }")}
    assert len(marks) == 4
    assert {len(mark) for mark in marks} == {32}
    assert fingerprint("app_1", b"x" * 1_000_000) == fingerprint("app_1", b"x" * 1_000_000)


def test_a_chain_may_have_so_many_deliveries_and_no_more() -> None:
    for chain in (0, MOST_IN_CHAIN - 1):
        check_chain(chain)
    for wrong in (-1, MOST_IN_CHAIN, True, "1"):
        with pytest.raises(SettingsError) as caught:
            check_chain(wrong)  # type: ignore[arg-type]  # wrong ones
        assert caught.value.field == "chain"
