"""What the tests of receivers share: a site of every framework."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ssl import PROTOCOL_TLS_CLIENT, SSLContext

import httpx
import pytest

from tarry.receive import Webhook
from tests.receive.sites import SITES, Desk, Serve, Site


@pytest.fixture(params=SITES)
def serve(request: pytest.FixtureRequest) -> Serve:
    return SITES[request.param]


@pytest.fixture
def site_of(serve: Serve) -> Iterator[Callable[[Webhook], Site]]:
    """Start a site that receives by this webhook."""
    no_tls = SSLContext(PROTOCOL_TLS_CLIENT)  # the usual one takes long to make
    once = httpx.Limits(max_keepalive_connections=0)  # some servers close them after a failure
    with ExitStack() as running, httpx.Client(verify=no_tls, timeout=30, limits=once) as client:

        def start(webhook: Webhook) -> Site:
            desk = Desk()
            return Site(desk, running.enter_context(serve(webhook, desk)), client)

        yield start
