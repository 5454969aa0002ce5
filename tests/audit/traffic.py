"""A real service with planted markers: its traffic, its failures, and all that it shows and writes.

It runs with the loosest umask, and is allowed to write core files. At its end it is made to crash.
"""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx

from tests.attacks.raw_request import answer_to
from tests.audit.canary import Markers
from tests.audit.modes import open_to_others
from tests.plain_http import PLAIN

PATIENCE = 60.0
PAGES = ("/dashboard", "/portal", "/docs", "/healthz", "/readyz", "/api/v1/openapi.json")


@contextmanager
def receiving(body: bytes) -> Iterator[str]:
    """Run a receiver that answers /ok with 200 and everything else with 500, with this body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200 if self.path == "/ok" else 500)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def core_files_allowed() -> Iterator[None]:
    """Let processes that are started in the block write core files, as far as that is allowed."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


class Service:
    """A `tarry serve` in a folder of its own."""

    def __init__(self, folder: Path, markers: Markers, more: Sequence[str] = ()) -> None:
        self._folder, self.log = folder, folder.parent / f"{folder.name}.log"
        variables = {**os.environ, "TARRY_API_KEY": markers.api_key}
        variables["TARRY_METRICS_KEY"] = markers.metrics_key
        command = [sys.executable, "-m", "tarry.cli", "serve", "--listen", "127.0.0.1:0"]
        command += ["--db", f"sqlite:///{folder / 'hooks.db'}", "--allow-network", "127.0.0.0/8"]
        with self.log.open("wb") as log, core_files_allowed():
            self.process = subprocess.Popen(
                [*command, *more], env=variables, stderr=log, stdout=log, cwd=folder, umask=0
            )

    def url(self) -> str:
        """Return its URL once it answers."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            for line in self.log.read_text().splitlines():
                if line.startswith("ready: "):
                    return line.removeprefix("ready: ").partition(",")[0]
            time.sleep(0.05)
        raise RuntimeError(f"the service did not start:\n{self.log.read_text()}")

    def crash(self) -> bytes:
        """Make it crash; return what is in the files that it leaves and that were not there."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the service ended by itself:\n{self.log.read_text()}")
        before = set(self._folder.iterdir())
        self.process.send_signal(signal.SIGABRT)
        self.process.wait(PATIENCE)
        return b"".join(path.read_bytes() for path in self._folder.iterdir() if path not in before)

    def end(self) -> None:
        """End it, however far it came."""
        self.process.kill()
        self.process.wait(PATIENCE)


def run(folder: Path, more: Sequence[str] = ()) -> tuple[Markers, dict[str, bytes], list[str]]:
    """Run the service with markers; return them, all places, and files that others may open.

    `more` are further arguments of `tarry serve`.
    """
    markers = Markers.new()
    folder.mkdir(parents=True)
    with receiving(markers.response.encode()) as receiver:
        service = Service(folder, markers, more)
        try:
            places: dict[str, bytes] = {}
            with httpx.Client(base_url=service.url(), **PLAIN) as client:
                markers = _use(client, markers, receiver, places)
                places["errors"] = _errors(client, markers)
                places["command line"] = Path(f"/proc/{service.process.pid}/cmdline").read_bytes()
            open_files = open_to_others(folder)
            places["database"] = b"".join(
                path.read_bytes() for path in folder.iterdir() if path.name.startswith("hooks.db")
            )
            places["core file"] = service.crash()
        finally:
            service.end()
    places["log"] = service.log.read_bytes()
    return markers, places, open_files


def _use(
    client: httpx.Client, markers: Markers, receiver: str, places: dict[str, bytes]
) -> Markers:
    """Make traffic, and read what it left with several keys."""
    admin = {"authorization": f"Bearer {markers.api_key}"}

    def post(path: str, **body: object) -> dict[str, str]:
        answer = client.post(f"/api/v1{path}", json=body, headers=admin)
        created: dict[str, str] = answer.raise_for_status().json()
        return created

    post("/app", name="shop", uid="shop")
    headers = {"X-Token": markers.header_value, "Authorization": markers.authorization_value}
    tls = receiver.replace("http://", "https://")
    for uid, url in (("good", f"{receiver}/ok"), ("bad", f"{receiver}/bad"), ("tls", tls)):
        fields = {"url": url, "uid": uid, "secret": markers.signing_secret, "headers": headers}
        post("/app/shop/endpoint", **fields)
    message = post("/app/shop/msg", eventType="paid", payload={"card": markers.payload})["id"]
    _until(lambda: len(_attempts(client, message, admin)) >= len(("good", "bad", "tls")))
    created = client.post("/api/v1/key", json={"name": "r", "scopes": ["read"]}, headers=admin)
    token = client.post("/api/v1/auth/app-portal-access/shop", json={}, headers=admin)
    places["the answer that creates it"] = created.content + token.content
    reading = {"authorization": f"Bearer {created.json()['key']}"}
    way = "/api/v1/app/shop/endpoint/good"
    places["headers, with the right to secrets"] = client.get(
        f"{way}/headers", headers=admin
    ).content
    places["secret, with the right to secrets"] = client.get(f"{way}/secret", headers=admin).content
    places |= _read(client, message, reading)
    places["pages"] = b"".join(client.get(page).content for page in PAGES)
    metrics = {"authorization": f"Bearer {markers.metrics_key}"}
    places["metrics"] = client.get("/metrics", headers=metrics).raise_for_status().content
    return replace(markers, created_key=created.json()["key"], portal_token=token.json()["token"])


def _attempts(client: httpx.Client, message: str, headers: dict[str, str]) -> list[dict[str, str]]:
    answer = client.get(f"/api/v1/app/shop/attempt/msg/{message}", headers=headers)
    found: list[dict[str, str]] = answer.raise_for_status().json()["data"]
    return found


def _read(client: httpx.Client, message: str, reading: dict[str, str]) -> dict[str, bytes]:
    """Read everything that a key without the right to secrets may read, by what it shows."""
    document = client.get("/api/v1/openapi.json").json()["paths"]
    attempts = _attempts(client, message, reading)
    places = dict.fromkeys(
        ("messages, with a key that may read", "attempts, with a key that may read"), b""
    )
    places["other answers to a key that may read"] = b""
    for attempt in attempts:
        names = {"app_id": "shop", "msg_id": message, "attempt_id": attempt["id"]}
        names["endpoint_id"] = attempt["endpointId"]
        for path, operations in document.items():
            filled = path
            for name, value in names.items():
                filled = filled.replace(f"{{{name}}}", value)
            if "get" not in operations or "{" in filled:
                continue
            answer = client.get(filled, headers=reading).content
            if "/attempt" in path:
                place = "attempts, with a key that may read"
            elif path.endswith(("/msg", "/msg/{msg_id}")):
                place = "messages, with a key that may read"
            else:
                place = "other answers to a key that may read"
            places[place] += answer
    return places


def _errors(client: httpx.Client, markers: Markers) -> bytes:
    """Return what is answered to requests that fail and have markers in them."""
    admin = {"authorization": f"Bearer {markers.api_key}"}
    wrong = {"authorization": f"Bearer {markers.wrong_key}"}
    endpoint = "/api/v1/app/shop/endpoint"
    payload = f'{{"eventType": "paid", "payload": {{"card": "{markers.payload}"'

    def post(path: str, headers: dict[str, str], body: object) -> httpx.Request:
        return client.build_request("POST", path, headers=headers, json=body)

    def send(path: str, headers: dict[str, str], content: str) -> httpx.Request:
        return client.build_request("POST", path, headers=headers, content=content)

    broken: list[dict[str, object]] = [
        {"headers": {"X-Token": f"{markers.header_value}\n"}},
        {"headers": {"X-Token": f" {markers.header_value}"}},
        {"headers": {"Host": markers.header_value}},
        {"headers": {"X-Token": [markers.header_value]}},
        {"secret": f"{markers.signing_secret}!"},
        {"secret": [markers.signing_secret]},
    ]
    patch = {"headers": {"X-Token": f"{markers.header_value}\r"}}
    requests = [
        client.build_request("GET", "/api/v1/app", headers=wrong),
        client.build_request("GET", "/metrics", headers=wrong),
        client.build_request("GET", "/metrics", headers=admin),
        client.build_request("GET", f"/api/v1/app?api_key={markers.api_key}"),
        client.build_request("GET", f"/api/v1/nothing?key={markers.api_key}", headers=admin),
        *(post(endpoint, admin, {"url": "https://example.com/", **fields}) for fields in broken),
        client.build_request("PATCH", f"{endpoint}/good/headers", headers=admin, json=patch),
        post(f"{endpoint}/good/secret/rotate", admin, {"key": f"{markers.signing_secret}?"}),
        send("/api/v1/app/shop/msg", admin, payload),
        send("/api/v1/app/shop/msg", wrong, f"{payload}}}}}"),
        send("/api/v1/app/none/msg", admin, f"{payload}}}}}"),
    ]
    answers = [client.send(request) for request in requests]
    for answer in answers:
        if answer.is_success:
            raise RuntimeError(f"{answer.request.method} {answer.request.url.path} did not fail")
    lines = ("GET /api/v1/app HTTP/1.1", "host: x", f"authorization: Bearer {markers.api_key}")
    malformed = (f"x y: {markers.header_value}", f"authorization: Bearer {markers.wrong_key}")
    raw = [
        asyncio.run(answer_to(str(client.base_url), *lines, line))[1].encode("latin-1")
        for line in malformed
    ]
    return b"".join([*raw, *(answer.content + str(answer.headers).encode() for answer in answers)])


def _until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > until:
            raise RuntimeError("the messages were not attempted in time")
        time.sleep(0.05)
