"""At one host: an application that fails does not hold up another one's deliveries."""

import asyncio
import math

import pytest

from tarry.core.outcome import Kind
from tarry.core.pace import Phase
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.model.application import Application
from tarry.service.store.kinds import Environment
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import ENVIRONMENT
from tarry.testing.virtual_loop import run_virtual, virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    RESET,
    VirtualService,
    status,
    virtual_service,
)

HOST, AT = "shared.example", "https://shared.example:443"
FAILURES = [
    pytest.param(status(500), id="500"),
    pytest.param(RESET, id="reset"),
    pytest.param(Answer(15.0, failure=Kind.TIMEOUT, detail="no answer"), id="hangs"),
    pytest.param(status(404), id="404"),
    pytest.param(status(429, retry_after="3600"), id="429"),
]


class Host:
    """A host at which each application has paths of its own; some of them fail."""

    def __init__(self, service: VirtualService) -> None:
        self._service = service
        self.answers: dict[str, Answer] = {}
        """What an application is answered, by its name; all others are answered with 200."""
        self.asked: list[tuple[float, str]] = []
        service.sender.scripts[HOST] = self

    def __call__(self, request: Request, now: float) -> Answer:
        name = request.target.path.split("/")[1]
        self.asked.append((now, name))
        return self.answers.get(name, OK)

    async def tenant(
        self, name: str, endpoints: int = 1, *, environment: str = ENVIRONMENT
    ) -> Application:
        """An application with so many endpoints at this host."""
        owner = await self._service.add_application(environment=environment)
        for number in range(endpoints):
            path = f"/{name}/{number}"
            await self._service.add_endpoint(HOST, path=path, application=owner)
        return owner

    def levels(self) -> list[Origin]:
        """The levels of its origin that are shared at present."""
        return [level for level in self._service.dispatcher.origins if level.shared]


def waits(service: VirtualService, accepted: dict[str, float]) -> list[float]:
    """How long each of these messages waited for its first attempt; infinity if there is none."""
    first: dict[str, float] = {}
    for sent in service.sender.sent:
        first.setdefault(sent.message, sent.at)
    return [first.get(message, math.inf) - at for message, at in accepted.items()]


async def send_slowly(
    service: VirtualService, owner: Application, *, every: float, lasting: float
) -> dict[str, float]:
    """Send a message now and then; when each was accepted."""
    accepted: dict[str, float] = {}
    for _ in range(int(lasting / every)):
        (message,) = await service.add(application=owner)
        accepted[message] = service.now()
        await asyncio.sleep(every)
    return accepted


async def neighbours(answer: Answer | None, environment: str) -> list[float]:
    """How long messages of B waited beside 40 endpoints of A that answer like this, or are silent.

    B sends seldom: its lane is at rest in between.
    """
    async with virtual_service() as service:
        host = Host(service)
        await service.store.put(Environment(environment))
        a, b = await host.tenant("a", 40), await host.tenant("b", environment=environment)
        if answer is not None:
            host.answers["a"] = answer
            for _ in range(60):
                await service.add(application=a)
                await asyncio.sleep(1)
        accepted: dict[str, float] = {}
        for _ in range(60):
            accepted |= await send_slowly(service, b, every=1.0, lasting=1.0)
            for _ in range(4):
                if answer is not None:
                    await service.add(application=a)
                await asyncio.sleep(1)
        return waits(service, accepted)


def p99(found: list[float]) -> float:
    return sorted(found)[int(0.99 * (len(found) - 1))]


@pytest.mark.parametrize("answer", FAILURES)
@pytest.mark.parametrize("environment", [ENVIRONMENT, "org_another"])
def test_40_failing_urls_of_a_tenant_do_not_delay_another(answer: Answer, environment: str) -> None:
    quiet = run_virtual(neighbours(None, environment))
    found = run_virtual(neighbours(answer, environment))
    assert len(found) == 60
    assert max(found) <= 2
    assert p99(found) <= 2 * max(p99(quiet), 0.001)


@virtually
async def test_a_tenant_that_fails_is_probed_as_one_and_the_other_goes_on() -> None:
    async with virtual_service() as service:
        host = Host(service)
        a, b = await host.tenant("a", 40), await host.tenant("b")
        host.answers["a"] = status(500)
        await service.add(5, application=a)
        await asyncio.sleep(10)
        (level,) = host.levels()
        assert (level.application, level.gate.phase) == (a.id, Phase.OPEN)
        accepted = await send_slowly(service, b, every=5.0, lasting=600)
        assert max(waits(service, accepted)) <= 0.1
        assert not service.dispatcher.origins.group(AT, b.id).lanes  # at rest by then
        assert sum(name == "a" for at, name in host.asked if at > service.now() - 600) <= 25
        host.answers.clear()
        await asyncio.sleep(120)
        assert not host.levels()
        assert sum(sent.answer is OK for sent in service.sender.sent) == 120 + 200


@pytest.mark.parametrize("answer", FAILURES)
@virtually
async def test_three_tenants_that_fail_do_not_delay_a_fourth(answer: Answer) -> None:
    async with virtual_service() as service:
        host = Host(service)
        failing = [await host.tenant(f"a{number}", 5) for number in range(3)]
        b = await host.tenant("b")
        await service.add(application=b)
        await asyncio.sleep(30)
        for number in range(3):
            host.answers[f"a{number}"] = answer
        loud = [
            asyncio.create_task(send_slowly(service, owner, every=7.0, lasting=900))
            for owner in failing
        ]
        await asyncio.sleep(20)
        accepted = await send_slowly(service, b, every=5.0, lasting=600)
        found = waits(service, accepted)
        assert max(found) <= 2
        for task in loud:
            task.cancel()


@pytest.mark.parametrize("answer", FAILURES)
@pytest.mark.parametrize("urls", [1, 40])
def test_beside_a_tenant_that_stays_down_another_comes_back_as_fast_as_alone(
    answer: Answer, urls: int
) -> None:
    async def drained_in(failing: Answer) -> float:
        """How long 500 deliveries of B took after an outage of all, from the first to the last."""
        async with virtual_service() as service:
            host = Host(service)
            a, b = await host.tenant("a", urls), await host.tenant("b", 5)
            host.answers = {"a": DOWN, "b": DOWN}
            await service.add(20, application=a)
            messages = set(await service.add(100, application=b))
            await asyncio.sleep(300)
            host.answers = {"a": failing}
            await asyncio.sleep(120)
            taken = [
                sent.at
                for sent in service.sender.sent
                if sent.answer is OK and sent.message in messages
            ]
            assert len(taken) == 500
            return max(taken) - min(taken)

    assert run_virtual(drained_in(answer)) <= 1.5 * run_virtual(drained_in(OK))


@virtually
async def test_a_dead_gateway_of_500_applications_is_probed_as_one() -> None:
    async with virtual_service() as service:
        host = Host(service)
        owners = [await host.tenant(f"t{number}", 2) for number in range(500)]
        host.answers = {f"t{number}": DOWN for number in range(500)}
        for owner in owners:
            await service.add(application=owner)
        await asyncio.sleep(5)
        (level,) = host.levels()
        assert (level.application, level.gate.phase) == ("", Phase.OPEN)
        del host.asked[:]
        await asyncio.sleep(595)
        assert len(host.asked) <= 30
        host.answers.clear()
        await asyncio.sleep(120)
        assert not host.levels()
        assert sum(sent.answer is OK for sent in service.sender.sent) == 1000
