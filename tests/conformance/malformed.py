"""Requests that are no good HTTP, or only just."""

import random
from collections.abc import Iterator

from tests.conformance.server import KEY

PREFIX = "/api/v1"
GOOD = b'{"name": "x"}'
MUTATIONS = 150

Case = tuple[str, bytes]
"""The fault of a request, and the request's bytes."""


def request(
    method: str = "POST",
    target: str | bytes = f"{PREFIX}/app",
    body: bytes = b"",
    *headers: tuple[str, str | bytes],
    length: bool = True,
    version: str = "HTTP/1.1",
) -> bytes:
    """A request as it goes over the wire, whatever it is made of."""
    where = target.encode("latin-1") if isinstance(target, str) else target
    told: list[tuple[str, str | bytes]] = [("host", "x"), ("authorization", f"Bearer {KEY}")]
    told += headers
    if length:
        told.append(("content-length", str(len(body))))
    lines = [method.encode("latin-1") + b" " + where + b" " + version.encode("latin-1")]
    for name, value in told:
        raw = value.encode("latin-1") if isinstance(value, str) else value
        lines.append(name.encode("latin-1") + b": " + raw)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def broken() -> Iterator[Case]:
    """All of them, the same ones every time."""
    yield from _request_lines()
    yield from _heads()
    yield from _lengths()
    yield from _chunks()
    yield from _targets()
    yield from _mutations()


def _request_lines() -> Iterator[Case]:
    line = b"POST /api/v1/app HTTP/1.1"
    rest = b"\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
    for number, first in enumerate(
        [
            b"",
            b"\r\n\r\n\r\n",
            b" " + line,
            b"\x00" + line,
            line.replace(b" ", b"  "),
            line.replace(b" ", b"\t"),
            line.replace(b" ", b""),
            b"POST",
            b"POST ",
            b"POST /api/v1/app",
            b"GET /api/v1/app",
            b"GET /healthz",
            line + b" extra",
            line.replace(b"1.1", b"1.1.1"),
            line.replace(b"1.1", b"9.9"),
            line.replace(b"1.1", b"0.9"),
            line.replace(b"1.1", b"2.0"),
            line.replace(b"1.1", b"1.0"),
            line.replace(b"1.1", b"-1.1"),
            line.replace(b"HTTP", b"http"),
            line.replace(b"HTTP", b"HTCPCP"),
            line.replace(b"HTTP/1.1", b""),
            b"\xff\xfe" + line,
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00",
            b"A" * 100_000,
            b"{" * 1000,
        ]
    ):
        yield f"request line {number}", first + rest
    for method in (
        *("HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "PURGE", "LINK", "QUERY", "SEARCH"),
        *("get", "Post", "G\x00T", "GE T", "\xc3\x9c", "M-SEARCH", "X" * 5000, "BREW", "", "PATCH"),
    ):
        for target in (f"{PREFIX}/app", "/healthz", "*", "x:443", f"{PREFIX}/nothing", "/docs"):
            yield f"method {method[:10]} {target}", request(method, target)


def _heads() -> Iterator[Case]:
    for name, value in (
        ("x" * 70_000, "1"),
        ("x", "1" * 70_000),
        ("x\x00y", "1"),
        ("x y", "1"),
        ("x ", "1"),
        (" x", "1"),
        ("", "1"),
        ("x\xff", "1"),
        ("x", "1\x00"),
        ("x", "1\r2"),
        ("x", "1\n2: 3"),
        ("x", "1\r\n 2"),
        ("x", "1\r\n\t2"),
        ("x", "\x01\x02\x7f"),
        ("x", "\xff\xfe"),
        ("host", "other"),
        ("host", "a b"),
        ("host", ""),
        ("expect", "100-continue"),
        ("expect", "200-maybe"),
        ("upgrade", "websocket"),
        ("upgrade", "h2c"),
        ("connection", "upgrade, http2-settings"),
        ("connection", "close, close, keep-alive"),
        ("te", "trailers, deflate"),
        ("range", "bytes=-1"),
        ("accept", "nothing/at-all"),
        ("accept-encoding", "gzip;q=oo"),
        ("cookie", "=" * 8000),
        ("content-encoding", "gzip"),
        ("authorization", "Bearer other"),
    ):
        yield (
            f"header {name[:12]!r}: {value[:12]!r}",
            request("POST", f"{PREFIX}/app", GOOD, (name, value)),
        )
    for kind in (
        "",
        "text/plain",
        "application/xml",
        "multipart/form-data",
        "a/b; charset=utf-16",
        "\xff",
    ):
        yield f"type {kind!r}", request("POST", f"{PREFIX}/app", GOOD, ("content-type", kind))
    for count in (500, 2000, 20_000):
        many = [(f"x-{number}", "1") for number in range(count)]
        yield f"{count} headers", request("GET", f"{PREFIX}/app", b"", *many)
    yield "no headers", b"GET /api/v1/app HTTP/1.1\r\n\r\n"
    yield "only line feeds", request("GET").replace(b"\r\n", b"\n")
    yield "only returns", request("GET").replace(b"\r\n", b"\r")
    yield "half a head", request("GET")[:-2]
    yield "no colon", request("GET").replace(b"host: x", b"host")
    yield "pipelined", request("GET") * 20
    yield "pipelined, one broken", request("GET") * 3 + b"\x00\x01 broken\r\n\r\n" + request("GET")
    websocket = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ]
    for target in (f"{PREFIX}/app", "/healthz", "/"):
        yield f"websocket {target}", request("GET", target, b"", *websocket)


def _lengths() -> Iterator[Case]:
    for said in (
        *(
            "-1",
            "+13",
            "13, 13",
            "13,14",
            "0x0d",
            "1e1",
            "13.0",
            "",
            " ",
            "x",
            "\uff11\uff13",
            "13 13",
        ),
        *(
            "9" * 30,
            str(2**63),
            str(2**64),
            str(2**31),
            "1048577",
            "99999999999",
            "00013",
            "\x0013",
        ),
        *("14", "12", "0"),
    ):
        told = ("content-length", said.encode())
        yield f"length {said[:12]!r}", request("POST", f"{PREFIX}/app", GOOD, told, length=False)
        twice = (("content-length", "13"), told)
        yield (
            f"lengths 13 and {said[:12]!r}",
            request("POST", f"{PREFIX}/app", GOOD, *twice, length=False),
        )
        smuggled = (told, ("transfer-encoding", "chunked"))
        inner = b"0\r\n\r\n" + request("GET", "/smuggled")
        yield (
            f"length {said[:12]!r} and chunked",
            request("POST", f"{PREFIX}/app", inner, *smuggled, length=False),
        )
    for coding in (
        *(
            "chunked",
            "Chunked",
            "xchunked",
            "chunked, identity",
            "identity",
            "gzip, chunked",
            "\x0bchunked",
        ),
        *("chunked\x00", "chunked, chunked", '"chunked"', "", "gzip", "chunked;q=1", "\xffchunked"),
    ):
        body = b"d\r\n" + GOOD + b"\r\n0\r\n\r\n"
        named = ("transfer-encoding", coding)
        yield f"coding {coding!r}", request("POST", f"{PREFIX}/app", body, named, length=False)
        yield f"coding {coding!r} and length", request("POST", f"{PREFIX}/app", body, named)
        spaced = ("transfer-encoding ", coding)
        yield f"coding {coding!r}, spaced", request("POST", f"{PREFIX}/app", body, spaced)
        old = request("POST", f"{PREFIX}/app", body, named, length=False, version="HTTP/1.0")
        yield f"coding {coding!r}, old", old


def _chunks() -> Iterator[Case]:
    chance = random.Random(1)
    bodies = [
        b"",
        b"\r\n",
        b"x\r\n",
        b"-1\r\nx\r\n",
        b"ffffffffffffffff\r\nx\r\n",
        b"f" * 40 + b"\r\nx",
        b"1\r\nxx\r\n0\r\n\r\n",
        b"1\nx\n0\n\n",
        b"1 \r\nx\r\n0\r\n\r\n",
        b"0x1\r\nx\r\n0\r\n\r\n",
        b"1;" + b"e" * 70_000 + b"\r\nx\r\n0\r\n\r\n",
        b"0\r\n" + b"trailer: 1\r\n" * 5000 + b"\r\n",
        b"0\r\ncontent-length: 5\r\ntransfer-encoding: x\r\n\r\n",
        b"d\r\n" + GOOD + b"\r\n0\r\n",
        b"1\r\n{\r\n" * 2000 + b"0\r\n\r\n",
    ]
    for number in range(40):
        whole = bytearray(b"5\r\n" + GOOD[:5] + b"\r\n8\r\n" + GOOD[5:] + b"\r\n0\r\n\r\n")
        for _ in range(1 + number % 4):
            whole[chance.randrange(len(whole))] = chance.randrange(256)
        bodies.append(bytes(whole))
    chunked = ("transfer-encoding", "chunked")
    for number, body in enumerate(bodies):
        yield f"chunks {number}", request("POST", f"{PREFIX}/app", body, chunked, length=False)


def _targets() -> Iterator[Case]:
    parts = [
        *(
            "%00",
            "%2F",
            "%2e%2e",
            "..",
            ".",
            "%",
            "%zz",
            "%f",
            "%ff%fe",
            "%C0%80",
            "%ED%A0%80",
            "%25",
        ),
        *(
            "%0d%0a",
            "a%0d%0ax: 1",
            "%F0%9F%92%A9",
            "a" * 257,
            "a" * 60_000,
            "a;b",
            "a b",
            "a\\b",
            "\xff",
        ),
        *("{app_id}", "null", "-", "'", "%27%20or%201=1--", "app_", "%EF%BF%BD", "%u0041", "*"),
    ]
    key = ("idempotency-key", "k")
    for part in parts:
        yield f"part {part[:12]!r}", request("GET", f"{PREFIX}/app/{part}")
        yield f"put {part[:12]!r}", request("PUT", f"{PREFIX}/app/{part}/policy", b"{}")
        message = b'{"eventType": "x", "payload": {}}'
        yield f"send {part[:12]!r}", request("POST", f"{PREFIX}/app/{part}/msg", message, key)
        yield f"claim {part[:12]!r}", request("POST", f"{PREFIX}/app/{part}/msg/x/cancel", b"", key)
        yield f"nothing {part[:12]!r}", request("GET", f"/{part}")
    for target in (
        *(
            "http://x/api/v1/app",
            "http://[::1]/api/v1/app",
            "http://x:y/",
            "https://",
            "//x/y",
            "///",
        ),
        *(
            "?",
            "#",
            "/#/api",
            "/api/v1//app",
            "/api/v1/app//",
            "/api/v1",
            "/api/v1/",
            "/api/v2/app",
        ),
        *(
            "/api/v1/../v1/app",
            "/./api/v1/app",
            "/api/v1/app/../../..",
            "api/v1/app",
            "mailto:x",
            "\x00",
        ),
        *("/api/v1/app?" + "a" * 60_000, "/" * 60_000, "/api/v1/app/" + "x/" * 20_000),
    ):
        yield f"target {target[:24]!r}", request("GET", target)


def _mutations() -> Iterator[Case]:
    """A good request with some of its bytes changed."""
    chance = random.Random(2)
    good = request("POST", f"{PREFIX}/app", GOOD, ("content-type", "application/json"))
    for number in range(MUTATIONS):
        changed = bytearray(good)
        for _ in range(1 + number % 8):
            at = chance.randrange(len(changed))
            match chance.randrange(3):
                case 0:
                    changed[at] = chance.randrange(256)
                case 1:
                    del changed[at]
                case _:
                    changed.insert(at, chance.randrange(256))
        yield f"mutation {number}", bytes(changed)
