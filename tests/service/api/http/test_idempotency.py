import asyncio

import pytest

from tarry.errors import Conflict, StoreUnavailable
from tarry.service.api.http.idempotency import CLAIMED_FOR, Idempotency
from tarry.service.api.http.kept_answers import MOST_ANSWER
from tarry.service.api.http.problem import Answer, json_answer
from tarry.service.hooks import Hooks
from tarry.service.model.claim import Claim, ClaimEnd

pytestmark = pytest.mark.anyio

ENVIRONMENT = "org_1"


class Work:
    """Answers with how often it was done."""

    def __init__(self, status: int = 200) -> None:
        self.claims: list[Claim] = []
        self.status = status

    async def __call__(self, claim: Claim) -> Answer:
        self.claims.append(claim)
        await asyncio.sleep(0)
        return json_answer(self.status, {"done": len(self.claims)})


async def test_a_repetition_is_answered_as_the_first_one(hooks: Hooks) -> None:
    idempotency, work = Idempotency(hooks.store), Work(201)
    first = await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    assert await idempotency.answer(ENVIRONMENT, "k", b"f", work) == first
    assert len(work.claims) == 1
    await idempotency.answer("org_2", "k", b"f", work)
    assert len(work.claims) == 2, "each environment has its own keys"


async def test_what_is_secret_is_kept_sealed(hooks: Hooks) -> None:
    idempotency, work = Idempotency(hooks.store), Work()
    first = await idempotency.answer(ENVIRONMENT, "k", b"f", work, seals=hooks.seals)
    (claim,) = work.claims
    stored = await hooks.store.claim(claim, now=claim.at)
    assert stored.status == 200
    assert b"done" not in stored.body
    assert await idempotency.answer(ENVIRONMENT, "k", b"f", work, seals=hooks.seals) == first


async def test_of_many_at_once_one_works_and_all_hear_the_same(hooks: Hooks) -> None:
    idempotency, work = Idempotency(hooks.store), Work()
    requests = [idempotency.answer(ENVIRONMENT, "k", b"f", work) for _ in range(20)]
    answers = await asyncio.gather(*requests)
    assert len(work.claims) == 1
    assert all(answer == answers[0] for answer in answers)


async def test_another_request_under_the_same_key_is_a_conflict(hooks: Hooks) -> None:
    idempotency, work = Idempotency(hooks.store), Work()
    await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    with pytest.raises(Conflict, match="another request with the idempotency key 'k' already"):
        await idempotency.answer(ENVIRONMENT, "k", b"other", work)


async def test_what_did_not_succeed_is_done_again(hooks: Hooks) -> None:
    idempotency, work = Idempotency(hooks.store), Work(409)
    await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    assert len(work.claims) == 2


async def test_what_raises_is_done_again(hooks: Hooks) -> None:
    async def failing(_claim: Claim) -> Answer:
        raise Conflict("application", "shop")

    idempotency, work = Idempotency(hooks.store), Work()
    with pytest.raises(Conflict):
        await idempotency.answer(ENVIRONMENT, "k", b"f", failing)
    await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    assert len(work.claims) == 1


async def test_what_may_have_been_done_is_carried_out_as_the_same(hooks: Hooks) -> None:
    async def unsure(claim: Claim) -> Answer:
        await work(claim)
        raise StoreUnavailable("the commit was not heard of")

    now = 1_000.0
    idempotency, work = Idempotency(hooks.store, now=lambda: now), Work()
    with pytest.raises(StoreUnavailable):
        await idempotency.answer(ENVIRONMENT, "k", b"f", unsure)
    now += 1
    with pytest.raises(Conflict, match="another request with the idempotency key 'k' already"):
        await idempotency.answer(ENVIRONMENT, "k", b"other", work)
    await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    assert [claim.at for claim in work.claims] == [1_000.0, 1_000.0], "so it makes the same ids"


async def test_an_answer_that_could_not_be_kept_is_made_of_the_same_once_more(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_claim = hooks.store.end_claim

    async def unheard(claim: Claim, end: ClaimEnd) -> None:
        if end is ClaimEnd.ANSWERED:
            raise StoreUnavailable("the commit was not heard of")
        await end_claim(claim, end)

    now = 1_000.0
    idempotency, work = Idempotency(hooks.store, now=lambda: now), Work()
    with monkeypatch.context() as patched:
        patched.setattr(hooks.store, "end_claim", unheard)
        with pytest.raises(StoreUnavailable):
            await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    now += 1
    await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    assert [claim.at for claim in work.claims] == [1_000.0, 1_000.0]


async def test_whoever_died_over_it_is_replaced_with_the_first_time_kept(hooks: Hooks) -> None:
    now = 1_000.0
    idempotency, work = Idempotency(hooks.store, now=lambda: now), Work()
    dead = Claim(
        environment=ENVIRONMENT,
        key="k",
        fingerprint=b"f",
        at=now,
        holder="gone",
        until=now + CLAIMED_FOR,
    )
    await hooks.store.claim(dead, now=now)
    now += CLAIMED_FOR + 1
    await idempotency.answer(ENVIRONMENT, "k", b"f", work)
    assert work.claims[0].at == 1_000.0


async def test_an_answer_that_is_too_large_is_not_kept_and_its_request_not_repeated(
    hooks: Hooks,
) -> None:
    done = list[Claim]()

    async def work(claim: Claim) -> Answer:
        done.append(claim)
        return json_answer(201, "x" * MOST_ANSWER)

    idempotency = Idempotency(hooks.store)
    for seals in (None, hooks.seals):
        done.clear()
        key = f"k{seals is None}"
        assert (await idempotency.answer(ENVIRONMENT, key, b"f", work, seals=seals))[0] == 201
        status, _, body = await idempotency.answer(ENVIRONMENT, key, b"f", work, seals=seals)
        assert (status, len(done)) == (409, 1)
        assert b"answer_not_kept" in body
        assert b"answered with 201" in body
        stored = await hooks.store.claim(done[0], now=done[0].at)
        assert len(stored.body) < 500
