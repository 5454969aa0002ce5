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
def told() -> dict[str, Any]:
    return document(operations())


async def test_the_document_is_served_to_everybody(url: str, told: dict[str, Any]) -> None:
    async with httpx.AsyncClient(base_url=url, **PLAIN) as nobody:
        answer = await nobody.get("/api/v1/openapi.json")
    assert (answer.status_code, answer.json()) == (200, json.loads(json.dumps(told)))


def test_every_operation_has_a_name_of_its_own(told: dict[str, Any]) -> None:
    names = [one["operationId"] for path in told["paths"].values() for one in path.values()]
    assert len(names) == len(operations())
    assert len(set(names)) == len(names)


def test_every_name_in_a_path_is_told_of(told: dict[str, Any]) -> None:
    for path, place in told["paths"].items():
        for one in place.values():
            named = [part["name"] for part in one.get("parameters", ()) if part["in"] == "path"]
            assert [f"{{{name}}}" for name in named] == [
                part for part in path.split("/") if part.startswith("{")
            ]


def test_every_reference_leads_somewhere(told: dict[str, Any]) -> None:
    text = json.dumps(told)
    for name in {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in told["components"]["schemas"]


def test_patterns_are_those_of_every_language(told: dict[str, Any]) -> None:
    assert r"\\Z" not in json.dumps(told)


def test_texts_are_not_indented(told: dict[str, Any]) -> None:
    texts = [one.get("description", "") for one in told["components"]["schemas"].values()]
    assert any("\n" in text for text in texts)
    assert not [text for text in texts if "\n " in text]


def test_schemas_are_schemas(told: dict[str, Any]) -> None:
    for schema in told["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


INSTANT = re.compile("[a-z]+(At|Since)|since|until|timestamp|nextAttempt")


def test_instants_are_told_to_be_such(told: dict[str, Any]) -> None:
    schemas = told["components"]["schemas"]
    found = {
        (kind, name): json.dumps(schema)
        for kind, part in schemas.items()
        for name, schema in part.get("properties", {}).items()
        if INSTANT.fullmatch(name)
    }
    assert len(found) > 20
    assert [one for one, schema in found.items() if '"format": "date-time"' not in schema] == []


def test_what_needs_no_key_says_so(told: dict[str, Any]) -> None:
    assert told["paths"]["/api/v1/openapi.json"]["get"]["security"] == []
    assert "security" not in told["paths"]["/api/v1/app"]["get"]


def test_a_list_in_a_query_is_apart_by_commas_and_nothing_there_is_null(
    told: dict[str, Any],
) -> None:
    for place in told["paths"].values():
        for one in place.values():
            for part in one.get("parameters", ()):
                assert "null" not in json.dumps(part["schema"]), part
                if part["schema"].get("type") == "array":
                    assert part["explode"] is False


def test_a_failure_that_only_some_operations_have_is_told_of_there(told: dict[str, Any]) -> None:
    way = "/api/v1/app/{app_id}/endpoint/{endpoint_id}"
    assert "400" in told["paths"][f"{way}/stats"]["get"]["responses"]
    assert "400" not in told["paths"][way]["get"]["responses"]
