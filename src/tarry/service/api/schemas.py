"""The schemas of event types: read, checked, and payloads held against them.

Nothing is fetched from anywhere: a schema has to say everything itself.
"""

from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs
import msgspec

from tarry.service.api.problem import Invalid

MOST_COMPILED = 100
"""Schemas that are remembered as they are checked with."""
MOST_STEPS = 100_000
"""Of a pattern that looks ahead or back; others take no longer than their text."""


def read_schemas(schemas: dict[str, msgspec.Raw]) -> str:
    """Schemas by their versions, as the text that is kept; Invalid says which cannot be one."""
    for version, raw in schemas.items():
        try:
            _compiled(msgspec.json.decode(raw))
        except jsonschema_rs.ValidationError as error:
            place = ["body", "schemas", version, *map(str, error.instance_path)]
            raise Invalid(place, f"it is no JSON Schema: {error.message}") from error
        except (ValueError, RecursionError) as error:
            raise Invalid(["body", "schemas", version], f"it cannot be used: {error}") from error
    return msgspec.json.encode(schemas).decode()


def newest(schemas: str) -> Any:  # noqa: ANN401  any JSON
    """The schema of the highest version: numbers count as such, and behind all words."""
    found = msgspec.json.decode(schemas, type=dict[str, Any])
    if not found:
        return None
    return found[max(found, key=lambda version: (version.isdecimal(), _number(version), version))]


def example(schemas: str, index: int) -> bytes | None:
    """An example of a payload from the newest schema, the first if there are fewer."""
    schema = newest(schemas)
    if not isinstance(schema, dict):
        return None
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        chosen = examples[index if index < len(examples) else 0]
    else:
        chosen = schema.get("example")
    return msgspec.json.encode(chosen) if isinstance(chosen, dict) else None


def check_payload(schemas: str, payload: bytes, place: list[str]) -> None:
    """Refuse a payload that does not fit the newest schema; Invalid says where."""
    validator = _validator(schemas)
    if validator is None:
        return
    try:
        validator.validate(msgspec.json.decode(payload))
    except jsonschema_rs.ValidationError as error:
        raise Invalid([*place, *map(str, error.instance_path)], error.message) from error
    except (ValueError, RecursionError) as error:
        raise Invalid(place, f"it cannot be held against its schema: {error}") from error


@lru_cache(MOST_COMPILED)
def _validator(schemas: str) -> jsonschema_rs.Validator | None:
    schema = newest(schemas)
    return None if schema is None else _compiled(schema)


def _compiled(schema: Any) -> jsonschema_rs.Validator:  # noqa: ANN401  any JSON
    """One that does not say which draft it is by is by draft 7, as everywhere else."""
    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=MOST_STEPS)
    if isinstance(schema, dict) and "$schema" in schema:
        return jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=patterns)
    return jsonschema_rs.Draft7Validator(schema, retriever=_refuse, pattern_options=patterns)


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is elsewhere, and nothing is fetched")


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
