"""Requests of one client that cost a server as much as they can, each within the limits on size."""

import json
from collections.abc import Iterator

from tests.service.api.conftest import KEY

Case = tuple[str, bytes]
"""What is nasty about it, and the request."""

MIB = 1024 * 1024
APP = "/api/v1/app/shop"
MESSAGES, BATCH, ENDPOINTS = f"{APP}/msg", f"{APP}/msg/batch", f"{APP}/endpoint"
TYPES, APPS = "/api/v1/event-type", "/api/v1/app"


def request(method: str, path: str, body: bytes = b"", *more: str) -> bytes:
    """A request as bytes."""
    lines = (
        f"{method} {path} HTTP/1.1",
        "host: hooks.example",
        f"authorization: Bearer {KEY}",
        f"content-length: {len(body)}",
        "connection: close",
        *more,
    )
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def message(payload: bytes) -> bytes:
    """A message with a payload as bytes."""
    return b'{"eventType": "order.paid", "payload": ' + payload + b"}"


def filled(start: bytes, unit: bytes, end: bytes, size: int = MIB - 100) -> bytes:
    """A text of about `size` bytes: a unit over and over, between a start and an end."""
    return start + unit * ((size - len(start) - len(end)) // len(unit)) + end


PAYLOADS = {
    "arrays without end": filled(b"", b"[", b""),
    "objects without end": filled(b"", b'{"a":', b""),
    "arrays as deep as allowed": b'{"a":' + b"[" * 800 + b"]" * 800 + b"}",
    "an unclosed text": filled(b'{"a": "', b"x", b""),
    "an unclosed list": filled(b'{"a": [', b"1,", b""),
    "escapes": filled(b'{"a": "', rb"\u0041", b'"}'),
    "escaped pairs of surrogates": filled(b'{"a": "', rb"\ud83d\ude00", b'"}'),
    "half surrogates": filled(b'{"a": "', rb"\ud83d", b'"}'),
    "quoted quotes": filled(b'{"a": "', rb"\"", b'"}'),
    "backslashes, malformed": filled(b'{"a": "', rb"\\", rb"\x"),
    "one long number": filled(b'{"a": ', b"9", b"}"),
    "one long fraction": filled(b'{"a": 0.', b"9", b"}"),
    "many long numbers": filled(b'{"a": [', b"1.2345678901234567890123e-300,", b"0]}"),
    "empty objects": filled(b'{"a": [', b"{},", b"{}]}"),
    "empty arrays, malformed": filled(b'{"a": [', b"[],", b"]}"),
    "one name over and over": filled(b"{", b'"a":1,', b'"a":1}'),
    "many names": json.dumps({f"{number:x}": 0 for number in range(80_000)}).encode(),
    "bad UTF-8 at its end": filled(b'{"a": "', b"x", b'\xff"}'),
    "bad UTF-8 all over": filled(b'{"a": "', b"\xc3\x28", b'"}'),
    "long letters": filled(b'{"a": "', "\U0001f600".encode(), b'"}'),
    "spaces": filled(b'{"a": 1', b" ", b"}"),
}


def schema_in(name: str, schema: object) -> bytes:
    """A request for an event type with a schema."""
    body = {"name": name, "description": "", "schemas": {"1": schema}}
    return request("POST", TYPES, json.dumps(body).encode())


def _deep(levels: int) -> object:
    schema: object = {"type": "string"}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


def _unevaluated(levels: int) -> object:
    """A schema that a compiler reads three times as often with each level."""
    levels_by_name: dict[str, object] = {
        f"a{level}": {
            "unevaluatedProperties": False,
            "allOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 3,
        }
        for level in range(levels)
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {**levels_by_name, f"a{levels}": {}},
        "$ref": "#/$defs/a0",
    }


def _messages() -> Iterator[Case]:
    for name, payload in PAYLOADS.items():
        yield f"message, {name}", request("POST", MESSAGES, message(payload))
    for name in ("arrays without end", "escapes", "many names"):
        yield f"application, {name}", request("POST", APPS, PAYLOADS[name])
    raw = filled(b'"', rb"\u0041", b'"')
    body = b'{"eventType": "a", "payload": {}, "transformationsParams": {"rawPayload": ' + raw
    yield "a raw payload of escapes", request("POST", MESSAGES, body + b"}}")
    tags = b'{"eventType": "a", "payload": {}, "tags": ['
    yield "tags", request("POST", MESSAGES, filled(tags, b'"a",', b'"a"]}'))
    small = message(b"{}")
    batches = {
        "1,000 messages": b"[" + b",".join([small] * 1000) + b"]",
        "15 messages of 1 MB": b"[" + b",".join([message(PAYLOADS["escapes"])] * 15) + b"]",
        "messages without end": filled(b"[", small + b",", small + b"]", 16 * MIB),
        "16 MB, malformed": filled(b"[", small + b",", b"x", 16 * MIB),
        "16 MB of empty lists": filled(b"[", b"[],", b"[]]", 16 * MIB),
        "16 MB of tags": filled(b'[{"tags": [', b'"a",', b'"a"]}]', 16 * MIB),
        "16 MB of headers": filled(
            b'[{"transformationsParams": {"headers": {', b'"a":"a",', b'"a":"a"}}}]', 16 * MIB
        ),
        "applications": filled(
            b"[", _described(b'"application": {"metadata": {%b}}'), b"{}]", 16 * MIB
        ),
        "headers": filled(
            b"[", _described(b'"transformationsParams": {"headers": {%b}}'), b"{}]", 16 * MIB
        ),
        "16 MB of one text": filled(b'["', b"x", b'"]', 16 * MIB),
    }
    for name, batch in batches.items():
        yield f"batch, {name}", request("POST", BATCH, batch)


def _described(field: bytes) -> bytes:
    """A message of a batch with as many short texts in a field as it may have by itself."""
    texts = filled(b"", b'"":"",', b'"":""', 64_000)
    return b'{"eventType": "a", "payload": {}, ' + field % texts + b"},"


def _schemas() -> Iterator[Case]:
    patterns = [{"pattern": f"^(a|b{number})" + "{1,99}$"} for number in range(100)]
    many = {"properties": {f"p{number}": one for number, one in enumerate(patterns)}}
    yield "schema, 100 patterns", schema_in("patterns", many)
    yield "schema, too many patterns", schema_in("more", {"allOf": patterns * 200})
    yield "schema, a repeated repetition", schema_in("repeated", {"pattern": "((a{99}){99}){99}"})
    yield "schema, a long pattern", schema_in("long", {"pattern": "(a|b)*" * 20_000})
    yield "schema, deep", schema_in("deep", _deep(200))
    yield "schema, a long list", schema_in("list", {"enum": list(range(100_000))})
    yield "schema, many branches", schema_in("branches", {"anyOf": [{"type": "null"}] * 50_000})
    yield "schema, some branches", schema_in("some", {"anyOf": [{"type": "null"}] * 9_900})
    yield "schema, references to references", schema_in("references", _unevaluated(40))


def _validated() -> Iterator[Case]:
    """Messages that are as slow to check as they may be, and some that are slower."""
    numbers = {"not": {"anyOf": [{"const": number} for number in range(1000)]}}
    slow: dict[str, tuple[object, object, int]] = {
        "numbers": ({"items": numbers}, -1, 155),
        "numbers, too many": ({"items": numbers}, -1, 4000),
        "a mixed list": ({"items": {"not": {"enum": [*range(1500), "x"]}}}, -1, 100),
        "fractions": ({"items": {"multipleOf": 0.0001}}, 1e300, 1200),
        "fractions, too many": ({"items": {"multipleOf": 0.0001}}, 1e300, 100_000),
        "large integers": ({"items": {"allOf": [{"minimum": 0}] * 500}}, 10**300, 15),
        "patterns": (
            {"items": {"allOf": [{"pattern": f"^a*b{n}?"} for n in range(90)]}},
            "a",
            9000,
        ),
        "parts": ({"items": {"allOf": [{"type": "integer"}] * 2000}}, 1, 2400),
    }
    for name, (schema, value, count) in slow.items():
        kind = f"slow.{name.replace(' ', '-').replace(',', '')}"
        body = {
            "name": kind,
            "description": "",
            "validatePayload": True,
            "schemas": {"1": {"properties": {"a": schema}}},
        }
        yield f"slow schema, {name}", request("POST", TYPES, json.dumps(body).encode())
        sent = json.dumps({"eventType": kind, "payload": {"a": [value] * count}}).encode()
        yield f"slow message, {name}", request("POST", MESSAGES, sent)


def _endpoints() -> Iterator[Case]:
    url = b'{"url": "https://example.com/'
    yield "endpoint, a long URL", request("POST", ENDPOINTS, filled(url, b"a", b'"}'))
    letters = {"url": "https://" + "".join(map(chr, range(0x4E00, 0x4E00 + 2000))) + ".com/"}
    yield "endpoint, many letters", request("POST", ENDPOINTS, json.dumps(letters).encode())
    types = url + b'", "filterTypes": ['
    yield "endpoint, event types", request("POST", ENDPOINTS, filled(types, b'"a",', b'"a"]}'))
    headers = json.dumps({f"x-{number}": "1" for number in range(50_000)}).encode()
    yield (
        "endpoint, headers",
        request("POST", ENDPOINTS, url + b'", "headers": ' + headers + b"}"),
    )
    metadata = json.dumps({f"{number}": "1" for number in range(70_000)}).encode()
    body = b'{"name": "a", "metadata": ' + metadata + b"}"
    yield "application, metadata", request("POST", APPS, body)
    policy = f"{APP}/policy"
    yield "policy, deep", request("PUT", policy, b'{"backoff":' * 800 + b"1" + b"}" * 800)
    yield "policy, a long name", request("PUT", policy, filled(b'{"', b"a", b'": 1}', 200_000))
    kind = filled(b'{"backoff": {"kind": "', b"a", b'"}}', 200_000)
    yield "policy, a long kind", request("PUT", policy, kind)
    waits = filled(b'{"backoff": {"kind": "schedule", "waits": [', b"1,", b"1]}}")
    yield "policy, waits", request("PUT", policy, waits)


def _heads() -> Iterator[Case]:
    many = [f"x-{number}: 1" for number in range(4000)]
    yield "4,000 headers", request("GET", APP, b"", *many)
    yield "a long header", request("GET", APP, b"", "x-long: " + "x" * 60_000)
    yield "a long cookie", request("GET", APP, b"", "cookie: " + "a=b;" * 15_000)
    yield "a long key", request("GET", APP).replace(KEY.encode(), b"x" * 60_000)
    yield "a long path", request("GET", "/api/v1/" + "a/" * 30_000)
    yield "a quoted path", request("GET", "/api/v1/" + "%2F" * 20_000)
    yield "a long query", request("GET", f"{MESSAGES}?event_types=" + "a," * 30_000)
    instant = "2020-01-01T00:00:" + "1" * 60_000
    yield "a long instant", request("GET", f"{MESSAGES}?after={instant}%20x%20y")
    yield "many queries", request("GET", f"{MESSAGES}?" + "event_types=a&" * 4000)
    chunks = b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n"
    head = request("POST", APPS).replace(b"content-length: 0", b"transfer-encoding: chunked")
    yield "a body in chunks of a byte", head + chunks


def _reads() -> Iterator[Case]:
    yield "the document", request("GET", "/api/v1/openapi.json")
    yield "the docs", request("GET", "/docs")
    yield "the dashboard", request("GET", "/dashboard")
    yield "metrics", request("GET", "/metrics")
    yield "a page of long messages", request("GET", f"{MESSAGES}?limit=250&with_content=true")
    yield "a page of long schemas", request("GET", f"{TYPES}?limit=250&with_content=true")
    yield "a page of event types", request("GET", f"{TYPES}?limit=250")
    yield "a page of endpoints", request("GET", f"{ENDPOINTS}?limit=250")
    yield "a page of messages", request("GET", f"{MESSAGES}?limit=250&with_content=false")


def nasty() -> Iterator[Case]:
    """All of them."""
    yield from _messages()
    yield from _schemas()
    yield from _validated()
    yield from _endpoints()
    yield from _heads()
    yield from _reads()
