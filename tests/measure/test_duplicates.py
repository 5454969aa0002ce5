"""Copies of six lines are found wherever they are, once each, and nothing else is."""

from pathlib import Path

import pytest

from tests.measure.code_lines import code_lines
from tests.measure.duplicates import duplicates

LINES = [f"call({number})\n" for number in range(7)]
SIX = "".join(LINES[:6])
SEVEN = "".join(LINES)
INDENTED = "def f():\n" + "".join(f"    {line}" for line in LINES[:6])
SPREAD = "# first\n" + "\n# why\n".join(LINES[:6])
IMPORTS = "".join(f"import m{number}\n" for number in range(7))
BRACKETS = "f(\n(\n(\n(\n(\n)\n)\n)\n)\n)\n"


def pairs(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    code = {folder / name: code_lines(folder / name) for name in reversed(files)}
    return [f"{one} ~ {other}" for one, other in duplicates(folder, code)]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.py": SIX, "b.py": SIX}, ["a.py:1-6 ~ b.py:1-6"]),
        ({"a.py": SEVEN, "b.py": "x()\n" + SEVEN}, ["a.py:1-7 ~ b.py:2-8"]),
        ({"a.py": SIX, "b.py": INDENTED}, ["a.py:1-6 ~ b.py:2-7"]),
        ({"a.py": SIX, "b.py": SPREAD}, ["a.py:1-6 ~ b.py:2-17"]),
        ({"a.py": SIX + "x()\n" + SIX}, ["a.py:1-6 ~ a.py:8-13"]),
        (
            {"a.py": SIX, "b.py": SIX, "c.py": SIX},
            ["a.py:1-6 ~ b.py:1-6", "a.py:1-6 ~ c.py:1-6", "b.py:1-6 ~ c.py:1-6"],
        ),
        ({"a.sql": "select 1;\n" * 12}, ["a.sql:1-6 ~ a.sql:7-12"]),
    ],
    ids=["equal", "longer", "indented", "spread", "in one file", "three", "repeated"],
)
def test_copies_are_found(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    assert pairs(tmp_path, files) == found


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "".join(LINES[:5]), "b.py": "".join(LINES[:5])},
        {"a.py": SIX, "b.py": SIX.replace("call(3)", "call(4)")},
        {"a.py": IMPORTS, "b.py": IMPORTS},
        {"a.js": 'import { a } from "b";\n' * 9, "b.js": 'import { a } from "b";\n' * 9},
        {"a.py": BRACKETS, "b.py": BRACKETS},
        {"a.toml": "a = 1\n" * 6, "b.toml": "a = 1\n" * 6},
        {"a.py": "call(1)\n" * 11},
    ],
    ids=["five lines", "another value", "imports", "of scripts", "brackets", "data", "overlapping"],
)
def test_what_is_no_copy_is_not_found(tmp_path: Path, files: dict[str, str]) -> None:
    assert pairs(tmp_path, files) == []
