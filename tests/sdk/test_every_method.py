"""Whatever the SDK can ask for is served, or is told to be not served in JSON."""

import importlib
import inspect
import itertools
import re
from pathlib import Path

import httpx
import msgspec
import pytest
import svix.api
from svix.api import Svix, SvixOptions

from tarry.service.api.open import operations
from tests.plain_http import PLAIN
from tests.sdk.conftest import KEY

CALL = re.compile(r'method="(\w+)",\s+path="(/api/v1/[^"]*)"')
OPTIONS = re.compile(r"options: (\w+Options) =")
OPTION = re.compile(r'"(\w+)": self')


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
    answer = httpx.request(
        how, sqlite_server + way, headers={"authorization": f"Bearer {KEY}"}, **PLAIN
    )
    assert (answer.status_code, answer.json()["code"]) == (501, "not_implemented")


def options() -> set[tuple[str, str, str]]:
    """Every option in a query that the SDK knows, with the operation it is of."""
    found = set()
    for name in WHOLE:
        module = importlib.import_module(f"svix.api.{name}")
        for source in (
            inspect.getsource(method)
            for _, group in inspect.getmembers(module, inspect.isclass)
            if group.__module__ == module.__name__ and not group.__name__.endswith("Options")
            for _, method in inspect.getmembers(group, inspect.isfunction)
        ):
            calls, told = CALL.findall(source), OPTIONS.findall(source)
            for (how, way), kind in itertools.product(calls, told):
                asked = inspect.getsource(getattr(module, kind)._query_params)  # noqa: SLF001  what it sends
                where = re.sub(r"\{\w+\}", "x", way)
                found |= {(how.upper(), where, one) for one in OPTION.findall(asked)}
    return found


@pytest.mark.parametrize(("how", "way", "option"), sorted(options()))
def test_every_option_is_read(how: str, way: str, option: str) -> None:
    (operation,) = (
        one
        for one in operations()
        if (one.method, re.sub(r"\{\w+\}", "x", f"/api/v1{one.path}")) == (how, way)
    )
    assert operation.query is not None
    assert option in {one.encode_name for one in msgspec.structs.fields(operation.query)}


def test_there_are_options() -> None:
    assert len(options()) > 60


def known_methods() -> set[str]:
    """Every method of the SDK that stands for something served, with its group."""
    client = Svix("key", SvixOptions(server_url="http://127.0.0.1"))
    groups = {one: getattr(client, one) for one in WHOLE if "operational" not in one}
    groups["operational_webhook.endpoint"] = client.operational_webhook.endpoint
    found = {
        f"{name}.{method}"
        for name, group in groups.items()
        for method, _ in inspect.getmembers(group, inspect.ismethod)
        if not method.startswith("_")
    }
    client._httpx_client.close()  # noqa: SLF001  the SDK itself does not close it
    return {one for one in found if not re.search("transformation|import_openapi|stream", one)}


@pytest.mark.parametrize("method", sorted(known_methods()))
def test_every_method_is_tried_here(method: str) -> None:
    sources = "".join(one.read_text() for one in Path(__file__).parent.glob("test_*.py"))
    # What is long has a short name there.
    tried = sources.replace("group.", "operational_webhook.endpoint.")
    assert re.search(rf"\b{re.escape(method)}\b", tried)
