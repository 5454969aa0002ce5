"""Render the OpenAPI document as an HTML page."""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from tarry.service.api.http.problem import Answer

Json = dict[str, Any]

_REF = "#/components/schemas/"


def docs_page(document: Json) -> Answer:
    """Return the page, with a content security policy that lets it load nothing."""
    style, script = _file("docs.css"), _file("docs.js")
    policy = (
        f"default-src 'none'; style-src {_csp_hash(style)}; script-src {_csp_hash(script)};"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
    return 200, headers, _page(document, style, script).encode()


def _file(name: str) -> str:
    """Return the text of a file of this package."""
    return files("tarry.service.api.openapi").joinpath(name).read_text(encoding="utf-8")


def _csp_hash(text: str) -> str:
    """Return the hash of a script or style for the content security policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _page(document: Json, style: str, script: str) -> str:
    """Return the page as HTML."""
    entries = list(_entries(document))
    groups = dict.fromkeys(operation["tags"][0] for _, _, operation in entries)
    links = "".join(
        f"<h2>{escape(group)}</h2>"
        + "".join(_link(*entry) for entry in entries if entry[2]["tags"][0] == group)
        for group in groups
    )
    body = "".join(
        f"<h2>{escape(group)}</h2>"
        + "".join(_entry(*entry, document) for entry in entries if entry[2]["tags"][0] == group)
        for group in groups
    )
    info = document["info"]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])} API</title><style>{style}</style>"
        f'<nav><input type="search" placeholder="Find an operation" aria-label="Find an operation">'
        f"{links}</nav><main><h1>{escape(info['title'])} API</h1>"
        f"<p>{escape(info['description'])}</p>"
        "<p>Give your key with every request: <code>Authorization: Bearer KEY</code>. The document"
        ' for programs is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>'
        f"{body}</main><script>{script}</script></html>"
    )


def _entries(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield method, path and description of each operation."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _search_words(method: str, path: str, operation: Json) -> str:
    """Return the words by which the page's search finds an operation."""
    words = f"{method} {path} {operation['summary']} {operation['operationId']}".lower()
    return escape(words, quote=True)


def _link(method: str, path: str, operation: Json) -> str:
    """Return the HTML of a link to an operation."""
    name, words = escape(operation["operationId"]), _search_words(method, path, operation)
    return f'<a href="#{name}" data-words="{words}">{escape(operation["summary"])}</a>'


def _entry(method: str, path: str, operation: Json, document: Json) -> str:
    """Return the HTML of one operation: parameters, body and responses."""
    name, words = escape(operation["operationId"]), _search_words(method, path, operation)
    parts = [f"<p>{escape(operation.get('description', ''))}</p>"]
    if "parameters" in operation:
        parts.append(_table(operation["parameters"]))
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        parts.append(f"<h4>Body</h4><pre>{escape(_shape(schema, document))}</pre>")
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json", {})
        parts.append(f"<h4>{status}</h4><p>{escape(answer['description'])}</p>")
        if content and status < "400":
            parts.append(f"<pre>{escape(_shape(content['schema'], document))}</pre>")
    return (
        f'<details id="{name}" data-words="{words}"><summary><span class="method">{method}</span>'
        f"<code>{escape(path)}</code> &nbsp; {escape(operation['summary'])}</summary>"
        f"<div>{''.join(parts)}</div></details>"
    )


def _table(parameters: list[Json]) -> str:
    """Return the HTML of a table of parameters."""
    return (
        f"<table><tr><th>Name<th>In<th>What<th>{''.join(map(_parameter_row, parameters))}</table>"
    )


def _parameter_row(parameter: Json) -> str:
    """Return the row of a parameter in the table of an operation."""
    needed = ' class="needed"' if parameter["required"] else ""
    name, kind = escape(parameter["name"]), escape(_kind(parameter["schema"]))
    description = escape(parameter.get("description", ""))
    return (
        f"<tr><td{needed}><code>{name}</code></td><td>{escape(parameter['in'])}</td>"
        f"<td>{kind}</td><td>{description}</td></tr>"
    )


def _kind(schema: Json) -> str:
    """Return the type of a field in a few words."""
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {_kind(schema['items'])}"
    if "minimum" in schema and "maximum" in schema:
        return f"{kind}, {schema['minimum']} to {schema['maximum']}"
    return str(schema.get("format", kind))


def _shape(schema: Json, document: Json, indent: str = "", outer: tuple[str, ...] = ()) -> str:
    """Return the structure of a value, field by field."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(_REF)
        if name in outer:
            return name
        return _shape(document["components"]["schemas"][name], document, indent, (*outer, name))
    if "anyOf" in schema:
        return " or ".join(_shape(part, document, indent, outer) for part in schema["anyOf"])
    if schema.get("type") == "array" and "items" in schema:
        return f"[{_shape(schema['items'], document, indent, outer)}, ...]"
    if "properties" in schema:
        deeper = indent + "  "
        fields = "".join(
            f"{deeper}{name}{'' if name in schema.get('required', ()) else '?'}: "
            f"{_shape(part, document, deeper, outer)}\n"
            for name, part in schema["properties"].items()
        )
        return f"{{\n{fields}{indent}}}"
    return _kind(schema)
