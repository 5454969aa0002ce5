"""Which operation a request is for, by its method and the parts of its path."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tarry.service.api.operation import Operation


class Match(Struct, frozen=True):
    """An operation, with what stands in the path for its names."""

    operation: Operation
    names: Mapping[str, str]


class _Node:
    """What may follow in a path: fixed words, else any name."""

    def __init__(self) -> None:
        self.words: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.operations: dict[str, tuple[Operation, tuple[str, ...]]] = {}


MOST_KNOWN = 4096
"""Paths that are remembered: senders ask for the same few over and over."""
LONGEST_KNOWN = 1024
"""Characters of such a path. Longer ones name nothing, and anybody may come with them."""


class Routes:
    """Finds operations; a fixed word in a path comes before a name."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Node()
        self._known: dict[tuple[str, str], Match] = {}
        for operation in operations:
            self._add(operation)

    def _add(self, operation: Operation) -> None:
        node, names = self._root, []
        for part in _parts(operation.path):
            if part.startswith("{"):
                names.append(part.strip("{}"))
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.words.setdefault(part, _Node())
        if operation.method in node.operations:
            raise ValueError(f"{operation.method} {operation.path} is declared twice")
        node.operations[operation.method] = operation, tuple(names)

    def find(self, method: str, path: str) -> Match | frozenset[str]:
        """The operation, or the methods of the path that fits best: none if no path does.

        A HEAD is for what its GET would be for; the server below sends no body.
        """
        if method == "HEAD":
            method = "GET"
        known = self._known.get((method, path))
        if known is not None:
            return known
        for node, values in _nodes(self._root, _parts(path)):
            if method in node.operations:
                operation, names = node.operations[method]
                found = Match(operation, dict(zip(names, values, strict=True)))
                self._remember(method, path, found)
                return found
        for node, _ in _nodes(self._root, _parts(path)):
            return frozenset(node.operations) | ({"HEAD"} if "GET" in node.operations else set())
        return frozenset()

    def _remember(self, method: str, path: str, found: Match) -> None:
        if len(path) > LONGEST_KNOWN:
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[method, path] = found


def _parts(path: str) -> list[str]:
    return path.strip("/").split("/")


def _nodes(node: _Node, parts: list[str]) -> Iterable[tuple[_Node, tuple[str, ...]]]:
    """Where a path ends in the tree, fixed words first."""
    if not parts:
        if node.operations:
            yield node, ()
        return
    first, *rest = parts
    if first in node.words:
        yield from _nodes(node.words[first], rest)
    if node.any is not None and first:
        for found, values in _nodes(node.any, rest):
            yield found, (first, *values)
