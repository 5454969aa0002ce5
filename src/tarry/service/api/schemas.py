"""The schemas of event types: read, checked, and payloads held against them.

Nothing is fetched from anywhere: a schema has to say everything itself.
"""

from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs
import msgspec

from tarry.service.api.problem import Invalid
from tarry.service.api.schema_weight import MOST_BYTES, TooHeavyError, alike, values, weigh
from tarry.service.api.surrogates import decode

Patterns = jsonschema_rs.FancyRegexOptions | jsonschema_rs.RegexOptions

MOST_COMPILED = 100
"""Schemas that are remembered as they are checked with."""
_READ = jsonschema_rs.FancyRegexOptions()
_CHECKED = jsonschema_rs.RegexOptions(size_limit=1024 * 1024)
"""Patterns that take no longer than their text is: none that look ahead or back."""
MOST_WORK = 20_000_000
"""A schema's weight times the values of a payload that is held against it."""
PAIR = 8
"""Steps that it takes to tell two numbers apart that look the same."""
MOST_TOLD = 100_000
"""The same, so that it is told where it does not fit: all that was tried is gathered for that."""


def read_schemas(schemas: dict[str, msgspec.Raw]) -> str:
    """Schemas by their versions, as the text that is kept; Invalid says which cannot be one."""
    for version, raw in schemas.items():
        try:
            _compiled(msgspec.json.decode(raw), _READ)
        except jsonschema_rs.ValidationError as error:
            place = ["body", "schemas", version, *map(str, error.instance_path)]
            raise Invalid(place, f"it is no JSON Schema: {error.message}") from error
        except (ValueError, RecursionError) as error:
            raise Invalid(["body", "schemas", version], f"it cannot be used: {error}") from error
    return msgspec.json.encode(schemas).decode()


def newest(schemas: str) -> tuple[str, msgspec.Raw] | None:
    """The highest version and its schema: numbers count as such, and behind all words."""
    found = msgspec.json.decode(schemas, type=dict[str, msgspec.Raw])
    if not found:
        return None
    version = max(found, key=lambda version: (version.isdecimal(), _number(version), version))
    return version, found[version]


def example(schemas: str, index: int) -> bytes | None:
    """An example of a payload from the newest schema, the first if there are fewer."""
    found = newest(schemas)
    schema = None if found is None else msgspec.json.decode(found[1])
    if not isinstance(schema, dict):
        return None
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        chosen = examples[index if index < len(examples) else 0]
    else:
        chosen = schema.get("example")
    return msgspec.json.encode(chosen) if isinstance(chosen, dict) else None


def check_weight(schemas: str) -> None:
    """Refuse a newest schema that payloads cannot be held against in good time."""
    found = newest(schemas)
    if found is None:
        return
    version, raw = found
    try:
        _validator(bytes(raw).decode())
    except TooHeavyError as error:
        said = f"payloads cannot be validated against it: {error}"
        raise Invalid(["body", "schemas", version], said) from error


def check_payload(schema: str, payload: bytes, place: list[str]) -> None:
    """Refuse a payload that does not fit a schema; Invalid says where."""
    try:
        validator, weight, unique = _validator(schema)
        told = decode(payload, Any)
        work = weight * values(told)
        if unique:
            work += weight * alike(told) * PAIR
        if work > MOST_WORK:
            said = f"to hold it against the {weight} parts of its schema takes {work} steps"
            raise Invalid(place, f"{said}; at most {MOST_WORK} will do")
        if work <= MOST_TOLD:
            validator.validate(told)
        elif not validator.is_valid(told):
            raise Invalid(place, "it does not fit its schema, and is too long to say where")
    except jsonschema_rs.ValidationError as error:
        raise Invalid([*place, *map(str, error.instance_path)], error.message) from error
    except (ValueError, RecursionError) as error:
        raise Invalid(place, f"it cannot be held against its schema: {error}") from error


@lru_cache(MOST_COMPILED)
def _validator(schema: str) -> tuple[jsonschema_rs.Validator, int, bool]:
    """What a schema is checked with, its weight, and whether it may want items to be unique."""
    raw = schema.encode()
    if len(raw) > MOST_BYTES:
        raise TooHeavyError(f"it has {len(raw)} bytes; at most {MOST_BYTES} will do")
    read = msgspec.json.decode(raw)
    weight, unique = weigh(read), b'"uniqueItems"' in msgspec.json.encode(read)  # without escapes
    try:
        return _compiled(read, _CHECKED), weight, unique
    except jsonschema_rs.ValidationError as error:  # it was read before: it is a pattern
        said = f"{error.instance!r} looks ahead or back or is too large"
        raise TooHeavyError(f"{said}; patterns without that will do") from error


def _compiled(schema: Any, patterns: Patterns) -> jsonschema_rs.Validator:  # noqa: ANN401  any JSON
    """One that does not say which draft it is by is by draft 7, as everywhere else."""
    if isinstance(schema, dict) and "$schema" in schema:
        return jsonschema_rs.validator_for(schema, retriever=_refuse, pattern_options=patterns)
    return jsonschema_rs.Draft7Validator(schema, retriever=_refuse, pattern_options=patterns)


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is elsewhere, and nothing is fetched")


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
