"""A request under an idempotency key is carried out once, however often and wherever it comes."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from msgspec.structs import replace

from tarry.core.backoff import Exponential
from tarry.errors import Conflict, StoreError, TarryError
from tarry.service.api.problem import Answer
from tarry.service.model.claim import Claim
from tarry.service.store.registry import Registry
from tarry.service.wire.seal import Place, Seals

IDEMPOTENCY_KEY = "idempotency key"
CLAIMED_FOR = 30.0
"""Seconds after which whoever carries a request out counts as gone, and the next one does it."""
LOOKS = Exponential(base=0.01, cap=0.25)
"""The waits between looks for the response of another process that carries out the request."""


class Once:
    """Claims requests by their keys; in the database, so for all processes at once."""

    def __init__(
        self,
        registry: Registry,
        *,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._registry, self._now, self._sleep = registry, now, sleep

    async def answer(
        self,
        environment: str,
        key: str,
        fingerprint: bytes,
        work: Callable[[Claim], Awaitable[Answer]],
        *,
        seals: Seals | None = None,
    ) -> Answer:
        """The answer of `work`, or the one it gave before; only what succeeded is kept.

        What was refused is forgotten. Of whatever else went wrong nobody knows how far it came: who
        asks again carries out the same. With `seals` an answer is kept sealed. Conflict if another
        request came under the same key.
        """
        claim = await self._claimed(environment, key, fingerprint)
        place = Place(environment, key, "answer")
        if claim.status is not None:
            said = claim.body if seals is None else seals.open(claim.body, place)
            return claim.status, {"content-type": "application/json"} if said else {}, said
        known = False
        try:
            answer = await work(claim)
            status, _, body = answer
            if status < HTTPStatus.MULTIPLE_CHOICES:
                kept = body if seals is None else seals.seal(body, place)
                await self._registry.answer(replace(claim, status=status, body=kept))
            else:
                await self._registry.release_claim(claim)
            known = True
        except TarryError as error:
            if not isinstance(error, StoreError):
                await self._registry.release_claim(claim)
                known = True
            raise
        finally:
            if not known:
                await self._registry.lapse_claim(claim)
        return answer

    async def _claimed(self, environment: str, key: str, fingerprint: bytes) -> Claim:
        """The claim once it is ours, or has an answer."""
        holder, looks = os.urandom(16).hex(), 0
        while True:
            now = self._now()
            claim = await self._registry.claim(
                Claim(
                    environment=environment,
                    key=key,
                    fingerprint=fingerprint,
                    at=now,
                    holder=holder,
                    until=now + CLAIMED_FOR,
                ),
                now=now,
            )
            if claim.fingerprint != fingerprint:
                raise Conflict("request", key.partition(" ")[2] or key, IDEMPOTENCY_KEY)
            if claim.status is not None or claim.holder == holder:
                return claim
            looks += 1
            await self._sleep(LOOKS.curve(looks))
