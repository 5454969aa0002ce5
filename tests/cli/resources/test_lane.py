import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.cli.resources.lane import REFUSALS, SHARED_WITH, of_delivery
from tarry.core.policy import RetryAfter
from tarry.service.dispatch.outcomes.judge import REFUSING
from tarry.service.explain import PaceScope
from tarry.service.model.settings import DELIVERY
from tests.cli.scripted import scripted
from tests.cli.shell import Shell

LANE = {
    "shared": False,
    "scope": "endpoint",
    "standing": "enabled",
    "backlog": 3,
    "failures": 5,
    **dict.fromkeys(("pace", "capacity", "acceptedAt", "doneAt")),
    **dict.fromkeys(("failedAt", "failingSince", "downSince", "probeAt")),
}
AT = "2020-01-01T00:00:00Z"
LABELS = {"closed": "healthy", "paced": "recovering"}
RESULT = "; `tarry endpoint lane shop till` shows the result"


@pytest.fixture
def endpoint(shell: Shell) -> str:
    made: str = shell.json("endpoint", "create", "shop", "https://example.com/in")["id"]
    return made


def test_an_endpoint_is_paused_and_resumed(shell: Shell, endpoint: str) -> None:
    assert shell.out("endpoint", "pause", "shop", endpoint) == f"{endpoint} is paused\n"
    assert shell.json("endpoint", "lane", "shop", endpoint)["standing"] == "paused"
    code, said = shell.wrong("endpoint", "probe", "shop", endpoint)
    assert (code, "400 not_enabled" in said) == (1, True)
    assert shell.json("endpoint", "resume", "shop", endpoint)["standing"] == "enabled"


def test_its_lane_is_shown(shell: Shell, endpoint: str) -> None:
    said = shell.out("endpoint", "lane", "shop", endpoint)
    assert said.splitlines() == [
        "state    healthy",
        "meaning  Messages are sent as they arrive.",
        "waiting  0",
    ]
    assert shell.json("endpoint", "probe", "shop", endpoint)["phase"] == "closed"


@pytest.mark.parametrize(
    ("state", "phase", "backlog", "sentence"),
    [
        ("open", "open", 3, f"the next probe of till was brought forward to now{RESULT}"),
        ("failing", "closed", 1, f"the next probe of till was brought forward to now{RESULT}"),
        ("open", "open", 0, f"till has no waiting delivery: its next message is the probe{RESULT}"),
        ("paced", "paced", 3, "till is not down (recovering), so no probe is sent"),
        ("closed", "closed", 0, "till is not down (healthy), so no probe is sent"),
    ],
)
def test_a_probe_says_what_happens_next(
    state: str, phase: str, backlog: int, sentence: str
) -> None:
    typed = ("endpoint", "probe", "shop", "till", "--key", "k", "--server")
    lane = LANE | {"state": state, "phase": phase, "backlog": backlog}
    words = [{"name": name, "label": label} for name, label in LABELS.items()]
    answers = [(202, json.dumps(lane).encode()), (200, json.dumps({"lanes": words}).encode())]
    with scripted(*answers) as (server, _):
        said = CliRunner().invoke(tarry, [*typed, server.url])
    assert (said.exit_code, said.stdout) == (0, f"{sentence}\n")


def test_a_lane_that_sends_nothing_is_not_said_to_send(shell: Shell, endpoint: str) -> None:
    shell.out("endpoint", "pause", "shop", endpoint)
    said = shell.out("endpoint", "lane", "shop", endpoint)
    assert said.startswith("state    paused\nmeaning  Nothing is sent. New messages wait")


def test_every_shared_scope_has_its_words() -> None:
    assert {*SHARED_WITH, "endpoint"} == set(PaceScope)


def shown(lane: Mapping[str, object], words: dict[str, str]) -> dict[str, str]:
    """Return the fields that `endpoint lane` prints for the server's answers."""
    typed = ("endpoint", "lane", "shop", "till", "--key", "k", "--server")
    answers = [(200, json.dumps(one).encode()) for one in (lane, {"lanes": [words]})]
    with scripted(*answers) as (server, _):
        said = CliRunner().invoke(tarry, [*typed, server.url]).stdout
    pairs = (line.split("  ", 1) for line in said.splitlines())
    return {name: value.strip() for name, value in pairs}


def test_one_that_is_down_says_since_when_and_when_it_is_probed() -> None:
    times = dict.fromkeys(("failingSince", "downSince", "probeAt"), AT)
    lane = LANE | times | {"state": "open", "phase": "open", "scope": "origin", "capacity": 41.26}
    words = {"name": "open", "label": "down", "meaning": "It only gets probes."}
    found = shown(lane, words)
    assert found["state"] == "down"
    assert found["meaning"] == "It only gets probes."
    assert found["affected"] == "the whole host"
    assert found["capacity"] == "41.3/s"
    assert "due since" in found["next probe"]
    assert "last success" not in found


def test_one_whose_last_attempt_failed_is_called_as_on_the_page() -> None:
    lane = LANE | {"state": "failing", "phase": "closed", "failedAt": AT}
    found = shown(
        lane, {"name": "failing", "label": "last attempt failed", "meaning": "Who knows?"}
    )
    assert (found["state"], found["meaning"]) == ("last attempt failed", "Who knows?")
    assert "2020-01-01" in found["last failure"]


def test_of_a_policy_only_what_concerns_deliveries_is_said() -> None:
    said = " ".join(of_delivery(DELIVERY))
    assert "It makes up to 9 attempts" in said
    assert "(Retry-After) are honoured up to 60 min; longer ones are cut." in said
    assert "gives up and hands it on" not in said
    assert "Inside another retry" not in said
    assert "a probe comes late by at most 5 % of the outage's age" in said
    assert REFUSALS in said
    assert set(re.findall(r"\d+", REFUSALS)) == set(map(str, REFUSING))
    ignored = of_delivery(DELIVERY.replace(retry_after=RetryAfter(honour=False)))
    assert ignored[-1] == "Waits that the endpoint asks for (Retry-After) are ignored."


def test_a_policy_is_given_shown_and_taken_away(shell: Shell, endpoint: str, folder: Path) -> None:
    (folder / "p.toml").write_text("attempts = 3\n")
    way = ("endpoint", "policy", "shop", endpoint)
    assert shell.out(*way).startswith("from: default\n")
    given = shell.json(*way, "--set", "p.toml")
    assert (given["source"], given["policy"]["attempts"]) == ("endpoint", 3)
    assert "up to 3 attempts" in shell.out(*way)
    assert shell.json(*way, "--clear")["source"] == "default"
    assert shell.wrong(*way, "--clear", "--set", "p.toml")[0] == 2
    assert shell.wrong(*way, "--set", "gone.toml")[0] == 2


def test_what_became_of_messages_is_counted(shell: Shell, endpoint: str) -> None:
    shell.out("endpoint", "pause", "shop", endpoint)
    shell.out("send", "shop", "order.paid")
    counts = shell.json("endpoint", "stats", "shop", endpoint, "--since", "1h")
    assert counts["messages"]["pending"] == 1
    assert counts["attempts"] == {"success": 0, "fail": 0, "canceled": 0}
    said = shell.out("endpoint", "stats", "shop", endpoint)
    assert "Pending" in said
    assert "attempts" in said
    code, words = shell.wrong("endpoint", "stats", "shop", endpoint, "--since", "90d")
    assert (code, "28 days" in words) == (1, True)
