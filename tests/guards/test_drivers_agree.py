"""The sync and the async driver are one text: the same but for `await`."""

import ast
from pathlib import Path

import pytest

import tarry

CALL = Path(tarry.__file__).parent / "call"
SHARED = ["_careful", "_light", "_bare", "_guarded", "persist"]


class WithoutAwait(ast.NodeTransformer):
    """Turns an async function into the plain one it mirrors, and forgets its annotations."""

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        plain = ast.FunctionDef(**{field: getattr(node, field) for field in node._fields})
        return self.visit_FunctionDef(ast.copy_location(plain, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_Await(self, node: ast.Await) -> ast.AST:
        return self.visit(node.value)  # type: ignore[no-any-return]  # whatever was awaited

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = "sleep" if node.attr == "asleep" else node.attr
        return self.generic_visit(node)


def functions(module: str) -> dict[str, str]:
    tree = ast.parse((CALL / module).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name: ast.unparse(WithoutAwait().visit(node))
        for node in tree.body
        if isinstance(node, kinds)
    }


@pytest.mark.parametrize("name", SHARED)
def test_the_async_driver_is_the_sync_one_with_await(name: str) -> None:
    assert functions("aio.py")[name] == functions("sync.py")[name]
