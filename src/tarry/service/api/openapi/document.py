"""Generate the OpenAPI document from the same types that requests are parsed with."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Operation
from tarry.service.api.http.parsing import may_be_left_out, when_given
from tarry.service.api.http.request import MOST_KEY
from tarry.service.api.resources.call import NAME

Json = dict[str, Any]

VERSION = "1.0"
_REF = "#/components/schemas/{name}"
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_MEANING_OF_PARAMETER = {
    "app_id": "an application, by its id or uid",
    "endpoint_id": "an endpoint, by its id or uid",
    "msg_id": "a message, by its id or eventId",
    "attempt_id": "an attempt",
    "event_type_name": "a type of event",
    "task_id": "a background task",
    "key_id": "a key",
}
_REWRITES: Mapping[str, Callable[[str], str]] = {
    "pattern": lambda pattern: pattern.replace(r"\Z", "$"),
    "description": inspect.cleandoc,
}
_ERRORS = {
    400: "It cannot be done just now",
    401: "No key, or an unknown key",
    403: "The key does not open this",
    404: "There is no such thing here",
    409: "There is another one already",
    413: "The body is too long",
    422: "Something in the request cannot be used",
    429: "Too many requests, or too much waits already: come back after `Retry-After` seconds",
    500: "Something went wrong inside",
    503: "The database cannot be used just now: come back after `Retry-After` seconds",
}


class HttpError(Struct):
    """An error: a code for programs and a sentence for people."""

    code: str
    detail: str


class InvalidField(Struct):
    """An error in one part of a request."""

    loc: list[str]
    msg: str
    type: str


class ValidationError(Struct):
    """The errors in a request that cannot be used."""

    detail: list[InvalidField]


def document(operations: Iterable[Operation]) -> Json:
    """Return the OpenAPI document of some operations."""
    listed = list(operations)
    schemas, components = _schemas(listed)
    paths: dict[str, Json] = {}
    for operation in listed:
        methods = paths.setdefault(f"/api/v1{operation.path}", {})
        methods[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tarry",
            "version": VERSION,
            "description": (
                "Webhooks that never stampede. Where an operation has the path of one of Svix's"
                " open-source server, it works with Svix's SDKs."
            ),
        },
        "tags": [{"name": name} for name in dict.fromkeys(operation.group for operation in listed)],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(operations: Iterable[Operation]) -> tuple[Mapping[Any, Json], Json]:
    """Return the schemas of all types in requests and responses, and their shared components."""
    types = {HttpError: None, ValidationError: None}
    for operation in operations:
        kinds = (when_given(operation.body), operation.answer)
        types.update(dict.fromkeys(kind for kind in kinds if kind is not None))
    schemas, components = msgspec.json.schema_components(list(types), ref_template=_REF)
    by_type = dict(zip(types, map(_for_all_languages, schemas), strict=True))
    return by_type, {
        name: _for_all_languages(schema) for name, schema in sorted(components.items())
    }


def _for_all_languages(schema: Any) -> Any:  # noqa: ANN401  JSON
    """Return a schema for all languages: patterns end with `$`, and texts are not indented.

    Only strings are changed. Under `properties`, the keys `pattern` and `description` are names of
    fields, and their values are schemas.
    """
    match schema:
        case dict():
            return {name: _for_all_languages(value) for name, value in schema.items()} | {
                name: rewrite(schema[name])
                for name, rewrite in _REWRITES.items()
                if isinstance(schema.get(name), str)
            }
        case list():
            return [_for_all_languages(item) for item in schema]
    return schema


def _operation(operation: Operation, schemas: Mapping[object, Json]) -> Json:
    """Describe one operation: parameters, body, responses and errors."""
    described: Json = {
        "operationId": operation.name,
        "tags": [operation.group],
        "summary": operation.summary,
        "responses": _responses(operation, schemas),
    }
    if operation.detail:
        described["description"] = operation.detail
    if parameters := [
        *_path_parameters(operation),
        *_query_parameters(operation),
        *_header_parameters(operation),
    ]:
        described["parameters"] = parameters
    if operation.body is not None:
        content = {"application/json": {"schema": schemas[when_given(operation.body)]}}
        required = not may_be_left_out(operation.body)
        described["requestBody"] = {"required": required, "content": content}
    if operation.needs is Need.NOTHING:
        described["security"] = []
    return described


def _path_parameters(operation: Operation) -> list[Json]:
    """Describe the parameters in the operation's path, such as `{app_id}`."""
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _MEANING_OF_PARAMETER[name],
            "schema": {"type": "string", "pattern": f"^{NAME.pattern}$"},
        }
        for name in _PATH_PARAMETER.findall(operation.path)
    ]


def _query_parameters(operation: Operation) -> list[Json]:
    """Describe the operation's query parameters: the fields of its query type."""
    if operation.query is None:
        return []
    _, parts = msgspec.json.schema_components([operation.query], ref_template=_REF)
    (fields,) = (part for part in parts.values() if "properties" in part)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in fields.get("required", ()),
            "schema": _for_all_languages(_without_null(schema)),
            **({"style": "form", "explode": False} if _is_list(schema) else {}),
        }
        for name, schema in fields["properties"].items()
    ]


def _without_null(schema: Json) -> Json:
    """Return the schema of a query parameter without null, which a query cannot express."""
    kinds: list[Json] = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        return kinds[0]
    if "enum" in schema:
        return {"enum": [value for value in schema["enum"] if value is not None]}
    return {name: value for name, value in schema.items() if name != "default" or value is not None}


def _is_list(schema: Json) -> bool:
    """Return whether a schema describes a list."""
    return _without_null(schema).get("type") == "array"


def _header_parameters(operation: Operation) -> list[Json]:
    """Describe the `idempotency-key` header, if the operation accepts one."""
    if operation.method != "POST" or operation.secret:
        return []
    return [
        {
            "name": "idempotency-key",
            "in": "header",
            "required": False,
            "description": "A repetition under the same key is answered as the first one",
            "schema": {"type": "string", "maxLength": MOST_KEY},
        }
    ]


def _responses(operation: Operation, schemas: Mapping[object, Json]) -> Json:
    """Describe the operation's responses, successes and errors, by status."""
    if operation.answer is None:
        responses: Json = {str(status): {"description": "Done"} for status in operation.statuses}
    else:
        content = {"application/json": {"schema": schemas[operation.answer]}}
        responses = {
            str(status): {"description": operation.summary, "content": content}
            for status in operation.statuses
        }
    for status in _failure_statuses(operation):
        kind = ValidationError if status == 422 else HttpError  # noqa: PLR2004  its number
        content = {"application/json": {"schema": schemas[kind]}}
        responses[str(status)] = {"description": _ERRORS[status], "content": content}
    return responses


def _failure_statuses(operation: Operation) -> list[int]:
    """Return the statuses with which an operation may fail."""
    statuses = [500, 503, *operation.fails]
    if operation.needs is not Need.NOTHING:
        statuses += [401, 403, 429]
    if "{" in operation.path:
        statuses.append(404)
    if operation.method in ("POST", "PUT", "PATCH"):
        statuses.append(409)
    if operation.body is not None:
        statuses.append(413)
    if operation.body is not None or operation.query is not None or operation.method == "POST":
        statuses.append(422)
    return sorted(statuses)
