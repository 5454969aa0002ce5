"""Whatever the SDK can ask for is served, or is told to be not served in JSON."""

import re
from pathlib import Path

import httpx
import pytest
import svix.api

from tarry.service.api.open import operations
from tests.sdk.conftest import KEY

CALL = re.compile(r'method="(\w+)",\s+path="(/api/v1/[^"]*)"')


WHOLE = (
    *("application", "authentication", "background_task", "endpoint", "event_type", "health"),
    *("message", "message_attempt", "operational_webhook_endpoint", "statistics"),
)
"""The SDK's modules that tarry serves, but for what it leaves out."""
LEFT_OUT = re.compile(r"/transformation$|/import/openapi$|/stream")


def asked(modules: tuple[str, ...] | None = None) -> set[tuple[str, str]]:
    """Every operation that the SDK knows, or some of its modules: its method and its path."""
    sources = Path(svix.api.__file__).parent.glob("*.py")
    return {
        (how.upper(), re.sub(r"\{\w+\}", "x", way))
        for one in sources
        if modules is None or one.stem in modules
        for how, way in CALL.findall(one.read_text())
    }


SERVED = {(one.method, re.sub(r"\{\w+\}", "x", f"/api/v1{one.path}")) for one in operations()}


def test_the_modules_that_are_served_are_served_whole() -> None:
    missing = {one for one in asked(WHOLE) - SERVED if not LEFT_OUT.search(one[1])}
    assert not missing
    assert len(asked(WHOLE) & SERVED) >= 60


@pytest.mark.parametrize(("how", "way"), sorted(asked() - SERVED))
def test_what_is_not_served_says_so_in_json(how: str, way: str, sqlite_server: str) -> None:
    answer = httpx.request(how, sqlite_server + way, headers={"authorization": f"Bearer {KEY}"})
    assert (answer.status_code, answer.json()["code"]) == (501, "not_implemented")
