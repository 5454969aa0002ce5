import asyncio
import json
import sys
from typing import Any

import pytest

from tarry.service.api.http.problem import Invalid, TooLarge
from tarry.service.api.resources.messages.batch_shape import MOST_MESSAGES
from tarry.service.api.resources.messages.bodies import (
    MessageOut,
    message_out,
    read_messages,
)
from tarry.service.model.allowed import MOST_BYTES
from tarry.service.model.message import Message
from tarry.service.model.redaction import Redaction

TOO_DEEP = "deep" if sys.version_info < (3, 14) else "Expected `object`"
"""Python 3.14 has room on its stack for a hundred thousand lists, and sees that they are lists."""


def message_in(payload: str = "{}", **fields: object) -> bytes:
    rest = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())
    return f'{{"eventType": "order.created", "payload": {payload}{rest}}}'.encode()


def stored(payload: bytes | None) -> Message:
    return Message(
        id="msg_1",
        application="app_1",
        event_type="a",
        payload=payload,
        accepted_at=1_700_000_000.5,
    )


def show(message: Message, *rules: str, with_content: bool = True) -> MessageOut:
    return asyncio.run(message_out(message, Redaction.of(rules), with_content=with_content))


@pytest.mark.parametrize(
    "payload",
    [
        '{"n": 123456789012345678901234567890, "f": 1.10}',
        '{ "a" : 1 ,\n"a":2 }',
        '{"é": "\\u00e9 \\/"}',
        '{"nothing": "\\u0000"}',
    ],
)
def test_the_bytes_of_a_payload_are_kept(payload: str) -> None:
    (message,) = read_messages(message_in(payload), batch=False)
    assert bytes(message.payload) == payload.encode()


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (b"", "it is empty"),
        (b"{", "truncated"),
        (b"[]", "object"),
        (b'{"payload": {}}', "eventType"),
        (b'{"eventType": "a"}', "payload"),
        (message_in("[1]"), "body.payload: Expected `object`"),
        (message_in('"text"'), "`object`"),
        (message_in("null"), "`object`"),
        (message_in('{"a": NaN}'), "malformed"),
        (message_in() + b" x", "trailing"),
        (message_in().replace(b"order", b"or\xffder"), "utf-8"),
        (message_in('{"a": "\\u00e9"}').replace(b"\\u00e9", b"\xff"), "utf-8"),
        pytest.param(message_in("[" * 100_000 + "]" * 100_000), TOO_DEEP, id="deep"),
        (message_in(eventId="no spaces"), "eventId"),
        (message_in(eventId=""), "eventId"),
        (message_in(eventId="a\n"), "eventId"),
        (message_in(eventId="msg_1"), "eventId"),
        pytest.param(message_in(eventId="x" * 257), "eventId", id="a long id"),
        (message_in().replace(b"order.", b"order/"), "eventType"),
        (message_in(channels=[]), "channels"),
        (message_in(channels=list("abcdefghijk")), "channels"),
        (message_in(channels=["a b"]), "channels"),
        (message_in(tags=["a\0b"]), "tags"),
        (message_in(deliverAt="2030-01-01"), "RFC3339"),
        (message_in(deliverAt="soon"), "deliverAt"),
        (message_in(application={"uid": "a"}), "application.name"),
        (message_in(transformationsParams={"rawPayload": 1}), "transformationsParams.rawPayload"),
        (
            message_in(transformationsParams={"headers": {"Content-Type": "text/xml\r\nx: y"}}),
            "transformationsParams.headers.content-type",
        ),
        (message_in(payloadRetentionPeriod=0), "payloadRetentionPeriod"),
        (message_in(payloadRetentionPeriod=91), "payloadRetentionPeriod"),
        (message_in(payloadRetentionHours=0), "payloadRetentionHours"),
        (message_in(payloadRetentionHours=1, payloadRetentionPeriod=5), "payloadRetentionHours"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(body: bytes, wrong: str) -> None:
    with pytest.raises(Invalid) as error:
        read_messages(body, batch=False)
    assert wrong in str(error.value)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(message_in('{"a": "' + "x" * MOST_BYTES + '"}'), id="payload"),
        pytest.param(
            message_in(transformationsParams={"rawPayload": "x" * (MOST_BYTES + 1)}), id="raw"
        ),
    ],
)
def test_a_payload_that_is_too_long_is_refused_for_its_length(body: bytes) -> None:
    with pytest.raises(TooLarge, match=rf"body\.payload: at most {MOST_BYTES} bytes"):
        read_messages(body, batch=False)
    with pytest.raises(TooLarge, match=r"body\.1\.payload"):
        read_messages(b"[" + message_in() + b"," + body + b"]", batch=True)


@pytest.mark.parametrize("batch", [False, True])
def test_half_a_surrogate_pair_stays_in_a_payload_as_it_is(*, batch: bool) -> None:
    payload = rb'{"cut": "\ud83d", "\uDE00":"\ud83d\ude00 \\ud83d \ue000"}'
    body = message_in(payload.decode())
    (message, *_) = read_messages(
        b"[" + body + b"," + message_in() + b"]" if batch else body, batch=batch
    )
    assert message.body() == payload
    assert bytes(show(stored(payload)).payload) == payload
    with pytest.raises(Invalid, match="only allowed inside payloads"):
        read_messages(message_in(tags=["\ud800"]), batch=False)


def test_the_message_of_a_batch_that_is_wrong_is_named() -> None:
    with pytest.raises(Invalid, match=r"body\.1\.payload"):
        read_messages(b"[" + message_in() + b"," + message_in("1") + b"]", batch=True)
    with pytest.raises(Invalid, match=str(MOST_MESSAGES)):
        read_messages(b"[" + b",".join([message_in()] * (MOST_MESSAGES + 1)) + b"]", batch=True)


def test_a_payload_that_was_expunged_is_said_to_be_so() -> None:
    message = stored(None)
    assert bytes(show(message).payload) == b'{"expired":true}'
    assert bytes(show(message, with_content=False).payload) == b"{}"
    at = show(message).timestamp
    assert at.isoformat() == "2023-11-14T22:13:20.500000+00:00"


@pytest.mark.parametrize("raw", ['{"a":  1}', "<a/>", "", "[1]", "{", "é\u0000"])
def test_a_raw_payload_is_sent_as_it_is(raw: str) -> None:
    raw_in = {"rawPayload": raw, "headers": {"content-type": "application/json; charset=utf-8"}}
    (message,) = read_messages(message_in(transformationsParams=raw_in), batch=False)
    assert message.body() == raw.encode()
    assert message.content_type == "application/json; charset=utf-8"
    shown = json.loads(bytes(show(stored(message.body())).payload))
    assert shown == ({"a": 1} if raw.startswith('{"a"') else {"rawPayload": raw})


def test_a_redacted_payload_stays_an_object() -> None:
    payload = stored(b'{"a": 1, "card": {"number": "4242"}}')
    assert bytes(show(payload, "$.card.number").payload) == (
        b'{"a": 1, "card": {"number": "[redacted]"}}'
    )
    raw = stored(b'[{"number": "4242"}]')
    assert json.loads(bytes(show(raw, "$..number").payload)) == {
        "rawPayload": '[{"number": "[redacted]"}]'
    }
    broken = stored(b'{"number": "4242"')
    assert json.loads(bytes(show(broken, "$..number").payload)) == {
        "rawPayload": "[redacted: not complete JSON]"
    }


def test_what_a_transformation_is_told_changes_nothing_else() -> None:
    (message,) = read_messages(
        message_in('{"a": 1}', transformationsParams={"other": [1]}), batch=False
    )
    assert message.body() == b'{"a": 1}'


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({}, None),
        ({"Content-Type": "Application/JSON"}, None),
        ({"CONTENT-TYPE": "text/plain"}, "text/plain"),
        ({"x-other": "text/plain"}, None),
    ],
)
def test_a_message_may_be_sent_as_another_type(headers: dict[str, str], kind: str | None) -> None:
    (message,) = read_messages(message_in(transformationsParams={"headers": headers}), batch=False)
    assert message.content_type == kind


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({}, None),
        ({"payloadRetentionPeriod": 5}, 5 * 86_400.0),
        ({"payloadRetentionHours": 3, "payloadRetentionPeriod": None}, 10_800.0),
    ],
)
def test_a_payload_is_kept_for_as_long_as_is_told(
    fields: dict[str, Any], seconds: float | None
) -> None:
    (message,) = read_messages(message_in(**fields), batch=False)
    assert message.kept_for == seconds
