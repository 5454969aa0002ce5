"""A server that answers as it is told, for what a real one cannot be brought to say."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tarry.cli.client.client import POLICY, Server
from tarry.core.backoff import Fixed

QUICK = POLICY.replace(backoff=Fixed(0.01))


class Script(BaseHTTPRequestHandler):
    """Answers as it is told, one answer after the other, and keeps what it was asked."""

    answers: list[tuple[int, bytes]]
    asked: list[tuple[str, str, dict[str, str], bytes]]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked.append((self.command, self.path, headers, body))
        status, answer = self.answers.pop(0)
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_PATCH = do_GET  # noqa: N815  its own name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its own name
        """Say nothing."""


@contextmanager
def scripted(*answers: tuple[int, bytes]) -> Iterator[tuple[Server, type[Script]]]:
    script = type("Told", (Script,), {"answers": list(answers), "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), script) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{server.server_port}/", "k", QUICK), script
        finally:
            server.shutdown()
            thread.join()
