"""The server and the client of the tests of the API: attacks are made on the same server."""

from tests.service.api.conftest import anyio_backend, client, hooks, path, url

__all__ = ["anyio_backend", "client", "hooks", "path", "url"]
