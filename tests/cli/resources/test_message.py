from tests.cli.shell import Shell


def test_messages_are_listed_and_found(shell: Shell) -> None:
    first = shell.json("send", "shop", "order.paid", '{"n": 1}', "--tag", "t", "--channel", "eu")
    second = shell.json("send", "shop", "order.sent")

    def listed(*options: str) -> list[str]:
        return [line["id"] for line in shell.lines("message", "list", "shop", *options)]

    assert listed() == [second["id"], first["id"]]
    assert listed("--event-type", "order.paid") == listed("--tag", "t") == [first["id"]]
    assert listed("--channel", "eu", "--since", "1h") == [first["id"]]
    assert listed("--since", "1h", "--limit", "1") == [second["id"]]
    assert listed("--until", "1h") == []
    assert shell.lines("message", "list", "shop", "--tag", "t", "--content")[0] == first
    assert all("payload" not in one for one in shell.lines("message", "list", "shop"))
    assert '{"n": 1}' in shell.out("message", "list", "shop", "--content")
    said = shell.out("message", "list", "shop")
    assert first["id"] in said
    assert max(map(len, said.splitlines())) <= 100


def test_how_they_stand_with_an_endpoint_is_told(shell: Shell) -> None:
    shell.out("endpoint", "create", "shop", "https://example.com/", "--uid", "paused")
    shell.out("endpoint", "pause", "shop", "paused")
    sent = shell.json("send", "shop", "order.paid", '{"n": 1}')
    way = ("message", "list", "shop", "--endpoint", "paused")
    assert [line["id"] for line in shell.lines(*way, "--status", "pending")] == [sent["id"]]
    assert shell.lines(*way, "--status", "fail") == []
    assert "waiting" in shell.out(*way)
    assert shell.wrong("message", "list", "shop", "--status", "fail")[0] == 2
    said = shell.out("message", "get", "shop", sent["id"])
    assert '{"n": 1}' in said
    assert "https://example.com/" in said
    assert "paused " in said
    assert "payload" not in shell.lines(*way)[0]
    assert shell.lines(*way, "--content")[0]["payload"] == {"n": 1}
    assert shell.json("message", "get", "shop", sent["id"])["payload"] == {"n": 1}
    explained = shell.json("message", "explain", "shop", sent["id"], "paused")
    assert (explained["state"], explained["reason"]) == ("ready", "paused")
    said = shell.out("message", "explain", "shop", sent["id"], "paused")
    assert said.startswith("Waiting: endpoint paused. Nothing is sent until")
    assert shell.lines("message", "attempts", "shop", sent["id"]) == []
    cancelled = shell.out("message", "cancel", "shop", sent["id"])
    assert cancelled == "deliveries cancelled: 1\n"
    assert shell.json("message", "cancel", "shop", sent["id"]) == {"cancelled": 0}
    assert len(shell.lines(*way, "--status", "canceled")) == 1


def test_payloads_of_a_list_are_shown_as_they_came(shell: Shell) -> None:
    odd = '{"n": 1e400,\n "m": 1.10, "big": ' + "9" * 5000 + "}"
    shell.out("send", "shop", "order.odd", odd)
    said = shell.out("message", "list", "shop", "--limit", "1", "--content", "--json")
    assert f'"payload":{odd.replace(chr(10), " ")},' in said
    assert said.count("\n") == 1


def test_people_see_a_payload_as_it_came_too(shell: Shell) -> None:
    odd = '{"n": 1e400,\n"m": 1.10, "m": 2}'
    sent = shell.json("send", "shop", "order.odd", odd)["id"]
    shown = '{"n": 1e400, "m": 1.10, "m": 2}'
    assert f"payload     {shown}\n" in shell.out("message", "get", "shop", sent)
    listed = shell.out("message", "list", "shop", "--limit", "1", "--content")
    assert "1e400," in listed
    assert '"1e400"' not in listed


def test_a_payload_is_forgotten_and_not_sent_again(shell: Shell) -> None:
    shell.out("app", "create", "The bar", "--uid", "bar")
    shell.out("endpoint", "create", "bar", shell.receiver.url, "--uid", "till")
    sent = shell.json("send", "bar", "order.paid", "--wait")["id"]
    assert shell.out("message", "resend", "bar", sent, "till").endswith("to till again\n")
    assert "erased the payload" in shell.out("message", "expunge", "bar", sent, "--yes")
    assert shell.json("message", "get", "bar", sent)["payload"] == {"expired": True}
    code, said = shell.wrong("message", "resend", "bar", sent, "till")
    assert (code, "400 missing_payload" in said) == (1, True)


def test_an_empty_payload_is_shown_too(shell: Shell) -> None:
    sent = shell.json("send", "shop", "order.paid")["id"]
    said = shell.out("message", "get", "shop", sent)
    assert "payload     {}\n" in said
    assert "\naccepted    " in said


def test_one_that_nobody_wants_is_said_to_be_so(shell: Shell) -> None:
    shell.out("app", "create", "The attic", "--uid", "attic")
    sent = shell.json("send", "attic", "order.paid")["id"]
    told = shell.run("message", "get", "attic", sent)
    assert (told.exit_code, told.stderr) == (0, "No endpoint accepts this message.\n")


def test_an_unknown_one_is_named(shell: Shell) -> None:
    code, said = shell.wrong("message", "get", "shop", "msg_x")
    assert (code, said) == (1, "Error: 404 not_found: there is no message 'msg_x'")
