import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tarry.service.api.http.metrics import RequestMetrics, delivery_lines
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.dispatch.gauges import gauges
from tarry.service.hooks import Hooks
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio


def read(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every sample by its name and the values of its labels, as Prometheus itself reads them."""
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_requests_are_counted_by_operation_and_status(
    client: httpx.AsyncClient, url: str
) -> None:
    await client.get("/api/v1/app/shop")
    await client.get("/api/v1/app/shop")
    await client.get("/api/v1/app/nobody")
    await client.get("/api/v1/nothing")
    async with httpx.AsyncClient(base_url=url, **PLAIN) as nobody:
        told = await nobody.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = read(told.text)
    assert found["tarry_http_requests_total", ("v1.application.get", "200")] == 2
    assert found["tarry_http_requests_total", ("v1.application.get", "404")] == 1
    assert found["tarry_http_requests_total", ("unknown", "501")] == 1
    assert found["tarry_http_request_seconds_total", ("v1.application.get",)] > 0


async def test_a_dispatcher_in_the_same_process_is_told_of(hooks: Hooks) -> None:
    api = await make_api(hooks, "k")
    async with hooks.dispatching() as dispatcher:
        async with (
            serving(api, "127.0.0.1:0") as url,
            httpx.AsyncClient(base_url=url, **PLAIN) as client,
        ):
            found = read((await client.get("/metrics")).text)
        told = gauges(dispatcher)
    assert found["tarry_shards_held", ()] == told.shards == 64
    assert found["tarry_lanes", ("open",)] == 0
    assert found["tarry_attempts_sent_total", ()] == told.sent
    assert list(delivery_lines(told))


def test_nothing_is_written_of_what_nobody_asked_for() -> None:
    assert not read("".join(f"{line}\n" for line in RequestMetrics().lines()))
