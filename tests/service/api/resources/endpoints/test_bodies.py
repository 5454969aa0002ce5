from typing import Any

import msgspec
import pytest

from tarry.service.api.resources.endpoints.bodies import (
    EndpointIn,
    EndpointPatch,
    endpoint_out,
    part,
    whole,
)
from tarry.service.model.endpoint import Standing
from tarry.testing.samples import an_endpoint

EVERYTHING: dict[str, Any] = {
    "uid": None,
    "description": "",
    "event_types": None,
    "channels": None,
    "rate": None,
    "metadata": {},
    "standing": Standing.ENABLED,
}


def test_a_new_endpoint_is_told_everything_but_what_only_tarry_knows() -> None:
    assert whole(EndpointIn(url="https://example.com")) == EVERYTHING
    assert whole(EndpointIn(url="https://example.com", fifo=True)) == {**EVERYTHING, "fifo": True}


@pytest.mark.parametrize(
    ("patch", "fields"),
    [
        ({}, {}),
        ({"throttleRate": 3}, {"rate": 3.0}),
        ({"throttleRate": None, "rateLimit": 9}, {"rate": None}),
        ({"rateLimit": 9}, {"rate": 9.0}),
        ({"eventTypes": ["b", "a", "b"]}, {"event_types": ("b", "a")}),
        ({"eventTypes": None, "filterTypes": ["a"]}, {"event_types": None}),
        ({"concurrency": None}, {"concurrency": None}),
        ({"disabled": True}, {"standing": Standing.DISABLED}),
        ({"disabled": True, "standing": "paused"}, {"standing": Standing.PAUSED}),
        ({"version": 2}, {}),
    ],
)
def test_a_patch_tells_only_what_it_names(patch: dict[str, Any], fields: dict[str, Any]) -> None:
    body = msgspec.convert(patch, EndpointPatch)
    assert part(body, Standing.ENABLED) == fields


def test_a_rate_below_one_is_shown_as_one() -> None:
    assert endpoint_out(an_endpoint("app_1", rate=0.25)).throttle_rate == 1


@pytest.mark.parametrize(
    ("standing", "disabled"),
    [
        (Standing.ENABLED, False),
        (Standing.PAUSED, False),
        (Standing.DISABLED, True),
        (Standing.PARKED, True),
    ],
)
def test_one_that_takes_nothing_is_shown_as_disabled(
    standing: Standing,
    disabled: bool,  # noqa: FBT001  a cell of the table
) -> None:
    assert endpoint_out(an_endpoint("app_1", standing=standing)).disabled is disabled
