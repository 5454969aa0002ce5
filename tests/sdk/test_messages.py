"""Messages as programs of the SDK send, list and forget them."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from svix.api import (
    MessageCreateOptions,
    MessageGetOptions,
    MessageListOptions,
    SvixAsync,
    SvixOptions,
)
from svix.api.message import message_in_raw
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import (
    ApplicationIn,
    BackgroundTaskStatus,
    BulkExpungeContentsIn,
    EndpointIn,
    EndpointPatch,
    MessageIn,
    MessageOut,
    MessagePrecheckIn,
)

from tarry.testing.receiver import Receiver
from tests.sdk.conftest import KEY, Sdk, until

CONTENT = MessageGetOptions(with_content=True)
PAYLOAD = {"big": 2**70, "rate": 1.10, "text": "Zoë", "none": None}


def test_a_message_is_told_whole_and_shown_whole(sdk: Sdk, app: str) -> None:
    sent = sdk.message.create(
        app,
        MessageIn(
            event_type="order.paid",
            payload=PAYLOAD,
            event_id="order-7",
            channels=["eu", "us"],
            tags=["urgent"],
            payload_retention_period=5,
        ),
        MessageCreateOptions(with_content=True),
    )
    assert isinstance(sent, MessageOut)
    assert (sent.event_type, sent.event_id, sent.payload) == ("order.paid", "order-7", PAYLOAD)
    assert (sorted(sent.channels or ()), sent.tags) == (["eu", "us"], ["urgent"])
    assert datetime.now(UTC) - sent.timestamp < timedelta(minutes=1)
    assert sdk.message.get(app, sent.id, CONTENT) == sent
    assert sdk.message.get(app, "order-7", CONTENT) == sent
    bare = sent.model_copy(update={"payload": {}})
    assert sdk.message.get(app, sent.id) == bare
    assert sdk.message.list(app).data == [bare]
    assert sdk.message.list(app, MessageListOptions(with_content=True)).data == [sent]


def test_a_message_without_its_content_is_answered_so(sdk: Sdk, app: str) -> None:
    sent = sdk.message.create(app, MessageIn(event_type="a.b", payload=PAYLOAD))
    assert sent.payload == {}
    assert sdk.message.get(app, sent.id, CONTENT).payload == PAYLOAD


def test_an_event_id_is_given_once_in_an_application(sdk: Sdk, app: str) -> None:
    told = MessageIn(event_type="a.b", payload={}, event_id="once")
    sdk.message.create(app, told)
    with pytest.raises(HttpError) as error:
        sdk.message.create(app, told)
    assert (error.value.status_code, error.value.code) == (409, "conflict")
    elsewhere = sdk.application.create(ApplicationIn(name="Elsewhere")).id
    assert sdk.message.create(elsewhere, told).event_id == "once"


def test_an_idempotency_key_sends_once_and_answers_the_same(
    sdk: Sdk, app: str, uid: str, receiver: Receiver
) -> None:
    sdk.endpoint.create(app, EndpointIn(url=receiver.url))
    told = MessageIn(event_type="a.b", payload={"n": 1}, event_id="once")
    options = MessageCreateOptions(idempotency_key=uid, with_content=True)
    first, second = (sdk.message.create(app, told, options) for _ in range(2))
    assert first == second
    sdk.message.create(app, MessageIn(event_type="a.b", payload={"n": 2}))
    until(lambda: len(receiver.arrivals) > 1)
    assert len(sdk.message.list(app).data) == 2


def test_one_event_is_sent_to_many_applications_under_one_key(sdk: Sdk, uid: str) -> None:
    told = MessageIn(event_type="a.b", payload={"n": 1})
    options = MessageCreateOptions(idempotency_key=uid)
    apps = [sdk.application.create(ApplicationIn(name=f"App {n}")).id for n in range(2)]
    first, second = ([sdk.message.create(app, told, options).id for app in apps] for _ in range(2))
    assert first == second
    assert len(set(first)) == 2
    with pytest.raises(HttpError) as error:
        sdk.message.create(apps[0], MessageIn(event_type="a.b", payload={"n": 2}), options)
    assert (error.value.status_code, error.value.code) == (409, "conflict")


def test_duplicates_at_the_same_moment_are_one_message(server: str, sdk: Sdk, uid: str) -> None:
    app = sdk.application.create(ApplicationIn(name="Acme")).id

    async def at_once() -> list[MessageOut]:
        client = SvixAsync(KEY, SvixOptions(server_url=server))
        told = MessageIn(event_type="a.b", payload={"n": 1})
        options = MessageCreateOptions(idempotency_key=uid)
        try:
            sending = (client.message.create(app, told, options) for _ in range(20))
            return await asyncio.gather(*sending)
        finally:
            await client._httpx_client.aclose()  # noqa: SLF001  the SDK itself does not close it

    assert len({one.id for one in asyncio.run(at_once())}) == 1
    assert len(sdk.message.list(app).data) == 1


def test_only_endpoints_that_want_a_message_get_it(
    sdk: Sdk, app: str, kind: str, receiver: Receiver
) -> None:
    def made(name: str, **told: Any) -> None:  # noqa: ANN401  any of its fields
        url = receiver.url.replace("/hook", f"/{name}")
        sdk.endpoint.create(app, EndpointIn(url=url, **told))

    made("typed", event_types=[kind])
    made("channelled", channels=["eu"])
    made("both", event_types=[kind], channels=["eu"])
    made("any")
    cases: list[tuple[str, list[str] | None, set[str]]] = [
        (kind, ["eu", "us"], {"typed", "channelled", "both", "any"}),
        (kind, ["us"], {"typed", "any"}),
        (kind, None, {"typed", "any"}),
        ("other", ["eu"], {"channelled", "any"}),
        ("other", None, {"any"}),
    ]
    for event_type, channels, wanting in cases:
        told = MessageIn(event_type=event_type, payload={}, channels=channels)
        message = sdk.message.create(app, told).id
        destinations = sdk.message_attempt.list_attempted_destinations(app, message).data
        assert {destination.url.rpartition("/")[2] for destination in destinations} == wanting
    until(lambda: len(receiver.arrivals) == sum(len(wanting) for *_, wanting in cases))


def test_whether_anybody_would_get_a_message_is_asked_before(sdk: Sdk, app: str, kind: str) -> None:
    def active(event_type: str, *channels: str) -> bool:
        told = MessagePrecheckIn(event_type=event_type, channels=list(channels) or None)
        return bool(sdk.message.precheck(app, told).active)

    assert not active(kind)
    endpoint = EndpointIn(url="https://example.org", event_types=[kind], channels=["eu"])
    made = sdk.endpoint.create(app, endpoint).id
    assert active(kind, "eu", "us")
    assert not active(kind)
    assert not active("other", "eu")
    sdk.endpoint.patch(app, made, EndpointPatch(disabled=True))
    assert not active(kind, "eu")


def test_a_message_waits_for_its_time(sdk: Sdk, app: str, receiver: Receiver) -> None:
    sdk.endpoint.create(app, EndpointIn(url=receiver.url))
    at = datetime.now(UTC) + timedelta(hours=1)
    later = sdk.message.create(app, MessageIn(event_type="a.b", payload={}, deliver_at=at))
    assert abs(later.deliver_at - at) < timedelta(milliseconds=1)
    now = sdk.message.create(app, MessageIn(event_type="a.b", payload={}))
    until(lambda: receiver.arrivals)
    assert [arrival.id for arrival in receiver.arrivals] == [now.id]
    (there,) = sdk.message_attempt.list_attempted_destinations(app, later.id).data
    assert there.status_text == "pending"
    assert abs(there.next_attempt - at) < timedelta(seconds=1)


def test_a_message_for_a_moment_to_come_is_delivered_then(
    sdk: Sdk, app: str, receiver: Receiver
) -> None:
    sdk.endpoint.create(app, EndpointIn(url=receiver.url))
    at = datetime.now(UTC) + timedelta(seconds=0.5)
    sent = sdk.message.create(app, MessageIn(event_type="a.b", payload={}, deliver_at=at))
    until(lambda: receiver.arrivals)
    assert datetime.now(UTC) >= at
    assert [arrival.id for arrival in receiver.arrivals] == [sent.id]


def test_an_application_is_made_with_its_first_message(sdk: Sdk, uid: str) -> None:
    with pytest.raises(HttpError) as error:
        sdk.message.create(uid, MessageIn(event_type="a.b", payload={}))
    assert error.value.status_code == 404
    told = MessageIn(event_type="a.b", payload={}, application=ApplicationIn(name="Acme", uid=uid))
    sdk.message.create(uid, told)
    assert sdk.application.get(uid).name == "Acme"
    told.application = ApplicationIn(name="Renamed", uid=uid)
    sdk.message.create(uid, told)
    assert sdk.application.get(uid).name == "Acme"
    assert len(sdk.message.list(uid).data) == 2
    with pytest.raises(HTTPValidationError) as refused:
        sdk.message.create(f"{uid}-other", told)
    assert refused.value.detail[0].loc == ["body", "application", "uid"]


def test_a_body_is_sent_as_it_is(sdk: Sdk, app: str, receiver: Receiver) -> None:
    sdk.endpoint.create(app, EndpointIn(url=receiver.url))
    body = '{ "b":1.10,"a" : "\\u00e9" }'
    sdk.message.create(app, message_in_raw("a.b", body))
    until(lambda: receiver.arrivals)
    assert receiver.arrivals[0].body == body.encode()


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"event_type": "no spaces"}, "eventType"),
        ({"channels": []}, "channels"),
        ({"channels": ["no spaces"]}, "channels"),
        ({"event_id": "no spaces"}, "eventId"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(
    sdk: Sdk, app: str, body: dict[str, Any], place: str
) -> None:
    with pytest.raises(HTTPValidationError) as error:
        sdk.message.create(app, MessageIn(**{"event_type": "a.b", "payload": {}, **body}))
    assert error.value.detail[0].loc[:2] == ["body", place]


def test_a_message_that_is_too_large_is_refused(sdk: Sdk, app: str) -> None:
    with pytest.raises(HttpError) as error:
        sdk.message.create(app, MessageIn(event_type="a.b", payload={"a": "payload-" * 1_000_000}))
    assert (error.value.status_code, error.value.code) == (413, "payload_too_large")


def test_messages_are_found_by_every_filter(sdk: Sdk, app: str) -> None:
    def sent(event_type: str, **told: Any) -> Any:  # noqa: ANN401  the SDK's
        return sdk.message.create(app, MessageIn(event_type=event_type, payload={}, **told))

    first = sent("a.b", channels=["eu"], tags=["x"])
    second = sent("c.d", channels=["eu", "us"])
    third = sent("e.f", tags=["x", "y"])

    def found(**options: Any) -> list[str]:  # noqa: ANN401  any of its options
        return [one.id for one in sdk.message.list(app, MessageListOptions(**options)).data]

    assert found() == [third.id, second.id, first.id]
    assert found(channel="eu") == [second.id, first.id]
    assert found(channel="us") == [second.id]
    assert found(tag="x") == [third.id, first.id]
    assert found(tag="y", event_types=["a.b"]) == []
    assert found(event_types=["a.b", "e.f"]) == [third.id, first.id]
    assert found(after=second.timestamp + timedelta(milliseconds=1))[:1] == [third.id]
    assert found(before=first.timestamp - timedelta(milliseconds=1)) == []
    span = timedelta(minutes=1)
    everything = found(after=first.timestamp - span, before=third.timestamp + span)
    assert everything == [third.id, second.id, first.id]


def test_a_time_without_a_zone_is_in_utc(sdk: Sdk, app: str) -> None:
    later = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1)  # the SDK sends it so
    told = MessageIn(event_type="a.b", payload={}, deliver_at=later)
    message = sdk.message.create(app, told)
    assert message.deliver_at == later.replace(tzinfo=UTC)
    assert sdk.message.list(app, MessageListOptions(before=later)).data == [message]
    assert sdk.message.list(app, MessageListOptions(after=later)).data == []


def test_messages_are_walked_both_ways(sdk: Sdk, app: str) -> None:
    sent = [sdk.message.create(app, MessageIn(event_type="a.b", payload={})).id for _ in range(5)]

    def listed(**options: Any) -> Any:  # noqa: ANN401  the SDK's
        page = sdk.message.list(app, MessageListOptions(limit=2, **options))
        return [one.id for one in page.data], page

    shown, first = listed()
    assert (shown, first.done) == ([sent[4], sent[3]], False)
    shown, second = listed(iterator=first.iterator)
    assert (shown, second.done) == ([sent[2], sent[1]], False)
    shown, third = listed(iterator=second.iterator)
    assert (shown, third.done) == ([sent[0]], True)
    shown, back = listed(iterator=third.prev_iterator)
    assert (shown, back.done) == ([sent[2], sent[1]], False)
    shown, back = listed(iterator=back.prev_iterator)
    assert (shown, back.done) == ([sent[4], sent[3]], True)


def test_what_a_message_said_is_forgotten(sdk: Sdk, app: str) -> None:
    sent = [
        sdk.message.create(app, MessageIn(event_type="a.b", payload=PAYLOAD, event_id=f"e{n}"))
        for n in range(4)
    ]
    assert sdk.message.expunge_content(app, "e0") is None
    told = BulkExpungeContentsIn(ids=[sent[1].id, "e2", "never-there"])
    results = sdk.message.bulk_expunge_content(app, told).results
    assert results == {sent[1].id: "expunged", "e2": "expunged", "never-there": "not-found"}
    payloads = [sdk.message.get(app, one.id, CONTENT).payload for one in sent]
    assert payloads == [{"expired": True}] * 3 + [PAYLOAD]
    task = sdk.message.expunge_all_contents(app)
    until(lambda: sdk.background_task.get(task.id).status == BackgroundTaskStatus.FINISHED)
    assert sdk.message.get(app, "e3", CONTENT).payload == {"expired": True}
    with pytest.raises(HttpError) as error:
        sdk.message.expunge_content(app, "never-there")
    assert error.value.status_code == 404


def test_big_numbers_and_letters_of_all_kinds_arrive(
    sdk: Sdk, app: str, receiver: Receiver
) -> None:
    sdk.endpoint.create(app, EndpointIn(url=receiver.url))
    sdk.message.create(app, MessageIn(event_type="a.b", payload=PAYLOAD))
    until(lambda: receiver.arrivals)
    assert json.loads(receiver.arrivals[0].body) == PAYLOAD
