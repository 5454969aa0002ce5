"""Retry HTTP requests with httpx, against a flaky server on this machine."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import httpx

import tarry
from tarry.call.http.httpx import RetryTransport
from tarry.observe import Event, Retrying

POLICY = tarry.Policy(backoff=tarry.Exponential(base=0.02, cap=0.2), attempts=4, within=5)
FAILURES = 2


class Flaky(BaseHTTPRequestHandler):
    """Answers 503 to the first two requests for each path, then 200."""

    seen: ClassVar[Counter[str]] = Counter()

    def answer(self) -> None:
        """Answer as the path's turn is."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen[self.path] += 1
        ready = self.seen[self.path] > FAILURES
        said = self.headers.get("tarry-attempt", "none")
        print(f"  server: {self.command} {self.path}, attempt {said}: {200 if ready else 503}")
        body = json.dumps({"ready": ready}).encode()
        self.send_response(200 if ready else 503)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815  http.server's names

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def flaky_server() -> Iterator[str]:
    """Run the server, and give its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def show(event: Event) -> None:
    """Print every wait."""
    if isinstance(event, Retrying):
        print(f"  client: waits {event.delay * 1000:.0f} ms")


def main() -> None:
    """Send three requests that fail at first."""
    transport = RetryTransport(POLICY, budget=tarry.Quota(), hooks=show)
    with flaky_server() as address, httpx.Client(transport=transport, base_url=address) as client:
        print("A GET is tried again:")
        print(f"  result: {client.get('/orders').status_code}")

        print("A POST is not: it might do its work twice:")
        print(f"  result: {client.post('/charges', json={'order': 7}).status_code}")

        print("Unless it has a key by which the server can tell:")
        key = {"Idempotency-Key": "order-7"}
        print(f"  result: {client.post('/refunds', json={'order': 7}, headers=key).status_code}")


if __name__ == "__main__":
    main()
