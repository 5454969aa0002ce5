import json

from tests.cli.shell import Shell


def test_attempts_are_listed_by_endpoint_and_by_message(shell: Shell) -> None:
    shell.out("endpoint", "create", "shop", shell.receiver.url, "--uid", "till")
    shell.receiver.script([400])
    told = shell.run("send", "shop", "order.paid", "--wait", "--json")
    failed = json.loads(told.stdout)["id"]
    sent = shell.json("send", "shop", "order.paid", "--wait")["id"]
    both = shell.lines("attempt", "list", "shop", "--endpoint", "till")
    assert [(one["msgId"], one["statusText"]) for one in both] == [
        (sent, "success"),
        (failed, "fail"),
    ]
    (only,) = shell.lines("attempt", "list", "shop", "--endpoint", "till", "--status", "fail")
    assert only["responseStatusCode"] == 400
    assert shell.lines("attempt", "list", "shop", "--message", failed) == [only]
    way = ("attempt", "list", "shop", "--message", failed, "--endpoint", "till", "--since", "1h")
    assert shell.lines(*way) == [only]
    said = shell.out("attempt", "list", "shop", "--endpoint", "till")
    assert sent in said
    assert "400" in said
    assert max(map(len, said.splitlines())) <= 100
    assert shell.out("message", "attempts", "shop", failed).endswith("  till\n")


def test_who_cannot_be_reached_is_said_to_be_so_in_full(shell: Shell) -> None:
    shell.out("app", "create", "Gone", "--uid", "gone")
    shell.out("endpoint", "create", "gone", "http://127.0.0.1:1024/", "--uid", "till")
    assert shell.run("send", "gone", "order.paid", "--wait", "--timeout", "1s").exit_code == 4
    assert "  the connection was refused  " in shell.out(
        "attempt", "list", "gone", "--endpoint", "till"
    )


def test_it_must_be_said_which(shell: Shell) -> None:
    code, said = shell.wrong("attempt", "list", "shop")
    assert (code, "--endpoint, --message" in said) == (2, True)
