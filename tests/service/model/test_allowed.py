import json
from typing import Any

import pytest

from tarry.errors import SettingsError
from tarry.service.api.http.problem import Invalid, TooLarge
from tarry.service.api.resources.messages.bodies import read_messages
from tarry.service.model.allowed import MOST_BYTES, check_names, check_size

NAMES: dict[str, Any] = {"event_type": "a.b-c_D7", "event_id": None, "channels": (), "tags": ()}


def test_what_may_be_part_of_a_url_will_do() -> None:
    check_names(**NAMES)
    names = NAMES | {"event_id": "7.a", "channels": ["eu:west+1"] * 10, "tags": ["any ✓ text"] * 50}
    check_names(**names)
    check_size(bytes(MOST_BYTES))


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("event_type", "a b", "letters, digits, and any of - _ ."),
        ("event_type", "a\n", "letters, digits"),
        ("event_type", "x" * 257, "at most 256 characters"),
        ("event_id", "msg_1", "not begin with msg_"),
        ("event_id", "", "something in it"),
        ("channels", ["eu west"], r"any of - _ \. : \+"),
        ("channels", ["x" * 129], "at most 128 characters"),
        ("channels", ["x"] * 11, "is '11 of them'; it must be at most 10"),
        ("tags", ["x" * 129], "at most 128 characters"),
        ("tags", ["x"] * 51, "at most 50"),
        ("tags", ["\0"], "without NUL"),
    ],
)
def test_what_http_would_refuse_is_refused_and_why_is_said(
    field: str, value: object, wanted: str
) -> None:
    with pytest.raises(SettingsError, match=rf"{field}.*{wanted}"):
        check_names(**NAMES | {field: value})
    camel = {"event_type": "eventType", "event_id": "eventId"}.get(field, field)
    body = {"eventType": "a", "payload": {}, camel: value}
    with pytest.raises(Invalid, match=camel):
        read_messages(json.dumps(body).encode(), batch=False)


def test_a_payload_that_http_would_refuse_is_refused() -> None:
    payload = b'{"a":"' + b"x" * MOST_BYTES + b'"}'
    with pytest.raises(SettingsError, match=f"payload.*{len(payload)} bytes.*at most {MOST_BYTES}"):
        check_size(payload)
    with pytest.raises(TooLarge, match=f"at most {MOST_BYTES} bytes"):
        read_messages(b'{"eventType":"a","payload":' + payload + b"}", batch=False)
