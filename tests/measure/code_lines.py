"""The lines of a file that are code, each with its number: no blank lines, comments or docstrings.

A string that is a statement by itself counts as a docstring, also below a constant or a field. In
Python, comments and docstrings are those of the language. In the other languages a line is left out
if nothing of it is outside of comments. A comment mark inside of a string there is taken for a
comment, which matters only if the line starts with it.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
"""Tokens that are no code."""
COMMENTS = {
    ".css": re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL),
    ".html": re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL),
    ".js": re.compile(r"^[ \t]*(?:/\*.*?(?:\*/|\Z)|//[^\n]*)", re.DOTALL | re.MULTILINE),
    ".sql": re.compile(r"^[ \t]*--[^\n]*", re.MULTILINE),
    ".toml": re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE),
}
Line = tuple[int, str]
"""The number of a line in its file, and the line without indentation."""


def code_lines(path: Path) -> list[Line]:
    """Return the lines of code of a file in one of the languages of `src`."""
    text = path.read_text()
    return list(_of_python(text) if path.suffix == ".py" else _of_others(text, path.suffix))


def _of_python(text: str) -> Iterator[Line]:
    lines = text.split("\n")
    for number in sorted(_numbers_with_tokens(text) - _numbers_of_docstrings(text)):
        if stripped := lines[number - 1].strip():  # a string may contain blank lines
            yield number, stripped


def _numbers_with_tokens(text: str) -> set[int]:
    return {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in LAYOUT
        for number in range(token.start[0], token.end[0] + 1)
    }


def _numbers_of_docstrings(text: str) -> set[int]:
    return {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _of_others(text: str, ending: str) -> Iterator[Line]:
    without = COMMENTS[ending].sub(_line_breaks, text)
    for number, line in enumerate(without.split("\n"), start=1):
        if stripped := line.strip():
            yield number, stripped


def _line_breaks(comment: re.Match[str]) -> str:
    """Replace a comment by its line breaks, so that the lines below keep their numbers."""
    return "\n" * comment.group().count("\n")
