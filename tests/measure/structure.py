"""Read from parsed source how a package is built: its imports, classes, functions and writes."""

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

POWER_FUNCTIONS = frozenset({"exp", "math.exp", "math.exp2", "math.pow", "pow"})
WAITING = frozenset({"call_at", "call_later", "sleep", "timeout", "timeout_at", "wait", "wait_for"})
"""Functions that wait for a time that they are given."""
PRODUCTS = ast.Mult | ast.Pow | ast.LShift


def modules(sources: Path, paths: Collection[Path]) -> dict[str, ast.Module]:
    """Return the Python files among `paths`, parsed, by dotted names as seen from `sources`."""
    parsed = {}
    for path in paths:
        if path.suffix == ".py":
            parts = path.relative_to(sources).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            parsed[name] = ast.parse(path.read_text())
    return parsed


def imports(tree: ast.Module, names: Collection[str]) -> set[str]:
    """Return those of the named modules that a module imports, also for its types alone."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return imported & set(names)


def in_cycles(trees: Mapping[str, ast.Module]) -> list[str]:
    """Return the modules that lead back to themselves by their imports."""
    graph = {name: imports(tree, trees.keys()) - {name} for name, tree in trees.items()}
    return [name for name in graph if name in _reached(name, graph)]


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        module = ahead.pop()
        if module not in seen:
            seen.add(module)
            ahead += graph[module]
    return seen


def outside_writes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find assignments to fields of something else than `self`: the line, and what is written."""
    for node in ast.walk(tree):
        for target in _targets(node):
            for part in ast.walk(target):
                written = isinstance(getattr(part, "ctx", None), ast.Store | ast.Del)
                if written and isinstance(part, ast.Attribute) and not _is_self(part.value):
                    yield part.lineno, ast.unparse(part)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign | ast.Delete):
        return node.targets
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return [node.target]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return [node.optional_vars]
    return []


def foreign_private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find the uses of private names that this module does not define: the line, and the name.

    An object may use the private fields of another one of its own class, which is defined here.
    """
    own = _private_names_defined(tree)
    for node in ast.walk(tree):
        for name in _names_used(node):
            if name.startswith("_") and not name.endswith("__") and name not in own:
                yield getattr(node, "lineno", 0), name


def _private_names_defined(tree: ast.Module) -> set[str]:
    """Return the names that a module assigns, defines or annotates, and the fields of `self`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif _is_self_written(node):
            found.add(node.attr)
    return found


def _is_self_written(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value)
    )


def _names_used(node: ast.AST) -> list[str]:
    """Return the names that a node takes from something else than `self` or its base classes."""
    if isinstance(node, ast.Attribute):
        is_base = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super"
        return [] if is_base or _is_self(node.value) else [node.attr]
    if isinstance(node, ast.ImportFrom):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"getattr", "setattr", "hasattr"}:
        named = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
        return [name for name in named if isinstance(name, str)]
    return []


def powers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find what may grow exponentially: the line, and the expression.

    That is a power or a shift by something that is no constant, and a number that is multiplied
    where it is: `wait *= 2`, `wait = min(longest, wait * 2)`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
            if not isinstance(node.right, ast.Constant):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult | ast.LShift):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Assign):
            if any(_has_product_of(target, node.value) for target in node.targets):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in POWER_FUNCTIONS:
            yield node.lineno, ast.unparse(node)


def computed_waits(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find the calls that wait for a product or a power: the line, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in WAITING:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            parts = [part for value in given for part in ast.walk(value)]
            if any(isinstance(part, ast.BinOp) and isinstance(part.op, PRODUCTS) for part in parts):
                yield node.lineno, ast.unparse(node)


def calls_of(tree: ast.Module, names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Find the calls of functions or methods with one of these names: the line, and the name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in names:
                yield node.lineno, name


def changeable_structs(tree: ast.Module) -> Iterator[str]:
    """Find the classes made by msgspec that are not frozen."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
            options = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if "Struct" in bases and options.get("frozen") != "True":
                yield node.name


def _has_product_of(target: ast.expr, value: ast.expr) -> bool:
    """Return whether an expression multiplies what it is assigned to."""
    name = ast.unparse(target)
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and name in {ast.unparse(node.left), ast.unparse(node.right)}
        for node in ast.walk(value)
    )


def function_lengths(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Find the functions with their lines, signature and docstring left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            yield node.name, lines


def split_classes(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the classes that are put together from classes of other modules, with these parts.

    Such a class has two or more bases from other modules. A single base is a kind of thing, not a
    part of one, and so are protocols and exceptions.
    """
    defined = {
        (name, node.name): node
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    split = {}
    for (module, name), node in defined.items():
        came_from = _came_from(trees[module])
        bases = [came_from.get(ast.unparse(base).partition("[")[0]) for base in node.bases]
        parts = [base for base in bases if base in defined and not _is_a_kind(defined[base])]
        if len(parts) > 1:
            split[f"{module}.{name}"] = [f"{module}.{name}" for module, name in parts]
    return split


def _came_from(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of everything that a module imports by name."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _is_a_kind(node: ast.ClassDef) -> bool:
    bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
    return "Protocol" in bases or node.name.endswith("Error")


def protocol_methods(trees: Mapping[str, ast.Module], module: str) -> dict[str, list[str]]:
    """Return the methods of a module's protocols, and of the protocols that it imports.

    A method is listed once, under the protocol that defines it. Callbacks, whose only method is
    `__call__`, have none.
    """
    names = {module, *imports(trees[module], trees.keys())}
    return {
        node.name: [
            part.name
            for part in node.body
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name != "__call__"
        ]
        for name in sorted(names)
        for node in ast.walk(trees[name])
        if isinstance(node, ast.ClassDef)
        and "Protocol" in {ast.unparse(base) for base in node.bases}
    }


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Find the constants that a module defines, with their values as they are written."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        else:
            continue
        for target, value in pairs:
            if isinstance(target, ast.Name) and target.id.isupper() and len(target.id) > 1:
                yield target.id, ast.unparse(value)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return what is assigned to what, also by `A, B = 1, 2`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]
