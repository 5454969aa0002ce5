import json
import re
from typing import Any

import httpx
import jsonschema
import pytest

from tarry.service.api.open import operations
from tarry.service.api.openapi.document import document
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def openapi() -> dict[str, Any]:
    return document(operations())


async def test_the_document_is_served_to_everybody(url: str, openapi: dict[str, Any]) -> None:
    async with httpx.AsyncClient(base_url=url, **PLAIN) as nobody:
        answer = await nobody.get("/api/v1/openapi.json")
    assert (answer.status_code, answer.json()) == (200, json.loads(json.dumps(openapi)))


def test_every_operation_has_a_name_of_its_own(openapi: dict[str, Any]) -> None:
    names = [
        operation["operationId"]
        for path in openapi["paths"].values()
        for operation in path.values()
    ]
    assert len(names) == len(operations())
    assert len(set(names)) == len(names)


def test_every_schema_has_a_name_of_its_own_without_the_module() -> None:
    schemas = document(operations())["components"]["schemas"]
    assert [name for name in schemas if "." in name] == []


def test_every_name_in_a_path_is_told_of(openapi: dict[str, Any]) -> None:
    for path, methods in openapi["paths"].items():
        for operation in methods.values():
            named = [
                part["name"] for part in operation.get("parameters", ()) if part["in"] == "path"
            ]
            assert [f"{{{name}}}" for name in named] == [
                part for part in path.split("/") if part.startswith("{")
            ]


def test_every_reference_leads_somewhere(openapi: dict[str, Any]) -> None:
    text = json.dumps(openapi)
    for name in {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in openapi["components"]["schemas"]


def test_patterns_are_those_of_every_language(openapi: dict[str, Any]) -> None:
    assert r"\\Z" not in json.dumps(openapi)


def test_texts_are_not_indented(openapi: dict[str, Any]) -> None:
    texts = [schema.get("description", "") for schema in openapi["components"]["schemas"].values()]
    assert any("\n" in text for text in texts)
    assert not [text for text in texts if "\n " in text]


def test_schemas_are_schemas(openapi: dict[str, Any]) -> None:
    for schema in openapi["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


INSTANT = re.compile("[a-z]+(At|Since)|since|until|timestamp|nextAttempt")


def test_instants_are_told_to_be_such(openapi: dict[str, Any]) -> None:
    schemas = openapi["components"]["schemas"]
    times = {
        (kind, name): json.dumps(schema)
        for kind, part in schemas.items()
        for name, schema in part.get("properties", {}).items()
        if INSTANT.fullmatch(name)
    }
    assert len(times) > 20
    assert [name for name, schema in times.items() if '"format": "date-time"' not in schema] == []


def test_what_needs_no_key_says_so(openapi: dict[str, Any]) -> None:
    assert openapi["paths"]["/api/v1/openapi.json"]["get"]["security"] == []
    assert "security" not in openapi["paths"]["/api/v1/app"]["get"]


def test_a_list_in_a_query_is_apart_by_commas_and_nothing_there_is_null(
    openapi: dict[str, Any],
) -> None:
    for methods in openapi["paths"].values():
        for operation in methods.values():
            for part in operation.get("parameters", ()):
                assert "null" not in json.dumps(part["schema"]), part
                if part["schema"].get("type") == "array":
                    assert part["explode"] is False


def test_a_failure_that_only_some_operations_have_is_told_of_there(
    openapi: dict[str, Any],
) -> None:
    path = "/api/v1/app/{app_id}/endpoint/{endpoint_id}"
    assert "400" in openapi["paths"][f"{path}/stats"]["get"]["responses"]
    assert "400" not in openapi["paths"][path]["get"]["responses"]
