"""The servers of the tests of the API and of conformance: attacks are made on the same ones."""

from tests.cli.readable_process import readable_process
from tests.conformance.conftest import db, server
from tests.service.api.conftest import anyio_backend, client, hooks, path, url

__all__ = ["anyio_backend", "client", "db", "hooks", "path", "readable_process", "server", "url"]
