import re

from click.testing import CliRunner

from tarry.cli.commands import tarry
from tests.cli.scripted import scripted
from tests.cli.shell import Shell


def test_what_waits_is_told_with_its_reason(shell: Shell) -> None:
    told = shell.run("undelivered")
    assert (told.exit_code, told.stderr) == (0, "no deliveries are waiting or failed\n")
    shell.out("endpoint", "create", "shop", "https://example.com/", "--uid", "till")
    shell.out("endpoint", "pause", "shop", "till")
    sent = [shell.json("send", "shop", "order.paid")["id"] for _ in range(3)]
    found = shell.lines("undelivered")
    assert [(one["msgId"], one["reason"]) for one in found] == [(one, "paused") for one in sent]
    way = ("undelivered", "shop", "--endpoint", "till", "--state", "waiting")
    for reason in ("paused", "endpoint paused", "Endpoint paused"):
        assert shell.lines(*way, "--reason", reason) == found
    assert shell.lines("undelivered", "shop", "--state", "failed") == []
    said = shell.out("undelivered", "shop", "--all")
    assert all(one in said for one in sent)
    assert said.startswith("shop till (https://example.com/)\n")
    assert "waiting" in said
    assert "endpoint paused" in said
    assert max(map(len, said.splitlines())) <= 100
    part = shell.run("undelivered", "shop", "--limit", "2")
    assert part.stderr == "There are more: use --limit N or --all.\n"
    assert sent[2] not in part.stdout


def test_what_is_to_come_is_not_said_to_be_accepted_then(shell: Shell) -> None:
    shell.out("app", "create", "Later", "--uid", "later")
    shell.out("endpoint", "create", "later", "https://example.com/", "--uid", "till")
    sent = shell.json("send", "later", "order.paid", "--deliver-at", "1h")["id"]
    (line,) = (line for line in shell.out("undelivered", "later").splitlines() if sent in line)
    assert "scheduled" in line
    assert line.count("in 60 min, ") == 1


def test_an_endpoint_is_somebody_s(shell: Shell) -> None:
    assert shell.wrong("undelivered", "--endpoint", "till")[0] == 2


def test_one_that_is_not_there_is_named(shell: Shell) -> None:
    code, said = shell.wrong("undelivered", "shop", "--endpoint", "nobody")
    assert (code, said) == (1, "Error: 404 not_found: there is no endpoint 'nobody'")


def test_only_without_a_choice_is_everything_said_to_be_delivered(shell: Shell) -> None:
    shell.out("app", "create", "Done", "--uid", "done")
    assert shell.run("undelivered", "done").stderr == "no deliveries are waiting or failed\n"
    assert shell.run("undelivered", "done", "--state", "failed").stderr == "no such deliveries\n"


def test_a_reason_that_is_none_is_refused_with_those_that_may_be_typed(shell: Shell) -> None:
    code, said = shell.wrong("undelivered", "--reason", "weather")
    told, _, known = said.partition(" is not one of ")
    assert (code, told) == (2, "Error: Invalid value for '--reason': 'weather'")
    assert "'queued', 'backoff', 'retry-after', 'endpoint down', 'endpoint recovering'," in known
    assert "'too old'" in known
    assert "lane open" not in known
    assert "cancelled" not in known
    for reason in re.findall(r"'(.*?)'", known):
        shell.out("undelivered", "--reason", reason)


def test_a_server_without_a_vocabulary_decides_which_reasons_there_are() -> None:
    typed = ("undelivered", "--reason", "weather", "--key", "k", "--server")
    answers = [(404, b"{}"), (422, b'{"detail": "no such reason"}')]
    with scripted(*answers) as (server, _):
        ended = CliRunner().invoke(tarry, [*typed, server.url])
    assert (ended.exit_code, ended.stderr) == (1, "Error: 422 invalid: no such reason\n")
