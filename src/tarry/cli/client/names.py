"""The names of applications and endpoints, for lists that contain only ids."""

from collections.abc import Mapping
from typing import Any

from tarry.cli.client.client import Server, ServerRefused
from tarry.cli.output.tables import known_as


class Names:
    """Looks up each thing once; what is gone or not accessible is called by its id."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._things: dict[tuple[str, ...], Mapping[str, Any]] = {}

    def app(self, app: str) -> str:
        """Return an application's uid, or its id with its name."""
        found = self._look("app", app)
        name = found.get("name")
        return known_as(found) if found.get("uid") or not name else f"{app} ({name})"

    def endpoint(self, app: str, endpoint: str) -> str:
        """Return an endpoint's uid, or its id."""
        return known_as(self._look("app", app, "endpoint", endpoint))

    def url(self, app: str, endpoint: str) -> str:
        """Return an endpoint's URL; empty if it is not known."""
        return str(self._look("app", app, "endpoint", endpoint).get("url", ""))

    def _look(self, *way: str) -> Mapping[str, Any]:
        if way not in self._things:
            try:
                self._things[way] = self._server.ask("GET", *way).read()
            except ServerRefused:
                self._things[way] = {"id": way[-1]}
        return self._things[way]
