"""schemathesis makes requests out of the OpenAPI document and holds every answer against it.

TARRY_TEST_REQUESTS=20000 is the long form: about so many requests for each test.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import KEY, Server

HERE = Path(__file__).parent
REQUESTS = int(os.environ.get("TARRY_TEST_REQUESTS", "0"))
FIXED, EACH = 6000, 75
"""Requests that are always made, and about how many come with each example more."""
LONG = 3600.0


def seeded(server: Server) -> dict[str, list[str]]:
    """What is there from the beginning, for each name in a path."""
    known: dict[str, list[str]] = {"event_type_name": ["user.signup"], "endpoint_id": ["op"]}
    with server.client() as client:

        def made(name: str, path: str, body: dict[str, Any]) -> str:
            answer = client.post(path, json=body).raise_for_status().json()
            known.setdefault(name, []).append(answer["id"])
            return str(answer["id"])

        client.post("/event-type", json={"name": "user.signup", "description": ""})
        for uid in ("shop", "stall"):
            app = made("app_id", "/app", {"name": uid, "uid": uid})
            for which in ("one", "two"):
                told = {"url": "https://example.com/in", "uid": which, "standing": "paused"}
                made("endpoint_id", f"/app/{app}/endpoint", told)
                sent = {"eventType": "user.signup", "payload": {"a": 1}, "eventId": which}
                made("msg_id", f"/app/{app}/msg", sent)
            known["app_id"].append(uid)
            since = {"since": client.get(f"/app/{app}").json()["createdAt"]}
            made("task_id", f"/app/{app}/endpoint/one/replay-missing", since)
        told = {"url": "https://example.com/op", "uid": "op"}
        made("endpoint_id", "/operational-webhook/endpoint", told)
        made("key_id", "/key", {"name": "one"})
    known["endpoint_id"] += ["one", "two"]
    known["msg_id"] += ["one", "two"]
    return known


def looked_at(
    server: Server, tmp_path: Path, known: dict[str, list[str]], *options: str
) -> dict[str, Any]:
    """What schemathesis reports of a server."""
    report = tmp_path / "report.json"
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "--config-file",
        f"{HERE}/schemathesis.toml",
    ]
    command += ["run", f"{server.url}/api/v1/openapi.json", "--phases", "coverage,fuzzing"]
    command += ["--continue-on-failure", "--no-shrink", "--no-color", "--warnings", "off"]
    command += ["--generation-database", "none", "--suppress-health-check", "all"]
    command += ["--report", "json", "--report-json-path", str(report), *options]
    if not REQUESTS:
        command += ["--seed", "1"]  # the same each time: what it finds has to do with a change
    variables = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.conformance.schemathesis_hooks",
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *sys.path]),
        "TARRY_KNOWN": json.dumps(known),
    }
    ran = subprocess.run(
        command,
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr
    found: dict[str, Any] = json.loads(report.read_text())
    print(found["test_cases"])  # noqa: T201  how many it were, for whoever asks pytest for it
    return found


@pytest.mark.slow
@pytest.mark.timeout(LONG if REQUESTS else 900)
def test_every_answer_is_as_the_document_says(server: Server, tmp_path: Path) -> None:
    each = max(1, -(-(REQUESTS - FIXED) // EACH))
    options = ("--header", f"Authorization: Bearer {KEY}", "--max-examples", str(each))
    known = seeded(server)
    found = looked_at(server, tmp_path, known, *options)
    assert found["operations"]["tested"] == found["operations"]["total"] > 80
    assert found["test_cases"]["generated"] > max(2000, REQUESTS * 0.9)
    with server.client() as client:
        for app in known["app_id"]:
            if app.startswith("app_"):  # uids were changed on the way
                assert client.get(f"/app/{app}").is_success
    assert "Traceback" not in server.said


@pytest.mark.slow
@pytest.mark.timeout(LONG if REQUESTS else 900)
def test_without_a_key_nothing_is_answered_but_that(server: Server, tmp_path: Path) -> None:
    each = max(1, -(-(REQUESTS - FIXED) // EACH))
    phases = "coverage,fuzzing" if REQUESTS else "fuzzing"
    looked_at(server, tmp_path, seeded(server), "--phases", phases, "--max-examples", str(each))
    with server.client() as client:
        assert len(client.get("/app").json()["data"]) == len(("shop", "stall"))
    assert "Traceback" not in server.said
