"""Attempts and how messages stand, as programs of the SDK see them."""

from datetime import timedelta
from typing import Any

import pytest
from svix.api import (
    MessageAttemptListAttemptedDestinationsOptions,
    MessageAttemptListAttemptedMessagesOptions,
    MessageAttemptListByEndpointOptions,
    MessageAttemptListByMsgOptions,
    MessageAttemptResendOptions,
)
from svix.exceptions import HttpError
from svix.models import (
    EndpointIn,
    EndpointPatch,
    MessageAttemptOut,
    MessageAttemptTriggerType,
    MessageIn,
    MessageStatus,
    MessageStatusText,
    StatusCodeClass,
)

from tarry.testing.receiver import Receiver
from tests.sdk.conftest import Sdk, until


@pytest.fixture
def endpoint(sdk: Sdk, app: str, receiver: Receiver) -> str:
    return str(sdk.endpoint.create(app, EndpointIn(url=receiver.url, uid="main")).id)


class Sent:
    """Sends messages of one application and asks what became of them."""

    def __init__(self, sdk: Sdk, app: str) -> None:
        self._sdk, self._app = sdk, app

    def __call__(self, event_type: str = "a.b", **told: Any) -> str:  # noqa: ANN401  any field
        message = MessageIn(event_type=event_type, payload={"n": 1}, **told)
        return str(self._sdk.message.create(self._app, message).id)

    def attempted(self, event_type: str = "a.b", **told: Any) -> str:  # noqa: ANN401  any field
        """The same, once it was tried."""
        message = self(event_type, **told)
        until(lambda: self.attempts(message))
        return message

    def stands(self, message: str) -> Any:  # noqa: ANN401  the SDK's
        """How a message stands with its only endpoint."""
        (found,) = self._sdk.message_attempt.list_attempted_destinations(self._app, message).data
        return found

    def attempts(self, message: str, **options: Any) -> list[MessageAttemptOut]:  # noqa: ANN401  any
        """The attempts at a message."""
        asked = MessageAttemptListByMsgOptions(**options)
        return list(self._sdk.message_attempt.list_by_msg(self._app, message, asked).data)


@pytest.fixture
def sent(sdk: Sdk, app: str) -> Sent:
    return Sent(sdk, app)


def test_an_attempt_tells_what_was_answered(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, sent: Sent
) -> None:
    message = sent(event_id="first")
    until(lambda: sent.attempts(message))
    (attempt,) = sent.attempts("first", with_content=True)
    assert isinstance(attempt, MessageAttemptOut)
    assert (attempt.msg_id, attempt.endpoint_id) == (message, endpoint)
    assert (attempt.url, attempt.response_status_code) == (receiver.url, 200)
    assert (attempt.status, attempt.status_text) == (MessageStatus.SUCCESS, "success")
    assert attempt.trigger_type == MessageAttemptTriggerType.SCHEDULED
    assert attempt.response_duration_ms >= 0
    assert sdk.message_attempt.get(app, message, attempt.id) == attempt
    assert sdk.message_attempt.expunge_content(app, message, attempt.id) is None
    assert sdk.message_attempt.get(app, message, attempt.id).response == "EXPUNGED"
    with pytest.raises(HttpError) as error:
        sdk.message_attempt.get(app, message, "atmpt_never-there")
    assert (error.value.status_code, error.value.code) == (404, "not_found")


def test_an_attempt_without_an_answer_says_so(sdk: Sdk, app: str, sent: Sent) -> None:
    with Receiver() as gone:
        url = gone.url
    sdk.endpoint.create(app, EndpointIn(url=url))
    message = sent()
    until(lambda: sent.attempts(message, status_code_class=StatusCodeClass.CODE_NONE))
    attempt = sent.attempts(message)[0]
    assert (attempt.response_status_code, attempt.status) == (0, MessageStatus.FAIL)
    (full,) = sent.attempts(message, with_content=True)[-1:]
    assert full.response


def test_how_a_message_stands(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, sent: Sent
) -> None:
    receiver.script([200, 400, 500])
    took = sent()
    until(lambda: sent.stands(took).status_text == MessageStatusText.SUCCESS)
    refused = sent()
    until(lambda: sent.stands(refused).status_text == MessageStatusText.FAIL)
    waits = sent()
    until(lambda: sent.stands(waits).status_text == MessageStatusText.SENDING)
    assert sent.stands(waits).next_attempt is not None
    assert sent.stands(took).next_attempt is None
    for status, messages in {
        MessageStatus.SUCCESS: [took],
        MessageStatus.FAIL: [refused],
        MessageStatus.SENDING: [waits],
        MessageStatus.PENDING: [],
        None: [waits, refused, took],
    }.items():
        options = MessageAttemptListAttemptedMessagesOptions(status=status)
        found = sdk.message_attempt.list_attempted_messages(app, endpoint, options).data
        assert [one.id for one in found] == messages
    attempts = sdk.message_attempt.list_by_endpoint(app, "main").data
    assert [attempt.response_status_code for attempt in attempts] == [500, 400, 200]


def test_attempted_messages_are_found_by_every_filter(
    sdk: Sdk, app: str, endpoint: str, sent: Sent
) -> None:
    first = sent("a.b", channels=["eu"], tags=["x"])
    second = sent("c.d", channels=["eu", "us"])
    third = sent("e.f", tags=["x", "y"])
    at = {one.id: one.timestamp for one in sdk.message.list(app).data}

    def found(**options: Any) -> list[str]:  # noqa: ANN401  any of its options
        asked = MessageAttemptListAttemptedMessagesOptions(**options)
        page = sdk.message_attempt.list_attempted_messages(app, endpoint, asked)
        return [one.id for one in page.data]

    assert found() == [third, second, first]
    assert found(channel="us") == [second]
    assert found(tag="x") == [third, first]
    assert found(event_types=["a.b", "c.d"]) == [second, first]
    assert found(before=at[first] - timedelta(milliseconds=1)) == []
    assert found(after=at[first] - timedelta(milliseconds=1)) == [third, second, first]
    until(lambda: len(found(status=MessageStatus.SUCCESS)) == 3)
    (shown,) = sdk.message_attempt.list_attempted_messages(
        app,
        "main",
        MessageAttemptListAttemptedMessagesOptions(
            tag="y", with_content=True, expanded_statuses=True
        ),
    ).data
    assert (shown.payload, shown.tags) == ({"n": 1}, ["x", "y"])
    assert (shown.status, shown.status_text) == (MessageStatus.SUCCESS, "success")


def test_attempts_at_an_endpoint_are_found_by_every_filter(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, sent: Sent
) -> None:
    receiver.script([200, 400, 200])
    told: list[dict[str, Any]] = [
        {"event_type": "a.b", "channels": ["eu"]},
        {"event_type": "c.d", "tags": ["x"]},
        {"event_type": "e.f", "channels": ["eu", "us"], "tags": ["x"]},
    ]
    messages = [sent.attempted(**one) for one in told]

    def listed(**options: Any) -> list[MessageAttemptOut]:  # noqa: ANN401  any of its options
        asked = MessageAttemptListByEndpointOptions(**options)
        return list(sdk.message_attempt.list_by_endpoint(app, endpoint, asked).data)

    def found(**options: Any) -> list[int]:  # noqa: ANN401  any of its options
        return [messages.index(one.msg_id) for one in listed(**options)]

    assert found() == [2, 1, 0]
    assert found(channel="eu") == [2, 0]
    assert found(channel="none") == []
    assert found(tag="x") == [2, 1]
    assert found(event_types=["a.b"]) == [0]
    assert found(event_types=["a.b", "c.d"]) == [1, 0]
    assert found(status=MessageStatus.FAIL) == [1]
    assert found(status=MessageStatus.SUCCESS) == [2, 0]
    assert found(status=MessageStatus.SENDING) == []
    assert found(status_code_class=StatusCodeClass.CODE4XX) == [1]
    assert found(status_code_class=StatusCodeClass.CODE2XX) == [2, 0]
    assert found(status_code_class=StatusCodeClass.CODE5XX) == []
    _, middle, oldest = listed()
    assert found(after=middle.timestamp) == [2, 1]
    assert found(before=middle.timestamp) == [0]
    assert found(after=oldest.timestamp, before=middle.timestamp) == [0]
    whole = listed(with_msg=True, with_content=True, expanded_statuses=True)[0]
    assert whole.msg is not None
    assert (whole.msg.id, whole.msg.event_type) == (messages[2], "e.f")
    assert listed()[0].msg is None


def test_attempts_at_a_message_are_found_by_every_filter(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, sent: Sent
) -> None:
    with Receiver() as other:
        other.script([400])
        sdk.endpoint.create(app, EndpointIn(url=other.url, uid="other"))
        message = sent("a.b", channels=["eu"], tags=["x"])
        until(lambda: len(sent.attempts(message)) == 2)

    def found(**options: Any) -> set[int]:  # noqa: ANN401  any of its options
        return {attempt.response_status_code for attempt in sent.attempts(message, **options)}

    assert found() == found(channel="eu", tag="x", event_types=["a.b", "c.d"]) == {200, 400}
    assert found(channel="us") == found(tag="y") == found(event_types=["c.d"]) == set()
    assert found(endpoint_id=endpoint) == found(endpoint_id="main") == {200}
    assert found(endpoint_id="other") == found(status=MessageStatus.FAIL) == {400}
    assert found(status_code_class=StatusCodeClass.CODE2XX) == {200}
    newest, oldest = sent.attempts(message)
    assert {one.id for one in sent.attempts(message, after=oldest.timestamp)} == {
        newest.id,
        oldest.id,
    }
    moment = timedelta(milliseconds=5)
    assert found(after=newest.timestamp + moment) == set()
    assert found(before=oldest.timestamp - moment) == set()
    assert found(before=newest.timestamp + moment) == {200, 400}
    assert receiver.arrivals


def test_attempts_are_walked_both_ways(sdk: Sdk, app: str, endpoint: str, sent: Sent) -> None:
    for _ in range(6):  # one after the other, so that their times differ
        sent.attempted()

    def listed(**options: Any) -> Any:  # noqa: ANN401  the SDK's
        asked = MessageAttemptListByEndpointOptions(**options)
        return sdk.message_attempt.list_by_endpoint(app, endpoint, asked)

    every = listed().data
    first = listed(limit=3)
    assert (first.data, first.done) == (every[:3], False)
    second = listed(limit=3, iterator=first.iterator)
    assert (second.data, second.done) == (every[3:], True)
    assert listed(limit=3, iterator=every[2].id).data == every[3:]
    back = listed(limit=2, iterator=second.prev_iterator)
    assert (back.data, back.done) == (every[1:3], False)
    back = listed(limit=2, iterator=back.prev_iterator)
    assert (back.data, back.done) == (every[:1], True)
    between = listed(after=every[4].timestamp, before=every[2].timestamp)
    assert (between.data, between.done) == (every[3:5], True)
    assert listed(iterator=between.iterator).data == every[5:]
    assert listed(iterator=between.prev_iterator).data == every[:3]


def test_destinations_are_walked_both_ways_even_when_they_are_gone(
    sdk: Sdk, app: str, receiver: Receiver, sent: Sent
) -> None:
    ids = [sdk.endpoint.create(app, EndpointIn(url=receiver.url)).id for _ in range(3)]
    message = sent()

    def listed(**options: Any) -> Any:  # noqa: ANN401  the SDK's
        asked = MessageAttemptListAttemptedDestinationsOptions(**options)
        page = sdk.message_attempt.list_attempted_destinations(app, message, asked)
        return [one.id for one in page.data], page

    until(lambda: len(receiver.arrivals) == 3)
    assert listed()[0] == ids
    sdk.endpoint.delete(app, ids[1])
    shown, first = listed(limit=2)
    assert (shown, first.done) == (ids[:2], False)
    shown, second = listed(limit=2, iterator=first.iterator)
    assert (shown, second.done) == (ids[2:], True)
    shown, back = listed(limit=1, iterator=second.prev_iterator)
    assert (shown, back.done) == (ids[1:2], False)
    assert listed(limit=1, iterator=back.prev_iterator)[0] == ids[:1]


def test_a_message_is_sent_again_when_somebody_asks(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, sent: Sent
) -> None:
    message = sent(event_id="first")
    until(lambda: sent.attempts(message))
    options = MessageAttemptResendOptions(idempotency_key=f"again-{message}")
    for _ in range(2):
        sdk.message_attempt.resend(app, "first", "main", options)
    until(lambda: len(sent.attempts(message)) == 2)
    again, first = sent.attempts(message)
    assert again.trigger_type == MessageAttemptTriggerType.MANUAL
    assert first.trigger_type == MessageAttemptTriggerType.SCHEDULED
    assert [arrival.id for arrival in receiver.arrivals] == [message] * 2
    assert receiver.arrivals[0].body == receiver.arrivals[1].body
    sdk.message.expunge_content(app, message)
    with pytest.raises(HttpError) as error:
        sdk.message_attempt.resend(app, message, endpoint)
    assert error.value.status_code == 400


def test_a_message_that_failed_arrives_when_it_is_sent_again(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, sent: Sent
) -> None:
    receiver.script([400])
    message = sent()
    until(lambda: sent.stands(message).status_text == MessageStatusText.FAIL)
    sdk.message_attempt.resend(app, message, endpoint)
    until(lambda: len(sent.attempts(message)) == 2)
    statuses = [attempt.response_status_code for attempt in sent.attempts(message)]
    assert statuses == [200, 400]
    assert sent.stands(message).status_text == MessageStatusText.SUCCESS


@pytest.mark.parametrize("taken", [True, False])
def test_a_message_is_sent_to_an_endpoint_that_it_was_not_for(
    sdk: Sdk, app: str, receiver: Receiver, sent: Sent, *, taken: bool
) -> None:
    message = sent(channels=["eu"])
    late = sdk.endpoint.create(app, EndpointIn(url=receiver.url, channels=["us"])).id
    other = sent(channels=["us"])
    until(lambda: sent.attempts(other))
    assert sdk.message_attempt.list_attempted_destinations(app, message).data == []
    receiver.script([] if taken else [400])
    sdk.message_attempt.resend(app, message, late)
    until(lambda: sent.attempts(message))
    (attempt,) = sent.attempts(message)
    assert attempt.trigger_type == MessageAttemptTriggerType.MANUAL
    found = sdk.message_attempt.list_attempted_messages(app, late).data
    assert [one.id for one in found] == [message, other]
    status = MessageStatus.SUCCESS if taken else MessageStatus.FAIL
    assert (found[0].status, found[0].next_attempt) == (status, None)
    destination = sent.stands(message)
    assert (destination.id, destination.status) == (late, status)
    wanted = MessageAttemptListAttemptedMessagesOptions(status=status)
    shown = sdk.message_attempt.list_attempted_messages(app, late, wanted).data
    assert message in {one.id for one in shown}
    stats = sdk.endpoint.get_stats(app, late)
    assert (stats.success, stats.fail) == ((2, 0) if taken else (1, 1))
    if not taken:
        sdk.message_attempt.resend(app, message, late)
        until(lambda: sent.stands(message).status == MessageStatus.SUCCESS)
    assert len(receiver.arrivals) == (2 if taken else 3)


def test_a_message_that_was_skipped_arrives_when_it_is_sent_again(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, sent: Sent
) -> None:
    sdk.endpoint.patch(app, endpoint, EndpointPatch(disabled=True))
    message = sent()
    assert sdk.message_attempt.list_attempted_messages(app, endpoint).data == []
    sdk.endpoint.patch(app, endpoint, EndpointPatch(disabled=False))
    sdk.message_attempt.resend(app, message, endpoint)
    until(lambda: sent.attempts(message))
    assert sent.stands(message).status_text == MessageStatusText.SUCCESS
    (found,) = sdk.message_attempt.list_attempted_messages(app, endpoint).data
    assert (found.id, found.status) == (message, MessageStatus.SUCCESS)
    assert sdk.endpoint.get_stats(app, endpoint).success == 1
    assert [arrival.id for arrival in receiver.arrivals] == [message]
