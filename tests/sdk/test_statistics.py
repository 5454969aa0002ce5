"""Statistics of an environment and its health, as programs of the SDK ask for them."""

from datetime import UTC, datetime, timedelta

import pytest
from svix.exceptions import HTTPValidationError
from svix.models import (
    AppUsageStatsIn,
    BackgroundTaskStatus,
    BackgroundTaskType,
    EndpointIn,
    MessageIn,
)

from tests.sdk.conftest import Sdk, until

URL = "https://example.org"


def test_a_server_in_good_health_says_nothing_more(sdk: Sdk) -> None:
    assert sdk.health.get() is None


def test_messages_are_counted_by_application(sdk: Sdk, app: str) -> None:
    for _ in range(2):
        sdk.endpoint.create(app, EndpointIn(url=URL))
    for _ in range(3):
        sdk.message.create(app, MessageIn(event_type="a.b", payload={}))
    now = datetime.now(UTC)
    told = AppUsageStatsIn(
        since=now - timedelta(hours=1), until=now + timedelta(hours=1), app_ids=[app, "never-there"]
    )
    task = sdk.statistics.aggregate_app_stats(told)
    assert task.task == BackgroundTaskType.APPLICATION_STATS
    assert task.unresolved_app_ids == ["never-there"]
    until(lambda: sdk.background_task.get(task.id).status == BackgroundTaskStatus.FINISHED)
    (counted,) = sdk.background_task.get(task.id).data["appStats"]
    assert counted == {"appId": app, "appUid": None, "messageDestinations": 6}
    told.until = told.since - timedelta(hours=1)
    with pytest.raises(HTTPValidationError) as error:
        sdk.statistics.aggregate_app_stats(told)
    assert error.value.detail[0].loc == ["body", "until"]


def test_what_endpoints_ask_for_is_told_by_application(sdk: Sdk, app: str, kind: str) -> None:
    sdk.endpoint.create(app, EndpointIn(url=URL, event_types=[kind]))
    task = sdk.statistics.aggregate_event_types()
    assert task.task == BackgroundTaskType.EVENT_TYPE_AGGREGATE
    until(lambda: sdk.background_task.get(task.id).status == BackgroundTaskStatus.FINISHED)
    told = {type_["appId"]: type_ for type_ in sdk.background_task.get(task.id).data["event_types"]}
    assert told[app] == {
        "appId": app,
        "explicitlySubscribedEventTypes": [kind],
        "hasCatchAllEndpoint": False,
    }
