"""Redacted values are looked for in everything that a service shows: nobody gets them over the API.

A real service has rules and is sent markers at the places that they name. Every operation that
reads is asked with a key that may do everything, every operation that shows what it was sent is
used, and the log, the metrics, the pages and the command line are searched too.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tarry.service import Hooks
from tarry.service.model.redaction import Redaction
from tests.attacks.heartbeat import heartbeat
from tests.audit.canary import Markers
from tests.audit.traffic import PAGES, PATIENCE, Service, receiving
from tests.plain_http import PLAIN

API = "/api/v1"
MARKER = "canary-5f0b"
PAYLOAD = {
    "id": 7,
    "card": {"number": MARKER},
    "items": [{"ssn": MARKER}, {"deep": {"pin": MARKER}}],
}
RULES = ("$.card.number", "$.items[*].ssn", "$..pin", "$..token", "header:x-customer")
TWICE = f'"p\\u0069n": "{MARKER}", "pin": "{MARKER}"'
ESCAPED = f'{{"eventType": "paid", "payload": {{{TWICE}}}}}'
LONG = json.dumps({"filler": "x" * 8000, "token": MARKER * 100})
"""A response of which only the beginning is kept, and which ends in the redacted value."""


class Redacting:
    """A running service with rules, and clients for it."""

    def __init__(self, client: httpx.Client, receiver: str, key: str, service: Service) -> None:
        self.client, self.receiver, self.key, self.service = client, receiver, key, service

    def post(self, path: str, body: object, status: int = 202) -> httpx.Response:
        content = body if isinstance(body, str) else json.dumps(body)
        answer = self.client.post(f"{API}{path}", content=content)
        assert answer.status_code == status, answer.text
        return answer

    def get(self, path: str) -> httpx.Response:
        return self.client.get(f"{API}{path}").raise_for_status()


@contextmanager
def redacting(folder: Path, response: str) -> Iterator[Redacting]:
    """Run a service whose endpoint gives this response."""
    markers = Markers.new()
    folder.mkdir()
    headers = {"authorization": f"Bearer {markers.api_key}"}
    with receiving(response.encode()) as receiver:
        service = Service(folder, markers, [part for rule in RULES for part in ("--redact", rule)])
        try:
            url = service.url()
            with httpx.Client(base_url=url, headers=headers, **PLAIN) as client:
                running = Redacting(client, receiver, markers.api_key, service)
                running.post("/app", {"name": "shop", "uid": "shop"}, 201)
                endpoint = {"url": f"{receiver}/bad", "uid": "till"}
                headers = {"X-Customer": MARKER, "X-Plain": "plain"}
                running.post("/app/shop/endpoint", {**endpoint, "headers": headers}, 201)
                yield running
        finally:
            service.end()


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_no_answer_has_a_redacted_value(tmp_path: Path) -> None:
    response = json.dumps({"token": MARKER, "why": "declined"})
    with redacting(tmp_path / "service", response) as running:
        number = {"properties": {"number": {"type": "integer"}}}
        schema = {"properties": {"card": number, "pin": {"multipleOf": 3}}}
        kind = {"name": "checked", "description": "", "schemas": {"1": schema}}
        running.post("/event-type", {**kind, "validatePayload": True}, 201)
        message = {"eventType": "paid", "payload": PAYLOAD}
        misfit = {"eventType": "checked", "payload": PAYLOAD}
        texts = {
            "send": running.post("/app/shop/msg", message).text,
            "send again": running.post("/app/shop/msg", ESCAPED).text,
            "batch": running.post("/app/shop/msg/batch", [message, misfit]).text,
            "example": running.post(
                "/app/shop/endpoint/till/send-example", {**message, "eventType": "svix.ping"}, 200
            ).text,
            "misfit": running.post("/app/shop/msg", misfit, 422).text,
            "broken": running.post("/app/shop/msg", ESCAPED[:-1], 422).text,
        }
        sent = json.loads(texts["send"])["id"]
        raw = {**message, "transformationsParams": {"rawPayload": f'[{{"pin": "{MARKER}"}}'}}
        texts["raw"] = running.post("/app/shop/msg", raw).text
        until(lambda: bool(running.get(f"/app/shop/attempt/msg/{sent}").json()["data"]))
        running.post(f"/app/shop/msg/{sent}/endpoint/till/resend", {})
        until(lambda: len(running.get(f"/app/shop/attempt/msg/{sent}").json()["data"]) > 1)
        attempt = running.get(f"/app/shop/attempt/msg/{sent}").json()["data"][0]
        names = {"app_id": "shop", "endpoint_id": "till", "msg_id": sent}
        names |= {"attempt_id": attempt["id"], "event_type_name": "checked"}
        answered = 0
        for path, operations in running.get("/openapi.json").json()["paths"].items():
            if "get" in operations and set(_names(path)) <= names.keys():
                query = {"with_msg": "true", "with_content": "true"}
                answer = running.client.get(path.format_map(names), params=query)
                texts[path] = answer.text
                answered += answer.status_code == 200
        assert answered > 30
        texts |= {page: running.client.get(page).text for page in (*PAGES, "/metrics")}
        for typed in (
            ("message", "get", "shop", sent),
            ("message", "list", "shop", "--content"),
            ("attempt", "list", "shop", "--message", sent, "--json"),
            ("endpoint", "headers", "shop", "till"),
        ):
            texts[" ".join(typed)] = _typed(running, *typed)
        texts["log"] = running.service.log.read_text()
        assert [place for place, text in texts.items() if MARKER in text] == []
        shown = running.get(f"/app/shop/msg/{sent}").json()["payload"]
        assert shown == json.loads(json.dumps(PAYLOAD).replace(MARKER, "[redacted]"))
        assert json.loads(attempt["response"]) == {"token": "[redacted]", "why": "declined"}
        assert running.get("/app/shop/endpoint/till/headers").json() == {
            "headers": {"X-Plain": "plain"},
            "sensitive": ["X-Customer"],
        }


def _names(path: str) -> list[str]:
    return [part.partition("}")[0] for part in path.split("{")[1:]]


def _typed(running: Redacting, *arguments: str) -> str:
    """Return what a command prints."""
    variables = {**os.environ, "TARRY_SERVER": str(running.client.base_url).rstrip("/")}
    variables["TARRY_KEY"] = running.key
    command = [sys.executable, "-m", "tarry.cli", *arguments]
    return subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout


def test_a_response_that_was_cut_off_shows_nothing(tmp_path: Path) -> None:
    with redacting(tmp_path / "service", LONG) as running:
        sent = running.post("/app/shop/msg", {"eventType": "paid", "payload": {}}).json()["id"]
        until(lambda: bool(running.get(f"/app/shop/attempt/msg/{sent}").json()["data"]))
        (attempt,) = running.get(f"/app/shop/attempt/msg/{sent}").json()["data"]
        assert attempt["response"] == "[redacted: not complete JSON]"


def nasty() -> dict[str, bytes]:
    """Return payloads of a megabyte that take long to search."""
    most = 1_000_000
    return {
        "numbers": b'{"a": [' + b"1," * (most // 2) + b"1]}",
        "lists": b'{"a": [' + b"[]," * (most // 3) + b"[]]}",
        "fields": b"{" + b'"":1,' * (most // 5) + b'"":1}',
        "escaped names": b"{" + rb'"\u0061":1,' * (most // 11) + b'"":1}',
        "a name": b'{"' + rb"\n" * (most // 2) + b'": 1}',
        "found": b"{" + b'"pin":1,' * (most // 8) + b'"pin":1}',
        "text": b'{"a": "' + b"x" * most + b'"}',
        "digits": b'{"a": ' + b"9" * most + b"}",
        "not closed": b'{"a": "' + b"x" * most,
    }


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_search_of_a_large_payload_holds_up_nobody(
    hooks: Hooks, client: httpx.AsyncClient
) -> None:
    hooks.redaction = Redaction.of(RULES)
    shop = await hooks.application("shop")
    for name, payload in nasty().items():
        sent = await hooks.send(shop, "paid", payload)
        longest = 1.0
        for _ in range(3):
            async with heartbeat() as heart:
                answer = await client.get(f"{API}/app/shop/msg/{sent.message.id}")
            assert answer.status_code == 200
            longest = min(longest, heart.longest)
        assert longest <= 0.050, (name, longest)
