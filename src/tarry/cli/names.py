"""What applications and endpoints are called: their owners' ids, where a list has only ours."""

from collections.abc import Mapping
from typing import Any

from tarry.cli.client import Server, ServerRefused
from tarry.cli.show import known_as


class Names:
    """Asks a server for each thing once; what is gone or hidden goes by its id."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._things: dict[tuple[str, ...], Mapping[str, Any]] = {}

    def app(self, app: str) -> str:
        """What an application is called; with its name if it has no uid."""
        found = self._look("app", app)
        name = found.get("name")
        return known_as(found) if found.get("uid") or not name else f"{app} ({name})"

    def endpoint(self, app: str, endpoint: str) -> str:
        """What an endpoint is called."""
        return known_as(self._look("app", app, "endpoint", endpoint))

    def url(self, app: str, endpoint: str) -> str:
        """Where an endpoint is; nothing if nobody says."""
        return str(self._look("app", app, "endpoint", endpoint).get("url", ""))

    def _look(self, *way: str) -> Mapping[str, Any]:
        if way not in self._things:
            try:
                self._things[way] = self._server.ask("GET", *way).read()
            except ServerRefused:
                self._things[way] = {"id": way[-1]}
        return self._things[way]
