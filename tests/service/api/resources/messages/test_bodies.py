import json
import sys
from typing import Any

import pytest

from tarry.service.api.http.problem import Invalid, TooLarge
from tarry.service.api.resources.messages.bodies import BATCH, read_messages, written
from tarry.service.model.allowed import MOST_BYTES
from tarry.service.model.message import Message

TOO_DEEP = "deep" if sys.version_info < (3, 14) else "Expected `object`"
"""Python 3.14 has room on its stack for a hundred thousand lists, and sees that they are lists."""


def said(payload: str = "{}", **more: object) -> bytes:
    rest = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in more.items())
    return f'{{"eventType": "order.created", "payload": {payload}{rest}}}'.encode()


def kept(payload: bytes | None) -> Message:
    return Message(
        id="msg_1",
        application="app_1",
        event_type="a",
        payload=payload,
        accepted_at=1_700_000_000.5,
    )


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
    (one,) = read_messages(said(payload), batch=False)
    assert bytes(one.payload) == payload.encode()


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (b"", "it is empty"),
        (b"{", "truncated"),
        (b"[]", "object"),
        (b'{"payload": {}}', "eventType"),
        (b'{"eventType": "a"}', "payload"),
        (said("[1]"), "body.payload: Expected `object`"),
        (said('"text"'), "`object`"),
        (said("null"), "`object`"),
        (said('{"a": NaN}'), "malformed"),
        (said() + b" x", "trailing"),
        (said().replace(b"order", b"or\xffder"), "utf-8"),
        (said('{"a": "\\u00e9"}').replace(b"\\u00e9", b"\xff"), "utf-8"),
        pytest.param(said("[" * 100_000 + "]" * 100_000), TOO_DEEP, id="deep"),
        (said(eventId="no spaces"), "eventId"),
        (said(eventId=""), "eventId"),
        (said(eventId="a\n"), "eventId"),
        (said(eventId="msg_1"), "eventId"),
        pytest.param(said(eventId="x" * 257), "eventId", id="a long id"),
        (said().replace(b"order.", b"order/"), "eventType"),
        (said(channels=[]), "channels"),
        (said(channels=list("abcdefghijk")), "channels"),
        (said(channels=["a b"]), "channels"),
        (said(tags=["a\0b"]), "tags"),
        (said(deliverAt="2030-01-01"), "RFC3339"),
        (said(deliverAt="soon"), "deliverAt"),
        (said(application={"uid": "a"}), "application.name"),
        (said(transformationsParams={"rawPayload": 1}), "transformationsParams.rawPayload"),
        (
            said(transformationsParams={"headers": {"Content-Type": "text/xml\r\nx: y"}}),
            "transformationsParams.headers.content-type",
        ),
        (said(payloadRetentionPeriod=0), "payloadRetentionPeriod"),
        (said(payloadRetentionPeriod=91), "payloadRetentionPeriod"),
        (said(payloadRetentionHours=0), "payloadRetentionHours"),
        (said(payloadRetentionHours=1, payloadRetentionPeriod=5), "payloadRetentionHours"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(body: bytes, wrong: str) -> None:
    with pytest.raises(Invalid) as error:
        read_messages(body, batch=False)
    assert wrong in str(error.value)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(said('{"a": "' + "x" * MOST_BYTES + '"}'), id="payload"),
        pytest.param(said(transformationsParams={"rawPayload": "x" * (MOST_BYTES + 1)}), id="raw"),
    ],
)
def test_a_payload_that_is_too_long_is_refused_for_its_length(body: bytes) -> None:
    with pytest.raises(TooLarge, match=rf"body\.payload: at most {MOST_BYTES} bytes"):
        read_messages(body, batch=False)
    with pytest.raises(TooLarge, match=r"body\.1\.payload"):
        read_messages(b"[" + said() + b"," + body + b"]", batch=True)


@pytest.mark.parametrize("batch", [False, True])
def test_half_a_surrogate_pair_stays_in_a_payload_as_it_is(*, batch: bool) -> None:
    payload = rb'{"cut": "\ud83d", "\uDE00":"\ud83d\ude00 \\ud83d \ue000"}'
    body = said(payload.decode())
    (one, *_) = read_messages(b"[" + body + b"," + said() + b"]" if batch else body, batch=batch)
    assert one.body() == payload
    assert bytes(written(kept(payload), with_content=True).payload) == payload
    with pytest.raises(Invalid, match="outside of payloads"):
        read_messages(said(tags=["\ud800"]), batch=False)


def test_the_message_of_a_batch_that_is_wrong_is_named() -> None:
    with pytest.raises(Invalid, match=r"body\.1\.payload"):
        read_messages(b"[" + said() + b"," + said("1") + b"]", batch=True)
    with pytest.raises(Invalid, match=str(BATCH)):
        read_messages(b"[" + b",".join([said()] * (BATCH + 1)) + b"]", batch=True)


def test_a_payload_that_was_expunged_is_said_to_be_so() -> None:
    message = kept(None)
    assert bytes(written(message, with_content=True).payload) == b'{"expired":true}'
    assert bytes(written(message, with_content=False).payload) == b"{}"
    at = written(message, with_content=True).timestamp
    assert at.isoformat() == "2023-11-14T22:13:20.500000+00:00"


@pytest.mark.parametrize("raw", ['{"a":  1}', "<a/>", "", "[1]", "{", "é\u0000"])
def test_a_raw_payload_is_sent_as_it_is(raw: str) -> None:
    told = {"rawPayload": raw, "headers": {"content-type": "application/json; charset=utf-8"}}
    (one,) = read_messages(said(transformationsParams=told), batch=False)
    assert one.body() == raw.encode()
    assert one.content_type == "application/json; charset=utf-8"
    shown = json.loads(bytes(written(kept(one.body()), with_content=True).payload))
    assert shown == ({"a": 1} if raw.startswith('{"a"') else {"rawPayload": raw})


def test_what_a_transformation_is_told_changes_nothing_else() -> None:
    (one,) = read_messages(said('{"a": 1}', transformationsParams={"other": [1]}), batch=False)
    assert one.body() == b'{"a": 1}'


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
    (one,) = read_messages(said(transformationsParams={"headers": headers}), batch=False)
    assert one.content_type == kind


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({}, None),
        ({"payloadRetentionPeriod": 5}, 5 * 86_400.0),
        ({"payloadRetentionHours": 3, "payloadRetentionPeriod": None}, 10_800.0),
    ],
)
def test_a_payload_is_kept_for_as_long_as_is_told(
    told: dict[str, Any], seconds: float | None
) -> None:
    (one,) = read_messages(said(**told), batch=False)
    assert one.kept_for == seconds
