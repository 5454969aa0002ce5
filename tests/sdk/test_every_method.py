"""Whatever the SDK can ask for is served, or is told to be not served in JSON."""

import re
from pathlib import Path

import httpx
import pytest
import svix.api

from tarry.service.api.open import operations
from tests.sdk.conftest import KEY

CALL = re.compile(r'method="(\w+)",\s+path="(/api/v1/[^"]*)"')


def asked() -> set[tuple[str, str]]:
    """Every operation that the SDK knows: its method and its path."""
    sources = Path(svix.api.__file__).parent.glob("*.py")
    return {(how.upper(), way) for one in sources for how, way in CALL.findall(one.read_text())}


SERVED = {(one.method, f"/api/v1{one.path}") for one in operations()}
GROUPS_SERVED = (
    *("/api/v1/app", "/api/v1/event-type", "/api/v1/auth/app", "/api/v1/health"),
    *("/api/v1/background-task", "/api/v1/operational-webhook", "/api/v1/stats"),
)
NOT_SERVED = frozenset(
    {
        ("GET", "/api/v1/app/{app_id}/endpoint/{endpoint_id}/transformation"),
        ("PATCH", "/api/v1/app/{app_id}/endpoint/{endpoint_id}/transformation"),
        ("POST", "/api/v1/event-type/import/openapi"),
    }
)
"""Of the groups that are served: what tarry does not do."""


def same(way: str) -> str:
    """A path without what its names are called."""
    return re.sub(r"\{\w+\}", "{}", way)


def test_the_groups_that_are_served_are_served_whole() -> None:
    served = {(how, same(way)) for how, way in SERVED}
    missing = {
        (how, way)
        for how, way in asked() - NOT_SERVED
        if way.startswith(GROUPS_SERVED)
        and not re.search(r"/(integration|poller|stream)", way)
        and (how, same(way)) not in served
    }
    assert not missing


@pytest.mark.parametrize(
    ("how", "way"),
    sorted(
        asked()
        - {one for one in asked() if (one[0], same(one[1])) in {(h, same(w)) for h, w in SERVED}}
    ),
)
def test_what_is_not_served_says_so_in_json(how: str, way: str, server: str) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    answer = httpx.request(how, server + re.sub(r"\{\w+\}", "x", way), headers=headers)
    assert answer.status_code in (405, 501)
    assert set(answer.json()) == {"code", "detail"}
