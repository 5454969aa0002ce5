"""Requests with the wrong things in the right places: queries, bodies, payloads and keys."""

from collections.abc import Iterator

from tarry.service.api.open import operations, written
from tests.conformance.malformed import GOOD, PREFIX, Case, request

JSON = [
    b"",
    b" ",
    b"\x00",
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00",
    b"nul",
    b"null",
    b"true",
    b"1",
    b'"x"',
    b"[]",
    b"[[]]",
    b"{",
    b"{}}",
    b"{} {}",
    b"{,}",
    b'{"name"}',
    b'{"name":}',
    b'{"name":,}',
    b'{"name": "x",}',
    b"{'name': 'x'}",
    b'{name: "x"}',
    b'{"name": NaN}',
    b'{"name": Infinity}',
    b'{"name": -}',
    b'{"name": 01}',
    b'{"name": 1.}',
    b'{"name": "\x00"}',
    b'{"name": "\\u0000"}',
    b'{"name": "x\ny"}',
    b'{"name": "\\ud800"}',
    b'{"name": "\\udc00\\ud800"}',
    b'{"name": "\xed\xa0\x80"}',
    b'{"name": "\xff"}',
    b'{"name": "\xc0\x80"}',
    b'{"name": "\\x41"}',
    b'{"name": "\\u12"}',
    b'{"name": "x',
    b'{"name": "' + b"x" * 100_000 + b'"}',
    b'{"name": "x", "throttleRate": 1e400}',
    b'{"name": "x", "throttleRate": ' + b"9" * 5000 + b"}",
    b'{"name": "x", "throttleRate": -0}',
    b'{"name": "x", "throttleRate": 99999999999999999999}',
    b'{"name": "x", "metadata": {"\\u0000": "x"}}',
    b'{"name": "x", "metadata": {"\\ud800": "\\udfff"}}',
    b'{"name": "x", "metadata": {"a": {"b": "c"}}}',
    b'{"name": "x", "name": 1}',
    b'{"name": "x", "uid": "\\u0000"}',
    b'{"\xff": 1}',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"[" * 900 + b"]" * 900,
    b'{"name": "x", "newer": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    b"<xml/>",
    b"name=x",
    b" " * 1_100_000,
]


def misplaced() -> Iterator[Case]:
    """All of them, the same ones every time."""
    yield from _queries()
    yield from _bodies()
    yield from _payloads()
    yield from _keys()


def _queries() -> Iterator[Case]:
    """Every field of every query, with what it cannot hold."""
    values = (
        "%00",
        "%ff",
        "",
        "null",
        "a" * 5000,
        "%ED%A0%80",
        "1e400",
        "9" * 400,
        "%",
        "-1",
        "%2C",
    )
    for path, methods in written()["paths"].items():
        for method, told in methods.items():
            for field in told.get("parameters", ()):
                if field["in"] != "query":
                    continue
                where = path.replace("{", "").replace("}", "")
                for value in values:
                    target = f"{where}?{field['name']}={value}"
                    yield f"{method} {target[:90]}", request(method.upper(), target, b"{}")
    many = "&".join(["limit=1"] * 5000)
    for query in (
        many,
        "&" * 10_000,
        "=" * 10_000,
        "limit[]=1",
        "limit[a]=1",
        "\xff=1",
        "a=%00",
        ";",
    ):
        yield f"query {query[:12]}", request("GET", f"{PREFIX}/app?{query}")


def _bodies() -> Iterator[Case]:
    """Every operation that reads a body, with bodies that cannot be read, or only just."""
    reading = [operation for operation in operations() if operation.body is not None]
    for number, body in enumerate(JSON):
        for one in reading if len(body) < 1000 else reading[:8]:
            where = PREFIX + one.path.replace("{", "").replace("}", "")
            yield f"{one.method} {where} json {number}", request(one.method, where, body)


def _payloads() -> Iterator[Case]:
    """Messages whose payloads are odd: kept byte for byte, or refused."""
    for number, body in enumerate(JSON):
        if len(body) > 100_000:
            continue
        one = b'{"eventType": "x", "payload": ' + body + b"}"
        yield f"payload {number}", request("POST", f"{PREFIX}/app/there/msg", one)
        yield f"batch {number}", request("POST", f"{PREFIX}/app/there/msg/batch", b"[" + one + b"]")
    for number, field in enumerate(
        (
            b'"eventId": "\\u0000"',
            b'"channels": ["\\u0000"]',
            b'"tags": ["\\u0000"]',
            b'"tags": ["\\ud800"]',
            b'"tags": ["\xff"]',
            b'"deliverAt": "0000-00-00T00:00:00Z"',
            b'"deliverAt": "9999-12-31T23:59:59-14:00"',
            b'"deliverAt": "0001-01-01T00:00:00+14:00"',
            b'"deliverAt": 1e300',
            b'"transformationsParams": {"rawPayload": "\\ud800"}',
            b'"transformationsParams": {"rawPayload": "\\u0000"}',
            b'"application": {"name": "\\u0000", "uid": "there"}',
            b'"application": {"name": "x", "uid": "elsewhere"}',
        )
    ):
        one = b'{"eventType": "x", "payload": {}, ' + field + b"}"
        yield f"field {number}", request("POST", f"{PREFIX}/app/there/msg", one)


def _keys() -> Iterator[Case]:
    for value in (
        *(
            b"",
            b" ",
            b"k" * 255,
            b"k" * 256,
            b"k" * 30_000,
            b"\xff\xfe",
            b"\xc3\xbc",
            b"a b",
            b"a\tb",
        ),
        *(b"\x7f", b"'", b'"', b"%00", b"{}", b"a, b"),
    ):
        told = ("idempotency-key", value)
        yield f"key {value[:12]!r}", request("POST", f"{PREFIX}/app", GOOD, told)
        message = b'{"eventType": "x", "payload": {}}'
        yield f"message {value[:12]!r}", request("POST", f"{PREFIX}/app/there/msg", message, told)
        who = ("authorization", b"Bearer " + value)
        yield f"who {value[:12]!r}", request("GET", f"{PREFIX}/app", b"", who)
        yield (
            f"who plain {value[:12]!r}",
            request("GET", f"{PREFIX}/app", b"", ("authorization", value)),
        )
