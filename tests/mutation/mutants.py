"""The mutants of a source file: copies of its functions with one small mistake each.

Only the insides of functions are changed. Constants and defaults outside of them have been read by
the time a test runs. Some code is left as it is because no test should notice a change there: log
lines, docstrings, annotations, assertions (also `strict` of `zip`), failpoints and the texts of
errors.
"""

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from tests.project_files import ROOT

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
LOGGER = "log"
UNCHANGED_CALLS = {"assert_never", "cast", "hit", LOGGER}
UNCHANGED_FIELDS = {"annotation", "decorator_list", "returns"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One small mistake in one function, in a statement that has these `lines`."""

    file: Path
    lines: range
    change: str
    tree: ast.Module
    function: Function
    parent: ast.AST
    field: str
    index: int | None
    replacement: ast.AST

    def __str__(self) -> str:
        """Describe the mistake in one line."""
        file = self.file.relative_to(ROOT) if self.file.is_relative_to(ROOT) else self.file
        return f"{file}:{self.lines.start}: {self.change}"

    @property
    def key(self) -> tuple[str, int, str]:
        """The file, first line and name that the function's code has, changed or not."""
        first = min(node.lineno for node in (self.function, *self.function.decorator_list))
        return str(self.file), first, self.function.name

    def compile(self) -> CodeType:
        """Return the code of the changed function. The tree keeps the change: call it only once."""
        if self.index is None:
            setattr(self.parent, self.field, self.replacement)
        else:
            getattr(self.parent, self.field)[self.index] = self.replacement
        ast.fix_missing_locations(self.tree)
        module = compile(self.tree, str(self.file), "exec")
        return next(code for code in codes_of(module) if key_of(code) == self.key)


def mutants_of(file: Path) -> list[Mutant]:
    """Return all mutants of a file, in the order of its lines."""
    tree = ast.parse(file.read_text())
    return [
        Mutant(
            file=file,
            lines=_lines(statement),
            change=change,
            tree=tree,
            function=function,
            parent=parent,
            field=field,
            index=index,
            replacement=replacement,
        )
        for function in functions_of(tree)
        for parent, field, index, node, statement in _nodes(function, function)
        for change, replacement in _changes(node)
    ]


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def key_of(code: CodeType) -> tuple[str, int, str]:
    """Return the file, first line and name of a code object."""
    return code.co_filename, code.co_firstlineno, code.co_name


def functions_of(scope: ast.AST) -> Iterator[Function]:
    """Yield the functions of a module or class. Those inside of other functions belong to them."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, Function):
            yield node
        else:
            yield from functions_of(node)


def _nodes(
    parent: ast.AST, statement: ast.stmt
) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, ast.stmt]]:
    """Yield all nodes below `parent` that may be changed: where each is, and in which statement."""
    for field, value in ast.iter_fields(parent):
        if field in UNCHANGED_FIELDS or isinstance(parent, ast.Raise):
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, node in children:
            if isinstance(node, ast.AST) and not _stays_unchanged(node):
                within = node if isinstance(node, ast.stmt) else statement
                yield parent, field, index, node, within
                yield from _nodes(node, within)


def _stays_unchanged(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.Expr(value=ast.Constant()) | ast.arguments():
            return True
        case ast.keyword(arg="strict") | ast.Raise(exc=ast.Call(func=ast.Name("AssertionError"))):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name))):
            return name in UNCHANGED_CALLS
        case ast.Expr(value=value):
            return _stays_unchanged(value)
    return False


def _lines(statement: ast.stmt) -> range:
    """Return the lines of a statement, without the statements inside it."""
    inner = [node for node in ast.walk(statement) if isinstance(node, ast.stmt)][1:]
    ends = [node.lineno - 1 for node in inner] or [statement.end_lineno or statement.lineno]
    return range(statement.lineno, max(statement.lineno, min(ends)) + 1)


def _text(node: ast.AST) -> str:
    """Return the source of a node in one short line; of a compound statement only its head."""
    head, *_ = ast.unparse(node).splitlines() or [""]
    return textwrap.shorten(head, 90)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield every mistake that can be made of this node: how it reads, and the node with it."""
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            for number, keyword in enumerate(keywords):
                if _stays_unchanged(keyword):
                    continue
                rest = [*keywords[:number], *keywords[number + 1 :]]
                without = f"{_text(function)}(...) without {_text(keyword)}"
                yield without, ast.Call(function, args, rest)
        case (
            ast.Expr(value=ast.Call() | ast.Await())
            | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            | (ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Break() | ast.Continue())
            | ast.Return(value=None)
        ):
            yield f"without {_text(node)}", ast.Pass()
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() as test):
            wrong = ast.UnaryOp(ast.Not(), test)
            yield f"if {_text(test)} -> if {_text(wrong)}", ast.If(wrong, node.body, node.orelse)
    for other in _others(node):
        yield f"{_text(node)} -> {_text(other)}", other


def _others(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901 - one case for each mistake
    """Yield the nodes that can be there by mistake instead of this one."""
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str(value)):
            yield ast.Constant(f"{value}~")
        case ast.Compare(left=left, ops=operators, comparators=others):
            for number, operator in enumerate(operators):
                swapped = [*operators[:number], _swapped(operator), *operators[number + 1 :]]
                yield ast.Compare(left, swapped, others)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(_swapped(operator), values)
        case ast.BinOp(left=left, op=operator, right=right):
            yield ast.BinOp(left, _swapped(operator), right)
        case ast.AugAssign(target=target, op=operator, value=value):
            yield ast.AugAssign(target, _swapped(operator), value)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in OPPOSITES:
            yield ast.Call(ast.Name(OPPOSITES[name], ast.Load()), args, keywords)
        case ast.IfExp(test=ast.Name() | ast.Attribute() | ast.Call() as test):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def _swapped(operator: ast.AST) -> Any:  # noqa: ANN401 - of the kind that goes in
    return OPERATORS[type(operator)]()
