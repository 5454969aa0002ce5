"""Claims: one caller at a time carries a request out, and it gets one answer."""

import asyncio

from msgspec.structs import replace

from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.store.contract import Retention, Store
from tarry.testing.samples import NOON, a_claim
from tarry.testing.store_contract.topic import Topic


class ClaimsContract(Topic):
    """Requests under an idempotency key."""

    async def test_a_free_key_goes_to_the_first_holder_that_claims_it(self, store: Store) -> None:
        first = a_claim("first")
        assert await store.claim(first, now=NOON) == first
        second = a_claim("second", at=NOON + 1, until=NOON + 11)
        assert await store.claim(second, now=NOON + 1) == first
        assert await store.claim(first, now=NOON + 1) == first, "the holder may claim again"

    async def test_of_concurrent_claims_of_a_key_one_succeeds(
        self, store: Store, other: Store
    ) -> None:
        claims = [a_claim(f"holder-{number}", at=NOON + number) for number in range(50)]
        answers = await asyncio.gather(
            *(
                (store if number % 2 else other).claim(claim, now=NOON)
                for number, claim in enumerate(claims)
            )
        )
        assert len({answer.holder for answer in answers}) == 1, "all callers get the same holder"
        assert (
            sum(_holds(claim, answer) for claim, answer in _claims_with_answers(claims, answers))
            == 1
        )

    async def test_whose_time_is_up_is_replaced_by_one_of_many(
        self, store: Store, other: Store
    ) -> None:
        ended_claim = await store.claim(a_claim("gone"), now=NOON)
        later = NOON + 10
        claims = [a_claim(f"holder-{number}", at=later, until=later + 10) for number in range(50)]
        answers = await asyncio.gather(
            *(
                (store if number % 2 else other).claim(claim, now=later)
                for number, claim in enumerate(claims)
            )
        )
        (held,) = (
            answer
            for claim, answer in _claims_with_answers(claims, answers)
            if _holds(claim, answer)
        )
        assert held == replace(ended_claim, holder=held.holder, until=later + 10)

    async def test_no_holder_is_replaced_before_its_claim_expires(self, store: Store) -> None:
        first = await store.claim(a_claim("first"), now=NOON)
        assert await store.claim(a_claim("second"), now=NOON + 9.999) == first

    async def test_another_request_under_the_key_never_gets_it(self, store: Store) -> None:
        first = await store.claim(a_claim("first"), now=NOON)
        stranger = a_claim("stranger", fingerprint=b"another", until=NOON + 99)
        assert await store.claim(stranger, now=NOON + 50) == first
        again = await store.claim(a_claim("again", until=NOON + 99), now=NOON + 50)
        assert again.holder == "again", "the same request takes over a claim that ran out"

    async def test_a_saved_answer_is_returned_to_every_later_claim(
        self, store: Store, other: Store
    ) -> None:
        claim = await store.claim(a_claim("first"), now=NOON)
        answered = replace(claim, status=201, body=b'{"id": 1}\x00\xff')
        await store.end_claim(answered, ClaimEnd.ANSWERED)
        assert await other.claim(a_claim("second"), now=NOON + 1) == answered
        late = a_claim("third", at=NOON + 99, until=NOON + 109)
        assert await other.claim(late, now=NOON + 99) == answered, "an answer does not run out"

    async def test_an_answer_is_given_once(self, store: Store) -> None:
        claim = await store.claim(a_claim("first"), now=NOON)
        await store.end_claim(replace(claim, status=201, body=b"one"), ClaimEnd.ANSWERED)
        await store.end_claim(replace(claim, status=500, body=b"two"), ClaimEnd.ANSWERED)
        answer = await store.claim(claim, now=NOON)
        assert (answer.status, answer.body) == (201, b"one")

    async def test_the_answer_of_a_replaced_holder_is_dropped(self, store: Store) -> None:
        late = await store.claim(a_claim("late"), now=NOON)
        taken = await store.claim(a_claim("next", until=NOON + 30), now=NOON + 11)
        await store.end_claim(replace(late, status=500, body=b"too late"), ClaimEnd.ANSWERED)
        assert await store.claim(late, now=NOON + 12) == taken
        await store.end_claim(replace(taken, status=201), ClaimEnd.ANSWERED)
        assert (await store.claim(late, now=NOON + 12)).status == 201

    async def test_a_holder_that_was_not_replaced_may_answer_late(self, store: Store) -> None:
        late = await store.claim(a_claim("late"), now=NOON)
        await store.end_claim(replace(late, status=201, body=b"at last"), ClaimEnd.ANSWERED)
        assert (await store.claim(a_claim("next"), now=NOON + 99)).body == b"at last"

    async def test_a_holder_that_gives_up_its_claim_leaves_nothing(self, store: Store) -> None:
        first = await store.claim(a_claim("first"), now=NOON)
        await store.end_claim(first, ClaimEnd.RELEASED)
        second = a_claim("second", fingerprint=b"another", at=NOON + 1)
        assert await store.claim(second, now=NOON + 1) == second

    async def test_only_the_holder_can_let_go_and_not_after_the_answer(self, store: Store) -> None:
        first = await store.claim(a_claim("first"), now=NOON)
        await store.end_claim(a_claim("second"), ClaimEnd.RELEASED)
        assert await store.claim(a_claim("second"), now=NOON) == first
        answered = replace(first, status=204)
        await store.end_claim(answered, ClaimEnd.ANSWERED)
        await store.end_claim(first, ClaimEnd.RELEASED)
        assert await store.claim(a_claim("second"), now=NOON) == answered

    async def test_a_holder_with_an_unknown_outcome_lets_the_next_one_repeat(
        self, store: Store
    ) -> None:
        first = await store.claim(a_claim("first"), now=NOON)
        await store.end_claim(a_claim("second"), ClaimEnd.LAPSED)
        assert await store.claim(a_claim("second"), now=NOON) == first, (
            "only the holder ends a claim"
        )
        await store.end_claim(first, ClaimEnd.LAPSED)
        other = await store.claim(a_claim("third", fingerprint=b"another"), now=NOON)
        assert other.fingerprint == first.fingerprint
        second = a_claim("second", at=NOON + 1, until=NOON + 11)
        taken = await store.claim(second, now=NOON + 1)
        assert taken == replace(second, at=first.at)
        await store.end_claim(replace(taken, status=201), ClaimEnd.ANSWERED)
        await store.end_claim(taken, ClaimEnd.LAPSED)
        assert (await store.claim(first, now=NOON + 1)).status == 201

    async def test_a_key_without_a_claim_cannot_be_answered(self, store: Store) -> None:
        await store.end_claim(a_claim("first", status=201), ClaimEnd.ANSWERED)
        assert (await store.claim(a_claim("second"), now=NOON)).holder == "second"

    async def test_a_key_is_one_environments(self, store: Store) -> None:
        await store.claim(a_claim("first"), now=NOON)
        foreign_claim = a_claim("second", environment="org_other")
        assert await store.claim(foreign_claim, now=NOON) == foreign_claim

    async def test_a_new_claim_is_stored_without_an_answer(self, store: Store) -> None:
        answer = await store.claim(a_claim("first", status=201, body=b"forged"), now=NOON)
        assert (answer.status, answer.body) == (None, b"")

    async def test_old_claims_are_forgotten_answered_or_not(self, store: Store) -> None:
        for number, at in enumerate((NOON - 2, NOON - 1, NOON)):
            claim = await store.claim(a_claim("first", key=f"order-{number}", at=at), now=NOON)
            if number:
                await store.end_claim(replace(claim, status=201), ClaimEnd.ANSWERED)
        old = Retention(claims_before=NOON)
        assert await store.sweep(old, limit=1) == 1
        assert await store.sweep(old, limit=9) == 1
        assert await store.sweep(old, limit=9) == 0
        again = [a_claim("second", key=f"order-{number}") for number in range(3)]
        answers = [await store.claim(claim, now=NOON) for claim in again]
        assert [claim.holder for claim in answers] == ["second", "second", "first"]


def _claims_with_answers(claims: list[Claim], answers: list[Claim]) -> list[tuple[Claim, Claim]]:
    return list(zip(claims, answers, strict=True))


def _holds(claim: Claim, answer: Claim) -> bool:
    return claim.holder == answer.holder and answer.status is None
