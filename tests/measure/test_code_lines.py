"""Lines of code are those that a program would do without its comments."""

from pathlib import Path

import pytest

from tests.measure.code_lines import code_lines

PYTHON = '''\
"""What it is for.

More about it.
"""

import os  # why

# A comment.
LIMIT = 3
"""The most."""


def text() -> str:
    """Return it."""
    return f"""
    a

    {os}
"""
'''


def numbers(folder: Path, name: str, text: str) -> list[int]:
    path = folder / name
    path.write_text(text)
    return [number for number, _ in code_lines(path)]


def test_comments_and_docstrings_of_python_are_no_code(tmp_path: Path) -> None:
    assert numbers(tmp_path, "a.py", PYTHON) == [6, 9, 13, 15, 16, 18, 19]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        (
            "a.js",
            "// @ts-check\n\n/** Why.\n * @param {x} a\n */\nlet a; // b\n  /* c */ d()",
            [6, 7],
        ),
        ("a.js", 'go("/*");\nrun("*/");', [1, 2]),
        ("a.css", "/* why\n   so */\na {\n  b: c; /* d */\n}\n", [3, 4, 5]),
        ("a.html", "<!-- why\n-->\n<p>\n", [3]),
        ("a.sql", "-- why\nselect 1; -- one\n\n", [2]),
        ("a.toml", "# why\na = 1 # one\n", [2]),
        ("a.py", "", []),
    ],
)
def test_comments_of_other_languages_are_no_code(
    tmp_path: Path, name: str, text: str, code: list[int]
) -> None:
    assert numbers(tmp_path, name, text) == code


def test_a_line_is_returned_without_its_indentation(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("if x:\n    y()  \n")
    assert code_lines(path) == [(1, "if x:"), (2, "y()")]
