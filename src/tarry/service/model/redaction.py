"""Rules for what people must not see: headers, and places in payloads and responses."""

import re
from collections.abc import Iterable
from itertools import count

from msgspec import Struct

from tarry.errors import SettingsError
from tarry.service.model.json_places import NotJsonError, places

REDACTED = b'"[redacted]"'
"""The JSON value in place of a hidden one."""
INCOMPLETE = b"[redacted: not complete JSON]"
"""The text in place of a body that cannot be searched."""
MOST_RULES = 100
MOST_STEPS = 20
"""The most steps of a path."""
_HEADER = re.compile(r"header:([!#$%&'*+.^_`|~0-9a-z-]+)", re.IGNORECASE)
_STEP_PATTERN = re.compile(r"\.(\.?)([\w-]+)|(\.\.)?\['([^']+)'\]|\.\*|\[\*\]")
_WANTED = (
    "header:NAME, or a JSON path of up to 20 steps: $, then .name or ['name'] for a field, .* or"
    " [*] for all fields or elements, ..name or ..['name'] for a field at any depth; for example"
    " header:x-customer, $.card.number, $.items[*].ssn or $..password"
)


class Redaction(Struct, frozen=True):
    """The names of hidden `headers`, in lower case, and the paths to hidden values in bodies.

    Each step of each path is a bit, and after its last step a path has a bit of `ends`. A number
    with some of these bits says how far the paths lead to a value: its bits are the next steps.
    """

    headers: frozenset[str] = frozenset()
    start: int = 0
    names: dict[bytes, int] = {}
    """The steps to a field, by its name."""
    wildcards: int = 0
    deep: int = 0
    """The steps that may be taken at any depth below."""
    ends: int = 0

    @classmethod
    def of(cls, rules: Iterable[str]) -> "Redaction":
        """Read rules; SettingsError names the one that is wrong."""
        headers, paths = set[str](), list[list[_Step]]()
        for rule in dict.fromkeys(rules):
            if header := _HEADER.fullmatch(rule):
                headers.add(header[1].lower())
            else:
                paths.append(_path(rule))
        if len(headers) + len(paths) > MOST_RULES:
            found = f"{len(headers) + len(paths)} rules"
            raise SettingsError("redact", found, f"at most {MOST_RULES}")
        return _redaction(frozenset(headers), paths)

    def inside(self, reached: int, name: bytes | None) -> int:
        """Return how far the paths lead to a field of this name; without a name, to an element."""
        fitting = self.wildcards if name is None else self.wildcards | self.names.get(name, 0)
        return (reached & fitting) << 1 | reached & self.deep

    def end(self, reached: int) -> bool:
        """Return whether a path ends there."""
        return bool(reached & self.ends)

    def redact(self, body: bytes) -> bytes:
        """Return a body as it may be shown.

        If it is not JSON, for example because only its beginning was kept, it cannot be searched.
        Then it is hidden as a whole, unless it has no bracket that begins an object or a list.
        """
        if not self.ends:
            return body
        parts, shown_until = list[bytes](), 0
        try:
            for begin, end in places(body, self):
                parts += body[shown_until:begin], REDACTED
                shown_until = end
        except NotJsonError:
            return INCOMPLETE if b"{" in body or b"[" in body else body
        return b"".join((*parts, body[shown_until:]))


class _Step(Struct, frozen=True):
    """A step of a path: to a field, or to every field and element without a `name`."""

    name: str | None = None
    deep: bool = False


def _path(rule: str) -> list[_Step]:
    """Return the steps of a JSON path; SettingsError if it is none of those that are known."""
    steps, position = list[_Step](), 1
    while match := _STEP_PATTERN.match(rule, position):
        steps.append(_Step(match[2] or match[4], deep=bool(match[1] or match[3])))
        position = match.end()
    if not rule.startswith("$") or position < len(rule) or not 1 <= len(steps) <= MOST_STEPS:
        raise SettingsError("redact", rule, _WANTED)
    return steps


def _redaction(headers: frozenset[str], paths: Iterable[Iterable[_Step]]) -> Redaction:
    """Give each step of each path its bit."""
    start = wildcards = deep = ends = 0
    names, bits = dict[bytes, int](), (1 << number for number in count())
    for steps in paths:
        first = bit = next(bits)
        for step in steps:
            if step.name is None:
                wildcards |= bit
            else:
                name = step.name.encode(errors="surrogatepass")
                names[name] = names.get(name, 0) | bit
            deep |= bit if step.deep else 0
            bit = next(bits)
        start, ends = start | first, ends | bit
    return Redaction(headers, start, names, wildcards, deep, ends)
