"""Check the JSON Schemas of event types, and validate payloads against them.

Nothing is fetched from other places: a schema has to be complete in itself. Work that takes long
runs in a thread.
"""

from typing import Any, NoReturn

import jsonschema_rs
import msgspec

from tarry.service.api.http.off_loop import off_loop
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.surrogates import decode
from tarry.service.api.resources.event_types.schema_weight import (
    LARGE_INTEGER,
    MOST_BYTES,
    TooHeavyError,
    cost,
    count_alike,
    count_large_integers,
    count_letters,
    count_schemas,
    count_values,
    is_evaluated_again,
    patterns_in,
    weigh,
    weight_of_patterns,
    without_unevaluated,
)

Patterns = jsonschema_rs.FancyRegexOptions | jsonschema_rs.RegexOptions

MOST_COMPILED = 100
"""The most schemas whose compiled validators are cached."""
MOST_COMPILED_PATTERNS = 500
"""The most patterns of these schemas together. A compiled pattern may have a megabyte."""
_MOST_COMPILED_BYTES = 1024 * 1024
_ALL_PATTERNS = jsonschema_rs.FancyRegexOptions(size_limit=_MOST_COMPILED_BYTES)
_LINEAR_PATTERNS = jsonschema_rs.RegexOptions(size_limit=_MOST_COMPILED_BYTES)
"""Patterns that match in linear time: without look-around and backreferences."""
MOST_PATTERNS = 100
"""The most regular expressions in all schemas of an event type. Compiling one can take 5 ms."""
MOST_PATTERN_LENGTH = 1000
"""The most characters of a regular expression."""
MOST_SCHEMAS = 10_000
"""The most schemas, one inside the other or beside it, in all schemas of an event type. Compiling
them holds the interpreter's lock: 10,000 take about 20 ms."""
MOST_WORK = 10_000_000
"""The most work of one validation: the schema's cost times the number of the payload's values.

The validator holds the interpreter's lock. A step takes about 3 ns, at most 5 ns.
"""
WORK_OF_PAIR = 8
"""The work of comparing two different numbers that have the same float."""
MOST_REPORTED_WORK = 100_000
"""The most work of a validation that reports where a payload does not match.

The validator collects all failed alternatives for such a report, which costs memory and time.
"""
QUICK_WORK = 100_000
"""The most work of a validation on the event loop, with one value for each byte of the payload."""


def read_schemas(schemas: dict[str, msgspec.Raw]) -> str:
    """Return schemas by version as the text that is stored; Invalid says which is not a schema."""
    patterns_left, schemas_left = MOST_PATTERNS, MOST_SCHEMAS
    for version, raw in schemas.items():
        try:
            schema = msgspec.json.decode(raw)
            patterns_left -= _count_patterns(schema, most=patterns_left)
            schemas_left -= _count_schemas(schema, most=schemas_left)
            _compiled(_quick_to_compile(schema), _ALL_PATTERNS)
        except jsonschema_rs.ValidationError as error:
            path = ["body", "schemas", version, *map(str, error.instance_path)]
            raise Invalid(path, f"it is not a JSON Schema: {error.message}") from error
        except (ValueError, RecursionError) as error:
            raise Invalid(["body", "schemas", version], f"it cannot be used: {error}") from error
    return msgspec.json.encode(schemas).decode()


def _count_patterns(schema: object, *, most: int) -> int:
    """Return the number of patterns in a schema; ValueError if there are too many or long ones."""
    patterns = list(patterns_in(schema))
    if len(patterns) > most:
        detail = f"all schemas of an event type may have at most {MOST_PATTERNS} patterns together"
        raise ValueError(f"it has {len(patterns)} patterns; {detail}")
    longest = max(patterns, key=len, default="")
    if len(longest) > MOST_PATTERN_LENGTH:
        detail = f"a pattern has {len(longest)} characters; at most {MOST_PATTERN_LENGTH} are"
        raise ValueError(f"{detail} allowed")
    return len(patterns)


def _count_schemas(schema: object, *, most: int) -> int:
    """Return the number of schemas in a schema; ValueError if there are too many."""
    count = count_schemas(schema)
    if count > most:
        detail = f"all schemas of an event type may have at most {MOST_SCHEMAS} parts together"
        raise ValueError(f"it has {count} parts; {detail}")
    return count


def _quick_to_compile(schema: object) -> object:
    """Return a schema as it can be compiled in a short time, to learn if it is one.

    The compiler follows references again for each `unevaluatedProperties` and `unevaluatedItems`,
    with the interpreter's lock held. A schema of 1 KB can keep it busy for hours. If such a schema
    is too heavy to validate payloads against, it is checked without these keywords.
    """
    if not is_evaluated_again(schema):
        return schema
    try:
        weigh(schema)
    except TooHeavyError:
        return without_unevaluated(schema)
    return schema


def newest(schemas: str) -> tuple[str, msgspec.Raw] | None:
    """Return the highest version and its schema: numbers count as numbers, and above all words."""
    by_version = msgspec.json.decode(schemas, type=dict[str, msgspec.Raw])
    if not by_version:
        return None
    version = max(
        by_version, key=lambda version: (version.isdecimal(), _version_number(version), version)
    )
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
        _validators.get(bytes(raw).decode())
    except TooHeavyError as error:
        detail = f"payloads cannot be validated against it: {error}"
        raise Invalid(["body", "schemas", version], detail) from error


async def check_payload(
    schema: str, payload: bytes, path: list[str], *, show_values: bool = True
) -> None:
    """Refuse a payload that does not match a schema; Invalid says where it does not.

    Unless `show_values` is set, the error has no values of the payload.
    """
    known = _validators.known(schema)
    if known is not None and known.cost * len(payload) <= QUICK_WORK:
        validate(schema, payload, path, show_values=show_values)
    else:
        await off_loop(validate, schema, payload, path, show_values=show_values)


def validate(schema: str, payload: bytes, path: list[str], *, show_values: bool = True) -> None:
    """Do the work of `check_payload`, however long it takes."""
    try:
        known = _validators.get(schema)
        value = decode(payload, Any)
        work = known.cost * (count_values(value) + LARGE_INTEGER * count_large_integers(value))
        if known.patterns_of_text:
            work += known.patterns_of_text * count_letters(value) // 2
        if known.may_compare_items:
            work += known.weight * count_alike(value) * WORK_OF_PAIR
        if work > MOST_WORK:
            detail = f"validating it against the {known.weight} parts of its schema takes"
            raise Invalid(path, f"{detail} {work} steps; at most {MOST_WORK} are allowed")
        if work <= MOST_REPORTED_WORK:
            known.validator.validate(value)
        elif not known.validator.is_valid(value):
            raise Invalid(path, "it does not match its schema; it is too large to say where")
    except jsonschema_rs.ValidationError as error:
        rule = "/".join(map(str, error.schema_path))
        detail = error.message if show_values else f"it does not match {rule} of its schema"
        raise Invalid([*path, *map(str, error.instance_path)], detail) from error
    except (ValueError, RecursionError) as error:
        why = f": {error}" if show_values else ""
        raise Invalid(path, f"it cannot be validated against its schema{why}") from error


class Compiled(msgspec.Struct, frozen=True):
    """The validator of a schema, its weight and cost, and whether it may use `uniqueItems`.

    One text may have to match `patterns_of_text` patterns. The schema has `patterns` altogether.
    """

    validator: jsonschema_rs.Validator
    weight: int
    cost: int
    patterns_of_text: int
    may_compare_items: bool
    patterns: int


class ValidatorCache:
    """Caches the validators of the schemas that were used last. Threads may share it."""

    def __init__(self) -> None:
        self._by_schema: dict[str, Compiled] = {}

    def known(self, schema: str) -> Compiled | None:
        """Return the validator of a schema if it is cached."""
        return self._by_schema.get(schema)

    def get(self, schema: str) -> Compiled:
        """Return the validator of a schema; TooHeavyError if it cannot be used."""
        compiled = self._by_schema.pop(schema, None) or _compile(schema)
        self._by_schema[schema] = compiled  # at the end: the first one was used longest ago
        self._drop_oldest()
        return compiled

    def _drop_oldest(self) -> None:
        """Drop the oldest compiled schemas, except the newest, until the cache is within limits."""
        cached = list(self._by_schema.items())
        patterns = sum(compiled.patterns for _, compiled in cached)
        for schema, compiled in cached[:-1]:
            if len(self._by_schema) <= MOST_COMPILED and patterns <= MOST_COMPILED_PATTERNS:
                break
            self._by_schema.pop(schema, None)
            patterns -= compiled.patterns


_validators = ValidatorCache()


def _compile(schema: str) -> Compiled:
    """Compile a schema; TooHeavyError if payloads cannot be validated against it."""
    raw = schema.encode()
    if len(raw) > MOST_BYTES:
        raise TooHeavyError(f"it has {len(raw)} bytes; at most {MOST_BYTES} are allowed")
    decoded = msgspec.json.decode(raw)
    # Encoded again, because the text may spell the keyword with escapes.
    may_compare_items = b'"uniqueItems"' in msgspec.json.encode(decoded)
    weight, patterns = weigh(decoded), sum(1 for _ in patterns_in(decoded))
    try:
        validator = _compiled(decoded, _LINEAR_PATTERNS)
    except jsonschema_rs.ValidationError as error:  # `read_schemas` accepted it, so it is a pattern
        detail = f"{error.instance!r} uses look-around or is too large"
        raise TooHeavyError(f"{detail}; use a simpler pattern") from error
    return Compiled(
        validator, weight, cost(decoded), weight_of_patterns(decoded), may_compare_items, patterns
    )


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


def _version_number(version: str) -> int:
    """Return a version as a number to sort by; 0 if it is not one."""
    return int(version) if version.isdecimal() else 0
