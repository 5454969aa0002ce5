"""Names of applications and endpoints for lists of ids, and words for states and reasons."""

from collections.abc import Mapping

from tarry.cli.client.client import Server, ServerRefused
from tarry.cli.output.tables import known_as


class Names:
    """Looks up each thing once; what is gone or not accessible is called by its id."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._things: dict[tuple[str, ...], Mapping[str, object]] = {}

    def app(self, app: str) -> str:
        """Return an application's uid, or its id with its name."""
        application = self._get("app", app)
        name = application.get("name")
        return known_as(application) if application.get("uid") or not name else f"{app} ({name})"

    def endpoint(self, app: str, endpoint: str) -> str:
        """Return an endpoint's uid, or its id."""
        return known_as(self._get("app", app, "endpoint", endpoint))

    def url(self, app: str, endpoint: str) -> str:
        """Return an endpoint's URL; empty if it is not known."""
        return str(self._get("app", app, "endpoint", endpoint).get("url", ""))

    def _get(self, *path: str) -> Mapping[str, object]:
        """Request a resource once, and remember it; only its id is known if that is refused."""
        if path not in self._things:
            try:
                self._things[path] = self._server.request("GET", *path).read()
            except ServerRefused:
                self._things[path] = {"id": path[-1]}
        return self._things[path]


class Vocabulary:
    """The server's words for people, by the names in its responses. They are requested once."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._tables: Mapping[str, Mapping[str, Mapping[str, object]]] | None = None

    def label(self, table: str, name: str) -> str:
        """Return the label of a name; the name itself if the server has no words for it."""
        return str(self.table(table).get(name, {}).get("label", name))

    def meaning(self, table: str, name: str) -> str:
        """Return the sentence that explains a name; empty if the server has no words for it."""
        return str(self.table(table).get(name, {}).get("meaning", ""))

    def name(self, table: str, typed: str) -> str:
        """Return the name for a label; a name stays as it is."""
        if typed in self.table(table):
            return typed
        for name, words in self.table(table).items():
            if words["label"] == typed.strip().lower():
                return name
        return typed

    def table(self, name: str) -> Mapping[str, Mapping[str, object]]:
        """Return a table of the server's vocabulary, by name; empty if the server has none."""
        if self._tables is None:
            try:
                answer = self._server.request("GET", "vocabulary").read()
            except ServerRefused:  # an earlier version of tarry
                answer = {}
            self._tables = {
                table: {words["name"]: words for words in entries}
                for table, entries in answer.items()
            }
        return self._tables.get(name, {})
