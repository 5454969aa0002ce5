"""Whatever the SDK can ask for is served, or is told to be not served in JSON."""

import importlib
import inspect
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import httpx
import msgspec
import pytest
import svix.api
from pydantic import BaseModel
from svix.api import Svix, SvixOptions

from tarry.service.api.http.parsing import when_given
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
        place(how, way)
        for source in sources
        if modules is None or source.stem in modules
        for how, way in CALL.findall(source.read_text())
    }


def place(how: str, way: str) -> tuple[str, str]:
    """An operation by its method and path, whatever stands for names in it."""
    return how.upper(), re.sub(r"\{\w+\}", "x", way)


OPERATIONS = {place(one.method, f"/api/v1{one.path}"): one for one in operations()}
SERVED = set(OPERATIONS)


def names_of(struct: type) -> set[str]:
    """The fields of one of our types, as they are written."""
    return {field.encode_name for field in msgspec.structs.fields(struct)}


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


def methods() -> Iterator[tuple[Any, Any]]:
    """Each method of the SDK's modules that are served, with its module."""
    for name in WHOLE:
        module = importlib.import_module(f"svix.api.{name}")
        for _, group in inspect.getmembers(module, inspect.isclass):
            if group.__module__ == module.__name__ and not group.__name__.endswith("Options"):
                for _, method in inspect.getmembers(group, inspect.isfunction):
                    yield module, method


def options() -> set[tuple[str, str, str]]:
    """Every option in a query that the SDK knows, with the operation it is of."""
    found = set()
    for module, method in methods():
        source = inspect.getsource(method)
        for (how, way), kind in itertools.product(CALL.findall(source), OPTIONS.findall(source)):
            asked = inspect.getsource(getattr(module, kind)._query_params)  # noqa: SLF001  what it sends
            found |= {(*place(how, way), one) for one in OPTION.findall(asked)}
    return found


@pytest.mark.parametrize(("how", "way", "option"), sorted(options()))
def test_every_option_is_read(how: str, way: str, option: str) -> None:
    query = OPERATIONS[how, way].query
    assert query is not None
    assert option in names_of(query)


def is_model(kind: object) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModel)


def models() -> dict[tuple[str, str, str, type[BaseModel]], None]:
    """What the SDK sends and expects: the operation, which side of it, and the SDK's model."""
    found: dict[tuple[str, str, str, type[BaseModel]], None] = {}
    for _, method in methods():
        hints = get_type_hints(method)
        for how, way in CALL.findall(inspect.getsource(method)):
            for name, kind in hints.items():
                if place(how, way) not in OPERATIONS or not is_model(kind):
                    continue
                if name != "return":
                    found[*place(how, way), "sent", kind] = None
                elif "data" in kind.model_fields and "iterator" in kind.model_fields:
                    (item,) = get_args(kind.model_fields["data"].annotation)
                    found[*place(how, way), "listed", item] = None
                else:
                    found[*place(how, way), "got", kind] = None
    return found


@pytest.mark.parametrize(("how", "way", "side", "model"), models())
def test_every_field_is_read_or_given(
    how: str, way: str, side: str, model: type[BaseModel]
) -> None:
    operation = OPERATIONS[how, way]
    ours: Any = when_given(operation.body) if side == "sent" else operation.answer
    if side == "listed":
        (ours,) = get_args(ours)
    known = {field.alias or name for name, field in model.model_fields.items()}
    assert known <= names_of(ours)


def test_there_are_options_and_models() -> None:
    assert len(options()) > 60
    assert len(models()) > 60


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
