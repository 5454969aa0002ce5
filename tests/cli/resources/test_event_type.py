import json
from pathlib import Path

from tests.cli.shell import Shell


def test_a_type_is_made_listed_and_put_into_the_archive(shell: Shell) -> None:
    made = shell.json("event-type", "create", "order.paid", "--description", "money came")
    assert made["description"] == "money came"
    assert shell.json("event-type", "get", "order.paid") == made
    assert "money came" in shell.out("event-type", "list")
    assert shell.out("event-type", "delete", "order.paid", "--yes") == ("order.paid is archived\n")
    assert shell.lines("event-type", "list") == []
    (archived,) = shell.lines("event-type", "list", "--archived")
    assert archived["archived"] is True
    assert shell.out("event-type", "delete", "order.paid", "--expunge", "--yes") == (
        "order.paid is deleted\n"
    )
    assert shell.wrong("event-type", "get", "order.paid") == (
        1,
        "Error: 404 not_found: there is no event type 'order.paid'",
    )


def test_payloads_are_held_against_a_schema(shell: Shell, folder: Path) -> None:
    schema = {"type": "object", "required": ["total"]}
    (folder / "s.json").write_text(json.dumps(schema))
    way = ("event-type", "create", "order.sent")
    made = shell.json(*way, "--schema", "s.json", "--validate")
    assert (made["schemas"], made["validatePayload"]) == ({"1": schema}, True)
    assert shell.wrong("send", "shop", "order.sent", "{}")[0] == 1
    assert shell.run("send", "shop", "order.sent", '{"total": 1}').exit_code == 0


def test_a_schema_that_cannot_be_read_is_told(shell: Shell, folder: Path) -> None:
    (folder / "s.json").write_text("{")
    for name in ("s.json", "gone.json"):
        code, said = shell.wrong("event-type", "create", "x", "--schema", name)
        assert (code, name in said) == (2, True)
