"""Learn which statements run: each sets a mark of its own first, which costs next to nothing.

A tracer, which is called for every line, would make a run of the tests three times as long.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import FunctionType

from tests.mutation.mutants import codes_of, functions_of, key_of

BLOCKS = ("body", "orelse", "finalbody")
NAME = "_tarry_marks"


class Marks:
    """The marks of one file's statements, in the place of its functions' code."""

    def __init__(
        self, file: Path, functions: Mapping[tuple[str, int, str], Sequence[FunctionType]]
    ) -> None:
        self.file = file
        source = file.read_text()
        tree = ast.parse(source)
        for function in functions_of(tree):
            for node in list(ast.walk(function)):
                _mark(node)
        module = compile(ast.fix_missing_locations(tree), str(file), "exec")
        self._marks = bytearray(len(source.splitlines()) + 1)
        for code in codes_of(module):
            for loaded in functions.get(key_of(code), ()):
                loaded.__code__ = code
                loaded.__globals__[NAME] = self._marks

    def reached(self) -> Iterator[int]:
        """Yield the first line of each statement that ran since the last time."""
        yield from [line for line, mark in enumerate(self._marks) if mark]
        self._marks[:] = bytes(len(self._marks))


def _mark(node: ast.AST) -> None:
    """Put a mark before each statement of a node's blocks."""
    for field in BLOCKS:
        block = getattr(node, field, None)
        if isinstance(block, list):
            marked = [(_setting(statement.lineno), statement) for statement in block]
            setattr(node, field, list(chain.from_iterable(marked)))


def _setting(line: int) -> ast.stmt:
    """Return a statement that sets the mark of a line."""
    (statement,) = ast.parse(f"{NAME}[{line}] = 1").body
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = line
    return statement
