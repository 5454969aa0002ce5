"""Requests by chance, made out of the operations of the API: a seed always gives the same ones.

Most of them are nearly right, because only those come far: the path names things that exist, and a
body that would be accepted has one or two values replaced by something else.
"""

import json
import random
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from tarry.service.api.http.operation import Operation
from tarry.service.api.open import operations, written
from tests.conformance.server import KEY
from tests.conformance.tenants import BODIES, NAME, SINCE

Names = Mapping[str, Sequence[str]]
"""The ids and uids of things that exist, by their name in a path."""

JSON: tuple[object, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**53, 2**63, 2**64, 10**40, -0.0, 0.1, 1e308, 5e-324),
    *("", " ", "a", "\0", "\ud800", "\U0001f600", "é", "a" * 300, "x" * 5000, "%00", "../..", "'"),
    *("null", "ep_", "app_1", "order.paid", "https://example.com/", "http://127.0.0.1/", "-1"),
    *("1e400", SINCE, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-02-30T00:00:00Z"),
    *([], [[]], [None], ["a", "a"], [1] * 300, {}, {"": ""}, {"a": {"b": []}}, {"\0": "\0"}),
    *({f"k{number}": "v" for number in range(40)}, {"a": "x" * 20_000}),
)
"""Values that are put in place of others."""
TEXTS = (
    *("", "0", "1", "-1", "250", "251", "1e9", "99999999999999999999", "true", "null", "%", "\0"),
    *("a", "a,b", "," * 50, "x" * 400, "order.paid", "ascending", "success", "é", "\U0001f600"),
    *(SINCE, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "now", "app_1", "-app_1", "../x"),
)
"""Values of queries and names in paths."""
MORE_BODIES: dict[str, object] = {
    "v1.key.create": {"name": "x", "scopes": ["read"]},
    "v1.endpoint.update-headers": {"headers": {"x-a": "1"}},
    "v1.endpoint.patch-headers": {"headers": {"x-a": None}, "deleteHeaders": ["x-b"]},
    "v1.endpoint.rotate-secret": {"key": None, "gracePeriodSeconds": 5},
    "v1.message.bulk-expunge-content": {"ids": ["msg_1"]},
    "v1.policy.put-of-endpoint": {"attempts": 3, "backoff": {"kind": "fixed", "delay": 1}},
    "v1.policy.put-of-application": {"jitter": {"kind": "full"}, "within": 60},
    "v1.policy.put-of-environment": {"attempt_timeout": 5, "statuses": {"retry": [500]}},
    "v1.authentication.app-portal-access": {"readOnly": True, "expiry": 3600},
}
FRESH = tuple(f"fuzz-{number}" for number in range(8))
"""Names that PUT may create and DELETE may delete."""
GOOD = 0.87
"""How many names in paths are those of things that exist."""


class Fuzz:
    """Makes the requests of a seed. What exists has to be the same for each run."""

    def __init__(self, seed: str, known: Names) -> None:
        self._seed, self._known = seed, known
        self._operations = [one for one in operations() if one.name != "v1.authentication.logout"]
        self._queries = _fields_of_queries()

    def request(self, number: int) -> bytes:
        """Return the request with this number."""
        chance = random.Random(f"{self._seed}/{number}")
        operation = chance.choice(self._operations)
        target = f"/api/v1{self._path(chance, operation)}{self._query(chance, operation)}"
        body = self._body(chance, operation)
        method = operation.method if chance.random() < 0.97 else chance.choice(_METHODS)
        lines = [f"{method} {target} HTTP/1.1", "host: x", f"content-length: {len(body)}"]
        lines += self._headers(chance)
        raw = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
        return _damaged(chance, raw) if chance.random() < 0.02 else raw

    def _path(self, chance: random.Random, operation: Operation) -> str:
        names = NAME.findall(operation.path)

        def name(found: str) -> str:
            is_spared = operation.method == "DELETE" and found == names[-1]
            if is_spared or chance.random() > GOOD:
                return quote(chance.choice((*FRESH, *([] if is_spared else TEXTS))), safe="")
            return quote(chance.choice(self._known.get(found, FRESH)), safe="")

        return NAME.sub(lambda found: name(found[1]), operation.path)

    def _query(self, chance: random.Random, operation: Operation) -> str:
        fields = self._queries[operation.method, operation.path]
        chosen = [field for field in fields if chance.random() < 0.3]
        if chance.random() < 0.03:
            chosen.append(chance.choice(("unknown", "limit", "a[b]", "\xe9")))
        pairs = [f"{quote(field)}={quote(chance.choice(TEXTS))}" for field in chosen]
        return f"?{'&'.join(pairs)}" if pairs else ""

    def _body(self, chance: random.Random, operation: Operation) -> bytes:
        if operation.body is None:
            return b"" if chance.random() < 0.95 else b"{}"
        body = MORE_BODIES.get(operation.name, BODIES.get(operation.name, {}))
        body = json.loads(json.dumps(body).replace("null", f'"{SINCE}"'))
        for _ in range(chance.choice((0, 0, 1, 1, 2, 4))):
            body = _changed(chance, body, self._fields(operation))
        raw = json.dumps(body).encode()
        if chance.random() < 0.03:
            raw = _damaged(chance, raw)
        return raw

    @staticmethod
    def _fields(operation: Operation) -> Sequence[str]:
        return _FIELDS.get(operation.name) or _FIELDS.setdefault(
            operation.name, _fields_of_body(operation)
        )

    @staticmethod
    def _headers(chance: random.Random) -> list[str]:
        key = KEY if chance.random() < 0.97 else chance.choice(("", "x", "tarry_" + "a" * 40))
        lines = [f"authorization: Bearer {key}"]
        if chance.random() < 0.2:
            lines.append(f"idempotency-key: {chance.choice((*FRESH, 'x' * 300, ''))}")
        if chance.random() < 0.05:
            lines.append(chance.choice(_HEADERS))
        return lines


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_HEADERS = (
    "content-type: text/plain",
    "content-type: application/json; charset=utf-16",
    "accept: nothing/at-all",
    "if-none-match: *",
    "origin: https://evil.example",
    "webhook-chain: 19",
    "webhook-chain: -1",
    "x-forwarded-host: evil.example",
    "expect: 100-continue",
    "range: bytes=0-1",
    "prefer: return=minimal",
)
_FIELDS: dict[str, Sequence[str]] = {}


def _fields_of_queries() -> dict[tuple[str, str], list[str]]:
    """Return the fields of the query of each operation."""
    paths = written()["paths"]
    return {
        (operation.method, operation.path): [
            field["name"]
            for field in paths[f"/api/v1{operation.path}"][operation.method.lower()].get(
                "parameters", ()
            )
            if field["in"] == "query"
        ]
        for operation in operations()
    }


def _fields_of_body(operation: Operation) -> list[str]:
    """Return names of fields that the document knows, for the body of an operation."""
    document = written()
    shape = document["paths"][f"/api/v1{operation.path}"][operation.method.lower()]
    found: list[str] = []

    def collect(part: object) -> None:
        if isinstance(part, dict):
            if isinstance(reference := part.get("$ref"), str):
                collect(document["components"]["schemas"][reference.rpartition("/")[2]])
            properties = part.get("properties")
            found.extend(properties if isinstance(properties, dict) else ())
            for keyword, value in part.items():
                if keyword not in ("properties", "$ref"):
                    collect(value)
        elif isinstance(part, list):
            for value in part:
                collect(value)

    collect(shape.get("requestBody", {}))
    return sorted(set(found)) or ["unknown"]


def _changed(chance: random.Random, value: object, fields: Sequence[str]) -> object:
    """Return JSON with one value replaced, added or removed."""
    other = chance.choice(JSON)
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], _changed(chance, value[at], fields), *value[at + 1 :]]
    if not isinstance(value, dict):
        return other
    if not value or chance.random() < 0.5:
        return {**value, chance.choice(fields): other}
    name = chance.choice(sorted(value))
    kind = chance.random()
    if kind < 0.1:
        return {left: one for left, one in value.items() if left != name}
    return {**value, name: _changed(chance, value[name], fields) if kind < 0.5 else other}


def _damaged(chance: random.Random, raw: bytes) -> bytes:
    """Return bytes with some of them changed, added or removed."""
    changed = bytearray(raw)
    for _ in range(chance.randint(1, 4)):
        if not changed:
            break
        at = chance.randrange(len(changed))
        match chance.randrange(3):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                del changed[at]
            case _:
                changed.insert(at, chance.randrange(256))
    return bytes(changed)
