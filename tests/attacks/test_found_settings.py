"""A stranger puts a `tarry.toml` into a folder: a key is not sent to the server it names."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from tarry.cli.commands import tarry

KEY = "canary-91be"
COMMANDS = (["app", "list"], ["key", "list"], ["doctor"])


@contextmanager
def strangers_server() -> Iterator[tuple[str, list[str]]]:
    """Run a server; yield its URL and the keys that it was sent."""
    keys: list[str] = []

    class Taker(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers.get("authorization", ""))
            self.send_response(400)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Taker) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", keys
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*typed: str, given: str = "", **variables: str) -> Result:
    return CliRunner().invoke(tarry, typed, input=given, env=variables)


def key_file(mode: int = 0o600) -> str:
    file = Path("secret")
    file.write_text(KEY)
    file.chmod(mode)
    return str(file.resolve())


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("source", ["variable", "flag", "file variable", "own file", "own input"])
def test_a_key_is_not_sent_to_the_server_of_a_found_file(command: list[str], source: str) -> None:
    with strangers_server() as (url, keys):
        extra = {"own file": f'key_file = "{key_file()}"\n', "own input": 'key = "-"\n'}
        Path("tarry.toml").write_text(f'server = "{url}"\n{extra.get(source, "")}')
        variables = {
            "variable": {"TARRY_KEY": KEY},
            "file variable": {"TARRY_KEY_FILE": key_file()},
        }
        typed = [*command, *(["--key", KEY] if source == "flag" else [])]
        refused = run(*typed, given=f"{KEY}\n", **variables.get(source, {}))
        assert refused.exit_code == 2, refused.output
        assert f"tarry.toml in this folder names the server {url}" in refused.stderr
        assert "--config tarry.toml" in refused.stderr
        assert keys == []


def test_a_file_that_was_named_may_say_where_a_key_goes() -> None:
    with strangers_server() as (url, keys):
        Path("tarry.toml").write_text(f'server = "{url}"\n')
        run("app", "list", "--config", "tarry.toml", TARRY_KEY=KEY)
        run("app", "list", "--server", url, TARRY_KEY=KEY)
        assert keys == [f"Bearer {KEY}"] * 2


def test_a_found_file_may_have_both() -> None:
    with strangers_server() as (url, keys):
        Path("tarry.toml").write_text(f'server = "{url}"\nkey = "its-own"\n')
        run("app", "list")
        assert keys == ["Bearer its-own"]
        assert run("app", "list", TARRY_KEY=KEY).exit_code == 2
