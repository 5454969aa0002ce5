"""Messages are values: nobody changes one that was accepted."""

import pytest

from tarry.service.model.message import Accepted, NewMessage
from tarry.testing.samples import a_message


def test_a_message_cannot_be_changed() -> None:
    message = a_message("app_1")
    with pytest.raises(AttributeError):
        message.payload = b"other"  # type: ignore[misc]  # that is what is tried


def test_a_message_is_new_and_has_no_key_unless_said() -> None:
    message = a_message("app_1")
    assert NewMessage(message) == NewMessage(message, None, b"")
    assert not Accepted(message).repeated
