"""What the tests of receivers share: a site of every framework."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from tarry.receive import Webhook
from tests.plain_http import PLAIN
from tests.receive.sites import SITES, Build, Desk, Gateway, Site, asgi_gateway, wsgi_gateway


@pytest.fixture(scope="package")
def gateways() -> Iterator[dict[str, Gateway]]:
    with asgi_gateway() as asgi, wsgi_gateway() as wsgi:
        yield {"asgi": asgi, "wsgi": wsgi}


@pytest.fixture(scope="package")
def client() -> Iterator[httpx.Client]:
    once = httpx.Limits(max_keepalive_connections=0)  # some servers close them after a failure
    with httpx.Client(**PLAIN, limits=once) as client:
        yield client


@pytest.fixture(params=SITES)
def build(request: pytest.FixtureRequest) -> Build:
    return SITES[request.param]


@pytest.fixture
def site_of(
    build: Build, gateways: dict[str, Gateway], client: httpx.Client
) -> Callable[[Webhook], Site]:
    """Start a site that receives by this webhook."""

    def start(webhook: Webhook) -> Site:
        desk = Desk()
        kind, app = build(webhook, desk)
        gateways[kind].app = app
        return Site(desk, gateways[kind].port, client)

    return start
