"""Deliver after all, or once more; try out; count: what the SDK asks of endpoints' past."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest
from svix.api import (
    BackgroundTaskListOptions,
    EndpointGetAttemptStatsOptions,
    EndpointGetStatsOptions,
    EndpointRecoverOptions,
)
from svix.exceptions import HttpError, HTTPValidationError
from svix.models import (
    BackgroundTaskStatus,
    BackgroundTaskType,
    BulkReplayIn,
    EndpointIn,
    EventExampleIn,
    EventTypeIn,
    MessageIn,
    MessageStatus,
    MessageStatusText,
    Ordering,
    RecoverIn,
    RecoverOut,
    ReplayIn,
    StatusCodeClass,
)

from tarry.testing.receiver import Receiver
from tests.plain_http import PLAIN
from tests.sdk.conftest import KEY, Sdk, until


@pytest.fixture
def endpoint(sdk: Sdk, app: str, receiver: Receiver) -> str:
    return str(sdk.endpoint.create(app, EndpointIn(url=receiver.url, uid="main")).id)


def sent(sdk: Sdk, app: str, event_type: str = "a.b", **told: Any) -> str:  # noqa: ANN401  any field
    message = MessageIn(event_type=event_type, payload={"n": 1}, **told)
    return str(sdk.message.create(app, message).id)


def arrived(receiver: Receiver, message: str) -> bool:
    return any(arrival.id == message for arrival in receiver.arrivals)


def stands(sdk: Sdk, app: str, message: str) -> str:
    (found,) = sdk.message_attempt.list_attempted_destinations(app, message).data
    return str(MessageStatusText(found.status_text).value)


def finished(sdk: Sdk, task: str) -> dict[str, Any]:
    """What came out of a task."""
    until(lambda: sdk.background_task.get(task).status == BackgroundTaskStatus.FINISHED)
    found: dict[str, Any] = sdk.background_task.get(task).data
    return found


def refused(sdk: Sdk, app: str, receiver: Receiver, **told: Any) -> str:  # noqa: ANN401  any field
    """A message that failed."""
    receiver.script([400])
    message = sent(sdk, app, **told)
    until(lambda: stands(sdk, app, message) == "fail")
    return message


def test_what_failed_since_a_time_is_recovered(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver
) -> None:
    early = refused(sdk, app, receiver)
    since = datetime.now(UTC)
    late = refused(sdk, app, receiver)
    options = EndpointRecoverOptions(idempotency_key=f"recover-{late}")
    first, second = (
        sdk.endpoint.recover(app, "main", RecoverIn(since=since), options) for _ in range(2)
    )
    assert isinstance(first, RecoverOut)
    assert first == second
    assert (first.task, first.status) == (BackgroundTaskType.ENDPOINT_RECOVER, "running")
    assert finished(sdk, first.id)
    until(lambda: stands(sdk, app, late) == "success")
    assert stands(sdk, app, early) == "fail"
    assert len(sdk.message_attempt.list_by_msg(app, late).data) == 2
    span = RecoverIn(since=since - timedelta(hours=1), until=since)
    sdk.endpoint.recover(app, endpoint, span)
    until(lambda: stands(sdk, app, early) == "success")


@pytest.mark.parametrize("days", [15, 400])
def test_what_is_too_old_is_not_recovered(sdk: Sdk, app: str, endpoint: str, days: int) -> None:
    since = datetime.now(UTC) - timedelta(days=days)
    for attempt, told in (
        (sdk.endpoint.recover, RecoverIn(since=since)),
        (sdk.endpoint.replay_missing, ReplayIn(since=since)),
        (sdk.endpoint.bulk_replay, BulkReplayIn(since=since)),
    ):
        with pytest.raises(HTTPValidationError) as error:
            attempt(app, endpoint, told)
        assert error.value.detail[0].loc == ["body", "since"]


def test_what_an_endpoint_missed_is_replayed(sdk: Sdk, app: str, receiver: Receiver) -> None:
    since = datetime.now(UTC) - timedelta(minutes=1)
    messages = [sent(sdk, app) for _ in range(3)]
    endpoint = sdk.endpoint.create(app, EndpointIn(url=receiver.url)).id
    task = sdk.endpoint.replay_missing(app, endpoint, ReplayIn(since=since))
    assert task.task == BackgroundTaskType.ENDPOINT_REPLAY
    finished(sdk, task.id)
    until(lambda: sorted(arrival.id for arrival in receiver.arrivals) == sorted(messages))


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({}, {0, 1, 2}),
        ({"event_types": ["a.b"]}, {0}),
        ({"channel": "eu"}, {1}),
        ({"tag": "x"}, {2}),
        ({"status": MessageStatus.FAIL}, {2}),
        ({"status": MessageStatus.SUCCESS, "event_types": ["c.d", "e.f"]}, {1}),
        ({"status_code_class": StatusCodeClass.CODE4XX}, {2}),
        ({"until": datetime(2020, 1, 2, tzinfo=UTC)}, set()),
    ],
)
def test_what_is_wanted_is_replayed(
    sdk: Sdk, app: str, receiver: Receiver, wanted: dict[str, Any], numbers: set[int]
) -> None:
    endpoint = sdk.endpoint.create(app, EndpointIn(url=receiver.url)).id
    messages = [
        sent(sdk, app, "a.b"),
        sent(sdk, app, "c.d", channels=["eu"]),
    ]
    until(lambda: len(receiver.arrivals) == 2)
    messages.append(refused(sdk, app, receiver, event_type="e.f", tags=["x"]))
    before = len(receiver.arrivals)
    end = wanted.get("until", datetime.now(UTC))
    since = end - timedelta(days=1)
    task = sdk.endpoint.bulk_replay(app, endpoint, BulkReplayIn(since=since, **wanted))
    assert task.task == BackgroundTaskType.ENDPOINT_BULK_REPLAY
    finished(sdk, task.id)
    until(lambda: len(receiver.arrivals) >= before + len(numbers))
    assert {messages.index(arrival.id) for arrival in receiver.arrivals[before:]} == numbers


def test_tasks_are_listed_and_found(sdk: Sdk, app: str, endpoint: str) -> None:
    since = datetime.now(UTC)
    ids = []
    for _ in range(3):  # one after the other: a repeated one is answered with the pending task
        ids.append(sdk.endpoint.recover(app, endpoint, RecoverIn(since=since)).id)
        finished(sdk, ids[-1])
    kind = BackgroundTaskType.ENDPOINT_RECOVER
    options = BackgroundTaskListOptions(
        task=kind, status=BackgroundTaskStatus.FINISHED, limit=2, order=Ordering.DESCENDING
    )
    first = sdk.background_task.list(options)
    assert ([one.id for one in first.data], first.done) == (ids[:0:-1], False)
    options.iterator = first.iterator
    assert sdk.background_task.list(options).data[0].id == ids[0]
    other = BackgroundTaskListOptions(task=BackgroundTaskType.SDK_GENERATE)
    assert sdk.background_task.list(other).data == []
    with pytest.raises(HttpError) as error:
        sdk.background_task.get("qtask_never-there")
    assert error.value.status_code == 404


def test_an_endpoint_is_tried_out_with_examples(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver
) -> None:
    name = f"example.{app}"
    schemas = {"1": {"type": "object", "examples": [{"seats": 1}, {"seats": 2}]}}
    sdk.event_type.create(EventTypeIn(name=name, description="", schemas=schemas))
    sdk.endpoint.create(app, EndpointIn(url=receiver.url.replace("hook", "other")))
    for told in (
        EventExampleIn(event_type="svix.ping"),
        EventExampleIn(event_type=name),
        EventExampleIn(event_type=name, example_index=1),
        EventExampleIn(event_type="own.kind", payload={"seats": 3}),
    ):
        message = sdk.endpoint.send_example(app, endpoint, told)
        assert message.event_type == told.event_type
        until(partial(arrived, receiver, message.id))
    bodies = [json.loads(arrival.body) for arrival in receiver.arrivals]
    assert bodies == [{"success": True}, {"seats": 1}, {"seats": 2}, {"seats": 3}]
    with pytest.raises(HttpError) as error:
        sdk.endpoint.send_example(app, endpoint, EventExampleIn(event_type="never.made"))
    assert error.value.status_code == 404


def test_an_endpoints_messages_and_attempts_are_counted(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver
) -> None:
    def stats(**options: Any) -> tuple[int, ...]:  # noqa: ANN401  any of its options
        told = sdk.endpoint.get_stats(app, "main", EndpointGetStatsOptions(**options))
        return told.success, told.pending, told.sending, told.fail

    assert stats() == (0, 0, 0, 0)
    refused(sdk, app, receiver)
    since = datetime.now(UTC)
    for _ in range(2):
        sent(sdk, app)
    soon = since + timedelta(hours=1)
    sent(sdk, app, deliver_at=soon)
    until(lambda: stats() == (2, 1, 0, 1))
    assert stats(since=since) == (2, 1, 0, 0)
    assert stats(since=since - timedelta(days=1), until=since) == (0, 0, 0, 1)
    attempts = sdk.endpoint.get_attempt_stats(app, endpoint)
    assert (attempts.success, attempts.fail) == (2, 1)
    old = EndpointGetAttemptStatsOptions(
        since=since - timedelta(days=20), until=since - timedelta(days=10)
    )
    assert sdk.endpoint.get_attempt_stats(app, endpoint, old).success == 0
    with pytest.raises(HttpError) as error:
        stats(since=since - timedelta(days=29))
    assert error.value.status_code == 400


def retried_after(delay: float, server: str, app: str, endpoint: str) -> None:
    """Give an endpoint a policy of three attempts."""
    answer = httpx.put(
        f"{server}/api/v1/app/{app}/endpoint/{endpoint}/policy",
        json={"attempts": 3, "backoff": {"kind": "fixed", "delay": delay}},
        headers={"authorization": f"Bearer {KEY}"},
        **PLAIN,
    )
    assert answer.status_code == 200, answer.text


def test_what_waits_after_a_failure_is_recovered_too(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, server: str
) -> None:
    retried_after(40.0, server, app, endpoint)
    since = datetime.now(UTC)
    receiver.script([500, 200])
    message = sent(sdk, app)
    until(lambda: stands(sdk, app, message) == "sending")
    sdk.endpoint.recover(app, endpoint, RecoverIn(since=since))
    until(lambda: stands(sdk, app, message) == "success")


def test_a_failure_is_retried_until_its_policy_ends_and_recovered_with_one_attempt(
    sdk: Sdk, app: str, endpoint: str, receiver: Receiver, server: str
) -> None:
    retried_after(0.05, server, app, endpoint)
    since = datetime.now(UTC)
    receiver.script([500, 500, 500, 200])
    message = sent(sdk, app)
    until(lambda: stands(sdk, app, message) == "fail")
    assert len(sdk.message_attempt.list_by_msg(app, message).data) == 3
    sdk.endpoint.recover(app, endpoint, RecoverIn(since=since))
    until(lambda: stands(sdk, app, message) == "success")
    statuses = [
        one.response_status_code for one in sdk.message_attempt.list_by_msg(app, message).data
    ]
    assert statuses == [200, 500, 500, 500]
