import pytest

from tarry.service.api.http.problem import Invalid
from tarry.service.api.resources.messages.batch_shape import (
    LARGE,
    MOST_DECODED,
    MOST_FIELD,
    MOST_MESSAGES,
    check_shape,
)

LONG = b'{"payload": {"a": "' + b"x" * LARGE + b'"}}'


def test_a_small_body_is_not_looked_at() -> None:
    check_shape(b"[" + b"[]," * 1000 + b"x", batch=True)


def test_long_payloads_will_do() -> None:
    check_shape(LONG, batch=False)
    check_shape(b"[" + b",".join([LONG] * 100) + b"]", batch=True)


@pytest.mark.parametrize("times", [1, 2])
def test_messages_are_counted_for_each_body_anew(times: int) -> None:
    small = b'{"tags": ["' + b"x" * 100 + b'"]}'
    for _ in range(times):
        check_shape(b"[" + b",".join([small] * MOST_MESSAGES) + b"]", batch=True)
        with pytest.raises(Invalid, match=f"length <= {MOST_MESSAGES}") as refused:
            check_shape(b"[" + b",".join([small] * (MOST_MESSAGES + 1)) + b"]", batch=True)
        assert refused.value.place == ["body", str(MOST_MESSAGES)]


def test_the_first_entry_that_is_no_message_ends_it() -> None:
    with pytest.raises(Invalid) as refused:
        check_shape(b"[" + b"[]," * LARGE + b"[]]", batch=True)
    assert refused.value.place == ["body", "0"]


@pytest.mark.parametrize(
    "field",
    [
        b'"tags": [%b]',
        b'"channels": [%b]',
        b'"application": {"name": "a", "metadata": [%b]}',
        b'"transformationsParams": {"headers": [%b]}',
    ],
)
@pytest.mark.parametrize("batch", [False, True])
def test_a_field_that_is_too_long_is_refused(field: bytes, *, batch: bool) -> None:
    body = b"{" + field % (b'"a",' * (MOST_FIELD // 4) + b'"a"') + b"}"
    with pytest.raises(Invalid, match=f"has more than {MOST_FIELD} bytes"):
        check_shape(b"[" + body + b"]" if batch else body, batch=batch)


@pytest.mark.parametrize(
    "field", [b'"application": {%b}', b'"transformationsParams": {"headers": {%b}}']
)
def test_fields_that_are_short_but_too_long_together_are_refused(field: bytes) -> None:
    entry = b"{" + field % (b'"a":"a",' * 1000 + b'"a":"a"') + b"}"
    fitting = MOST_DECODED // 8100
    check_shape(b"[" + b",".join([entry] * fitting) + b"]", batch=True)
    with pytest.raises(Invalid, match=f"more than {MOST_DECODED} bytes; send the messages in"):
        check_shape(b"[" + b",".join([entry] * (fitting + 2)) + b"]", batch=True)
