"""Operational webhooks: their endpoints through the SDK, and what they are told."""

import json
from typing import Any

import httpx
import pytest
from svix.api import OperationalWebhookEndpointListOptions
from svix.exceptions import HttpError
from svix.models import (
    EndpointIn,
    EndpointPatch,
    MessageIn,
    OperationalWebhookEndpointHeadersIn,
    OperationalWebhookEndpointIn,
    OperationalWebhookEndpointOut,
    OperationalWebhookEndpointSecretIn,
    OperationalWebhookEndpointUpsertIn,
)

from tarry.testing.receiver import Arrival, Receiver
from tests.plain_http import PLAIN
from tests.sdk.conftest import KEY, Sdk, until, verify

URL = "https://example.org/hook"


def told_of(receiver: Receiver, app: str) -> list[tuple[Arrival, Any]]:
    """The news of an application that arrived so far."""
    news = [(arrival, json.loads(arrival.body)) for arrival in receiver.arrivals]
    return [(one, said) for one, said in news if said["data"]["appId"] == app]


def test_endpoints_through_their_lives(sdk: Sdk, uid: str) -> None:
    group = sdk.operational_webhook.endpoint
    made = group.create(
        OperationalWebhookEndpointIn(
            url=URL,
            uid=uid,
            description="News",
            throttle_rate=5,
            event_types=["endpoint.disabled"],
            metadata={"team": "ops"},
            disabled=True,
        )
    )
    assert isinstance(made, OperationalWebhookEndpointOut)
    assert (made.uid, made.url, made.description) == (uid, URL, "News")
    assert (made.throttle_rate, made.event_types) == (5, ["endpoint.disabled"])
    assert (made.metadata, made.disabled) == ({"team": "ops"}, True)
    assert group.get(uid) == group.get(made.id) == made
    upsert = OperationalWebhookEndpointUpsertIn(url=URL, uid=uid, disabled=True)
    changed = group.upsert(uid, upsert)
    assert (changed.id, changed.event_types, changed.metadata) == (made.id, None, {})
    listed = group.list(OperationalWebhookEndpointListOptions(limit=1)).data
    assert [one.id for one in listed] == [made.id]
    headers = OperationalWebhookEndpointHeadersIn(headers={"x-a": "1", "authorization": "x"})
    assert group.set_headers(uid, headers) is None
    found = group.get_headers(uid)
    assert (found.headers, list(found.sensitive)) == ({"x-a": "1"}, ["authorization"])
    old = group.get_secret(uid).key
    assert group.rotate_secret(uid, OperationalWebhookEndpointSecretIn()) is None
    assert group.get_secret(uid).key != old
    assert group.delete(uid) is None
    with pytest.raises(HttpError) as error:
        group.get(made.id)
    assert error.value.status_code == 404


def test_what_happens_to_endpoints_is_told_and_verified(
    sdk: Sdk, app: str, receiver: Receiver
) -> None:
    group = sdk.operational_webhook.endpoint
    listening = group.create(OperationalWebhookEndpointIn(url=receiver.url)).id
    endpoint = sdk.endpoint.create(app, EndpointIn(url=URL, uid="main", disabled=True)).id
    sdk.endpoint.patch(app, endpoint, EndpointPatch(description="Changed"))
    sdk.endpoint.delete(app, endpoint)
    until(lambda: len(told_of(receiver, app)) == 3)
    group.delete(listening)
    kinds = []
    for _, said in told_of(receiver, app):
        kinds.append(said["type"])
        data = said["data"]
        assert (data["endpointId"], data["endpointUid"], data["appUid"]) == (endpoint, "main", None)
    assert sorted(kinds) == ["endpoint.created", "endpoint.deleted", "endpoint.updated"]


def test_a_message_that_fails_on_and_on_is_told_and_that_it_arrived_too(
    sdk: Sdk, app: str, receiver: Receiver, server: str
) -> None:
    group = sdk.operational_webhook.endpoint
    kinds = ["message.attempt.failing", "message.attempt.recovered"]
    told = OperationalWebhookEndpointIn(url=receiver.url, event_types=kinds)
    listening = group.create(told).id
    policy = {"attempts": 9, "backoff": {"kind": "fixed", "delay": 0.05}}
    way = f"{server}/api/v1/app/{app}/policy"
    httpx.put(
        way, json=policy, headers={"authorization": f"Bearer {KEY}"}, **PLAIN
    ).raise_for_status()
    with Receiver() as failing:
        failing.script([500] * 4)
        sdk.endpoint.create(app, EndpointIn(url=failing.url))
        message = sdk.message.create(app, MessageIn(event_type="a.b", payload={})).id
        until(lambda: len(told_of(receiver, app)) == 2)
    group.delete(listening)
    news = {said["type"]: said["data"] for _, said in told_of(receiver, app)}
    assert set(news) == set(kinds)
    assert {data["msgId"] for data in news.values()} == {message}
    statuses = [news[kind]["lastAttempt"]["responseStatusCode"] for kind in kinds]
    assert statuses == [500, 200]


def test_a_message_that_came_to_nothing_is_told(sdk: Sdk, app: str, receiver: Receiver) -> None:
    group = sdk.operational_webhook.endpoint
    kinds = ["message.attempt.exhausted"]
    told = OperationalWebhookEndpointIn(url=receiver.url, event_types=kinds)
    listening = group.create(told).id
    secret = group.get_secret(listening).key
    with Receiver() as refusing:
        refusing.go_down(400)
        endpoint = sdk.endpoint.create(app, EndpointIn(url=refusing.url)).id
        message = sdk.message.create(app, MessageIn(event_type="a.b", payload={}, event_id="e1"))
        until(lambda: told_of(receiver, app))
    group.delete(listening)
    ((arrival, said),) = told_of(receiver, app)
    verify(arrival, secret)
    assert said["type"] == "message.attempt.exhausted"
    data = said["data"]
    assert (data["endpointId"], data["msgId"]) == (endpoint, message.id)
    assert (data["msgEventId"], data["lastAttempt"]["responseStatusCode"]) == ("e1", 400)
    attempt = sdk.message_attempt.get(app, message.id, data["lastAttempt"]["id"])
    assert attempt.response_status_code == 400
