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
        answer = await nobody.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = read(answer.text)
    assert samples["tarry_http_requests_total", ("v1.application.get", "200")] == 2
    assert samples["tarry_http_requests_total", ("v1.application.get", "404")] == 1
    assert samples["tarry_http_requests_total", ("unknown", "501")] == 1
    assert samples["tarry_http_request_seconds_total", ("v1.application.get",)] > 0


async def test_a_dispatcher_in_the_same_process_is_told_of(hooks: Hooks) -> None:
    api = await make_api(hooks, "k")
    async with hooks.dispatching() as dispatcher:
        async with (
            serving(api, "127.0.0.1:0") as url,
            httpx.AsyncClient(base_url=url, **PLAIN) as client,
        ):
            samples = read((await client.get("/metrics")).text)
        figures = gauges(dispatcher)
    assert samples["tarry_shards_held", ()] == figures.shards == 64
    assert samples["tarry_lanes", ("open",)] == 0
    assert samples["tarry_attempts_sent_total", ()] == figures.sent
    assert list(delivery_lines(figures))


def test_nothing_is_written_of_what_nobody_asked_for() -> None:
    assert not read("".join(f"{line}\n" for line in RequestMetrics().lines()))
