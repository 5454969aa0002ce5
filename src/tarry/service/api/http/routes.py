"""Find the operation of a request by its method and path."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from tarry.service.api.http.operation import Operation


class Match(Struct, frozen=True):
    """An operation, with the values of its path parameters."""

    operation: Operation
    names: Mapping[str, str]


class _Node:
    """A node of the tree of paths: the fixed words that may follow, or else any name."""

    def __init__(self) -> None:
        self.words: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.operations: dict[str, tuple[Operation, tuple[str, ...]]] = {}


MOST_CACHED = 4096
"""The most cached paths. The cache pays off because senders use the same few paths all the time."""
LONGEST_CACHED = 1024
"""The most characters of a cached path. No valid path is longer, and anybody can send long ones."""


class Routes:
    """Finds operations by path; a fixed word has precedence over a name."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _Node()
        self._cached: dict[tuple[str, str], Match] = {}
        for operation in operations:
            self._add(operation)

    def _add(self, operation: Operation) -> None:
        """Add an operation to the tree of paths."""
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
        """Return the operation, or the methods that the path allows: none for an unknown path.

        HEAD finds the operation of GET; the HTTP server leaves the body out.
        """
        if method == "HEAD":
            method = "GET"
        cached = self._cached.get((method, path))
        if cached is not None:
            return cached
        for node, values in _nodes(self._root, _parts(path)):
            if method in node.operations:
                operation, names = node.operations[method]
                match = Match(operation, dict(zip(names, values, strict=True)))
                self._remember(method, path, match)
                return match
        for node, _ in _nodes(self._root, _parts(path)):
            return frozenset(node.operations) | ({"HEAD"} if "GET" in node.operations else set())
        return frozenset()

    def _remember(self, method: str, path: str, match: Match) -> None:
        """Cache what a path led to."""
        if len(path) > LONGEST_CACHED:
            return
        if len(self._cached) >= MOST_CACHED:
            self._cached.clear()
        self._cached[method, path] = match


def _parts(path: str) -> list[str]:
    """Split a path at its slashes."""
    return path.strip("/").split("/")


def _nodes(node: _Node, parts: list[str]) -> Iterable[tuple[_Node, tuple[str, ...]]]:
    """Yield the nodes where a path ends, fixed words first, with the names in the path."""
    if not parts:
        if node.operations:
            yield node, ()
        return
    first, *rest = parts
    if first in node.words:
        yield from _nodes(node.words[first], rest)
    if node.any is not None and first:
        for end, values in _nodes(node.any, rest):
            yield end, (first, *values)
