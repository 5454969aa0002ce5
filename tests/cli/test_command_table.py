import sys
from pathlib import Path

import click
import pytest

from tarry.cli.command_table import CommandTable

MODULES = {"move-up": "table_of_moves", "sing": "table_of_songs"}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandTable:
    """A table of two commands whose modules were not imported yet."""
    for name, module in MODULES.items():
        function = name.replace("-", "_")
        text = f"import click\n\n@click.command\ndef {function}() -> None:\n    pass\n"
        (tmp_path / f"{module}.py").write_text(text)
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return CommandTable(MODULES)


def test_a_command_is_imported_when_it_is_looked_up(table: CommandTable) -> None:
    assert (list(table), len(table)) == (["move-up", "sing"], 2)
    assert sys.modules.keys().isdisjoint(MODULES.values())
    assert table["sing"].name == "sing"
    assert "table_of_songs" in sys.modules
    assert "table_of_moves" not in sys.modules
    assert table["sing"] is sys.modules["table_of_songs"].sing


def test_a_name_with_a_hyphen_is_found(table: CommandTable) -> None:
    assert table["move-up"].name == "move-up"


def test_an_unknown_name_is_no_command(table: CommandTable) -> None:
    assert table.get("exit") is None
    with pytest.raises(KeyError):
        table["exit"]


def test_commands_can_be_added_and_removed(table: CommandTable) -> None:
    paint = click.Command("paint")
    table["paint"] = paint
    assert table["paint"] is paint
    del table["sing"]
    assert list(table) == ["move-up", "paint"]
