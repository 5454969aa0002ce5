import asyncio

import pytest

from tarry.errors import StoreUnavailable
from tarry.service.api.http.readiness import REMEMBERED, Readiness

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("fails", [True, False])
async def test_an_answer_is_given_again_for_a_moment(*, fails: bool) -> None:
    now, checks = 100.0, 0

    async def check() -> None:
        nonlocal checks
        checks += 1
        await asyncio.sleep(0)
        if fails:
            raise StoreUnavailable("the disk is full")

    readiness = Readiness(check, lambda: now)

    async def ask() -> None:
        if fails:
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                await readiness.check()
        else:
            await readiness.check()

    await asyncio.gather(*(ask() for _ in range(10)))
    await ask()
    assert checks == 1
    now += REMEMBERED
    await ask()
    assert checks == 2
