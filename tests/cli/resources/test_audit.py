from tests.cli.shell import Shell


def test_who_changed_what_is_listed(shell: Shell) -> None:
    shell.out("app", "create", "--uid", "stall", "Stall")
    shell.out("endpoint", "create", "stall", "https://example.com/", "--uid", "till")
    shell.out("endpoint", "pause", "stall", "till")
    entries = shell.lines("audit", "--app", "stall")
    assert [entry["operation"] for entry in entries] == [
        "v1.lane.pause",
        "v1.endpoint.create",
        "v1.application.create",
    ]
    assert shell.lines("audit", "--operation", "v1.lane.pause") == entries[:1]
    assert shell.lines("audit", "--target", entries[0]["target"]["id"]) == entries[:2]
    assert shell.lines("audit", "--actor", "command-line") == []
    assert shell.lines("audit", "--app", "stall", "--until", "1h") == []
    assert shell.lines("audit", "--app", "stall", "--since", "1h") == entries
    said = shell.out("audit", "--app", "stall", "--limit", "1")
    for text in ("settings", "v1.lane.pause", "standing:", "enabled", "paused", "127.0.0.1"):
        assert text in said
    assert max(map(len, said.splitlines())) <= 100


def test_nothing_that_fits_is_said_so(shell: Shell) -> None:
    assert shell.run("audit", "--actor", "key_nobody").stderr == "None found.\n"


def test_a_span_that_ends_before_it_begins_is_refused(shell: Shell) -> None:
    code, said = shell.wrong("audit", "--since", "1h", "--until", "2h")
    assert code == 2
    assert "--until must be after --since" in said
