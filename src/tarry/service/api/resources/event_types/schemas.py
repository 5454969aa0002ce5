"""Check the JSON Schemas of event types, and validate payloads against them.

Nothing is fetched from other places: a schema has to be complete in itself.
"""

from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs
import msgspec

from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.surrogates import decode
from tarry.service.api.resources.event_types.schema_weight import (
    MOST_BYTES,
    TooHeavyError,
    count_alike,
    count_values,
    weigh,
)

Patterns = jsonschema_rs.FancyRegexOptions | jsonschema_rs.RegexOptions

MOST_COMPILED = 100
"""The most schemas whose compiled validators are cached."""
_ALL_PATTERNS = jsonschema_rs.FancyRegexOptions()
_LINEAR_PATTERNS = jsonschema_rs.RegexOptions(size_limit=1024 * 1024)
"""Patterns that match in linear time: without look-around and backreferences."""
MOST_WORK = 20_000_000
"""The most work of one validation: the schema's weight times the number of the payload's values."""
WORK_OF_PAIR = 8
"""The work of comparing two different numbers that have the same float."""
MOST_REPORTED_WORK = 100_000
"""The most work of a validation that reports where a payload does not match.

The validator collects all failed alternatives for such a report, which costs memory and time.
"""


def read_schemas(schemas: dict[str, msgspec.Raw]) -> str:
    """Return schemas by version as the text that is stored; Invalid says which is not a schema."""
    for version, raw in schemas.items():
        try:
            _compiled(msgspec.json.decode(raw), _ALL_PATTERNS)
        except jsonschema_rs.ValidationError as error:
            path = ["body", "schemas", version, *map(str, error.instance_path)]
            raise Invalid(path, f"it is not a JSON Schema: {error.message}") from error
        except (ValueError, RecursionError) as error:
            raise Invalid(["body", "schemas", version], f"it cannot be used: {error}") from error
    return msgspec.json.encode(schemas).decode()


def newest(schemas: str) -> tuple[str, msgspec.Raw] | None:
    """Return the highest version and its schema: numbers count as numbers, and above all words."""
    by_version = msgspec.json.decode(schemas, type=dict[str, msgspec.Raw])
    if not by_version:
        return None
    version = max(by_version, key=lambda version: (version.isdecimal(), _number(version), version))
    return version, by_version[version]


def example(schemas: str, index: int) -> bytes | None:
    """Return the example at `index` in the newest schema, or the first if there are fewer."""
    version_and_schema = newest(schemas)
    schema = None if version_and_schema is None else msgspec.json.decode(version_and_schema[1])
    if not isinstance(schema, dict):
        return None
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        chosen = examples[index if index < len(examples) else 0]
    else:
        chosen = schema.get("example")
    return msgspec.json.encode(chosen) if isinstance(chosen, dict) else None


def check_weight(schemas: str) -> None:
    """Refuse schemas if validating payloads against the newest one could take too long."""
    version_and_schema = newest(schemas)
    if version_and_schema is None:
        return
    version, raw = version_and_schema
    try:
        _validator(bytes(raw).decode())
    except TooHeavyError as error:
        detail = f"payloads cannot be validated against it: {error}"
        raise Invalid(["body", "schemas", version], detail) from error


def check_payload(schema: str, payload: bytes, path: list[str]) -> None:
    """Refuse a payload that does not match a schema; Invalid says where it does not."""
    try:
        validator, weight, unique = _validator(schema)
        value = decode(payload, Any)
        work = weight * count_values(value)
        if unique:
            work += weight * count_alike(value) * WORK_OF_PAIR
        if work > MOST_WORK:
            detail = f"validating it against the {weight} parts of its schema takes {work} steps"
            raise Invalid(path, f"{detail}; at most {MOST_WORK} are allowed")
        if work <= MOST_REPORTED_WORK:
            validator.validate(value)
        elif not validator.is_valid(value):
            raise Invalid(path, "it does not match its schema; it is too large to say where")
    except jsonschema_rs.ValidationError as error:
        raise Invalid([*path, *map(str, error.instance_path)], error.message) from error
    except (ValueError, RecursionError) as error:
        raise Invalid(path, f"it cannot be validated against its schema: {error}") from error


@lru_cache(MOST_COMPILED)
def _validator(schema: str) -> tuple[jsonschema_rs.Validator, int, bool]:
    """Return the validator of a schema, its weight, and whether it may use `uniqueItems`."""
    raw = schema.encode()
    if len(raw) > MOST_BYTES:
        raise TooHeavyError(f"it has {len(raw)} bytes; at most {MOST_BYTES} are allowed")
    decoded = msgspec.json.decode(raw)
    # Encoded again, because the text may spell the keyword with escapes.
    weight, unique = weigh(decoded), b'"uniqueItems"' in msgspec.json.encode(decoded)
    try:
        return _compiled(decoded, _LINEAR_PATTERNS), weight, unique
    except jsonschema_rs.ValidationError as error:  # `read_schemas` accepted it, so it is a pattern
        detail = f"{error.instance!r} uses look-around or is too large"
        raise TooHeavyError(f"{detail}; use a simpler pattern") from error


def _compiled(schema: Any, patterns: Patterns) -> jsonschema_rs.Validator:  # noqa: ANN401  any JSON
    """Compile a schema; one without `$schema` counts as draft 7, as in other implementations."""
    if isinstance(schema, dict) and "$schema" in schema:
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse_to_fetch, pattern_options=patterns
        )
    return jsonschema_rs.Draft7Validator(
        schema, retriever=_refuse_to_fetch, pattern_options=patterns
    )


def _refuse_to_fetch(uri: str) -> NoReturn:
    """Raise an error: the schema refers to another document."""
    raise ValueError(f"{uri} is elsewhere, and nothing is fetched")


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
