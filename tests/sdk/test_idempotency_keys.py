"""POSTs of the SDK take idempotency keys, and are answered the same under them.

But for tokens to portals: those are kept nowhere, so each time there is another one.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import svix.api as options
from svix.models import (
    ApplicationIn,
    ApplicationTokenExpireIn,
    AppUsageStatsIn,
    BulkExpungeContentsIn,
    BulkReplayIn,
    EndpointIn,
    EndpointSecretRotateIn,
    EventExampleIn,
    EventTypeIn,
    MessageIn,
    MessagePrecheckIn,
    OperationalWebhookEndpointIn,
    OperationalWebhookEndpointSecretIn,
    RecoverIn,
    ReplayIn,
)

from tests.sdk.conftest import Sdk

URL = "https://example.org/hook"
NOW = datetime.now(UTC)
Post = Callable[[Sdk, str, str, Any], Any]

POSTS: dict[str, Post] = {
    "ApplicationCreate": lambda sdk, app, _, told: sdk.application.create(
        ApplicationIn(name=f"Beside {app}"), told
    ),
    "EventTypeCreate": lambda sdk, app, _, told: sdk.event_type.create(
        EventTypeIn(name=f"type.{app}", description=""), told
    ),
    "EndpointCreate": lambda sdk, app, _, told: sdk.endpoint.create(
        app, EndpointIn(url=URL, uid="once"), told
    ),
    "EndpointRotateSecret": lambda sdk, app, endpoint, told: sdk.endpoint.rotate_secret(
        app, endpoint, EndpointSecretRotateIn(), told
    ),
    "EndpointRecover": lambda sdk, app, endpoint, told: sdk.endpoint.recover(
        app, endpoint, RecoverIn(since=NOW), told
    ),
    "EndpointReplayMissing": lambda sdk, app, endpoint, told: sdk.endpoint.replay_missing(
        app, endpoint, ReplayIn(since=NOW), told
    ),
    "EndpointBulkReplay": lambda sdk, app, endpoint, told: sdk.endpoint.bulk_replay(
        app, endpoint, BulkReplayIn(since=NOW), told
    ),
    "EndpointSendExample": lambda sdk, app, endpoint, told: sdk.endpoint.send_example(
        app, endpoint, EventExampleIn(event_type="svix.ping"), told
    ),
    "MessageCreate": lambda sdk, app, _, told: sdk.message.create(
        app, MessageIn(event_type="a.b", payload={}, event_id="once"), told
    ),
    "MessagePrecheck": lambda sdk, app, _, told: sdk.message.precheck(
        app, MessagePrecheckIn(event_type="a.b"), told
    ),
    "MessageBulkExpungeContent": lambda sdk, app, _, told: sdk.message.bulk_expunge_content(
        app, BulkExpungeContentsIn(ids=["nowhere"]), told
    ),
    "MessageExpungeAllContents": lambda sdk, app, _, told: sdk.message.expunge_all_contents(
        app, told
    ),
    "AuthenticationExpireAll": lambda sdk, app, _, told: sdk.authentication.expire_all(
        app, ApplicationTokenExpireIn(), told
    ),
    "OperationalWebhookEndpointCreate": lambda sdk, app, _, told: (
        sdk.operational_webhook.endpoint.create(
            OperationalWebhookEndpointIn(url=URL, uid=f"news-{app}", disabled=True), told
        )
    ),
    "StatisticsAggregateAppStats": lambda sdk, app, _, told: sdk.statistics.aggregate_app_stats(
        AppUsageStatsIn(since=NOW - timedelta(days=1), until=NOW, app_ids=[app]), told
    ),
}


@pytest.mark.parametrize("name", POSTS)
def test_a_post_that_comes_again_is_answered_the_same(
    sdk: Sdk, app: str, uid: str, name: str
) -> None:
    endpoint = sdk.endpoint.create(app, EndpointIn(url=URL, disabled=True)).id
    told = getattr(options, f"{name}Options")(idempotency_key=uid)
    first, second = (POSTS[name](sdk, app, endpoint, told) for _ in range(2))
    assert first == second
    if hasattr(first, "id"):
        assert first.id


def test_an_operational_secret_is_rotated_once(sdk: Sdk, uid: str) -> None:
    group = sdk.operational_webhook.endpoint
    group.create(OperationalWebhookEndpointIn(url=URL, uid=uid, disabled=True))
    told = options.OperationalWebhookEndpointRotateSecretOptions(idempotency_key=uid)
    keys = [group.get_secret(uid).key]
    for _ in range(2):
        group.rotate_secret(uid, OperationalWebhookEndpointSecretIn(), told)
        keys.append(group.get_secret(uid).key)
    group.delete(uid)
    assert keys[0] != keys[1] == keys[2]
