import json
from datetime import datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.cli.resources.send import read_payload
from tests.cli.scripted import scripted
from tests.cli.shell import Shell

ODD = '{ "big": 123456789012345678901234567890,  "f": 1.0e5, "a": 1, "a": 2, "u": "\\u00e9" }'


def test_a_message_is_accepted(shell: Shell) -> None:
    typed = ("--event-id", "e1", "--channel", "eu", "--tag", "a", "--deliver-at", "1h")
    sent = shell.json("send", "shop", "order.paid", '{"total": 1}', *typed)
    assert (sent["eventType"], sent["eventId"]) == ("order.paid", "e1")
    assert (sent["payload"], sent["channels"], sent["tags"]) == ({"total": 1}, ["eu"], ["a"])
    later = datetime.fromisoformat(sent["deliverAt"]) - datetime.fromisoformat(sent["timestamp"])
    assert 3590 < later.total_seconds() < 3610
    assert "is accepted" in shell.out("send", "shop", "order.paid")


@pytest.mark.parametrize("way", ["argument", "stdin", "file"])
def test_the_payload_goes_out_byte_for_byte(shell: Shell, folder: Path, way: str) -> None:
    (folder / "p.json").write_bytes(b"\xef\xbb\xbf" + ODD.encode() + b"\n")
    typed = {"argument": ODD, "stdin": "-", "file": "@p.json"}[way]
    said = shell.out("send", "shop", "order.paid", typed, "--json", given=ODD)
    assert f'"payload":{ODD}' in said


def test_under_the_same_key_it_is_accepted_once(shell: Shell) -> None:
    typed = ("send", "shop", "order.paid", "--idempotency-key", "k1")
    assert shell.json(*typed)["id"] == shell.json(*typed)["id"]
    other = ("send", "shop", "order.sent", "--idempotency-key", "k1")
    code, said = shell.wrong(*other)
    assert (code, "409 conflict" in said) == (1, True)


@pytest.mark.parametrize("key", ["", " ", "a\nb", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_left_out(shell: Shell, key: str) -> None:
    code, said = shell.wrong("send", "shop", "order.paid", "--idempotency-key", key)
    assert (code, repr(key) in said) == (2, True)


def test_when_nobody_knows_whether_it_was_accepted_the_key_to_ask_again_with_is_told() -> None:
    busy = (503, b'{"code":"unavailable","detail":"later"}')
    with scripted(*[busy] * 4) as (server, script):
        where = {"TARRY_SERVER": server.url, "TARRY_KEY": "k"}
        told = CliRunner().invoke(tarry, ["send", "shop", "order.paid"], env=where)
    key = script.asked[0][2]["idempotency-key"]
    assert told.exit_code == 3
    assert told.stderr.endswith(f"to repeat it safely, use --idempotency-key {key}\n")


def test_what_was_never_sent_can_simply_be_sent_again() -> None:
    where = {"TARRY_SERVER": "http://127.0.0.1:1", "TARRY_KEY": "k"}
    told = CliRunner().invoke(tarry, ["send", "shop", "order.paid"], env=where)
    assert (told.exit_code, "idempotency" in told.stderr) == (3, False)


@pytest.mark.parametrize(
    "payload",
    ["[1]", "{", "nonsense", '{"a": NaN}', '{}, "eventType": "x"', "@gone.json", "\ud800", " "],
)
def test_what_is_no_object_in_json_is_refused(payload: str) -> None:
    with pytest.raises(click.BadParameter):
        read_payload(payload)


def test_an_unknown_application_is_named(shell: Shell) -> None:
    code, said = shell.wrong("send", "nobody", "order.paid")
    assert (code, said) == (1, "Error: 404 not_found: there is no application 'nobody'")


def test_who_may_only_send_hears_that_it_was_accepted(shell: Shell) -> None:
    key = shell.json("key", "create", "--server", shell.url, "--scope", "send")["key"]
    told = shell.run("send", "shop", "order.paid", "--key", key, "--wait")
    assert (told.exit_code, told.stdout.endswith(" is accepted\n")) == (1, True)
    kept, refused = told.stderr.splitlines()
    assert "The server continues to deliver" in kept
    assert "scope read" in refused


def test_it_waits_until_it_is_delivered(shell: Shell) -> None:
    shell.out("app", "create", "Waiting", "--uid", "waiting")
    shell.out("endpoint", "create", "waiting", shell.receiver.url, "--uid", "till")
    told = shell.run("send", "waiting", "order.paid", ODD, "--wait", "--timeout", "20s", "--json")
    assert told.exit_code == 0, told.output
    assert told.stderr.endswith(": delivered\n")
    assert json.loads(told.stdout)["eventType"] == "order.paid"
    assert shell.receiver.arrivals[-1].body == ODD.encode()
