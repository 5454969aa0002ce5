"""Idempotency: execute a request with an idempotency key once, in whichever process it arrives."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from msgspec.structs import replace

from tarry.core.backoff import Exponential
from tarry.errors import Conflict, StoreError, TarryError
from tarry.service.api.http.kept_answers import KeptAnswers
from tarry.service.api.http.problem import Answer, problem
from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.store.contract import Admission
from tarry.service.wire.seal import Place, Seals

IDEMPOTENCY_KEY = "idempotency key"
CLAIMED_FOR = 30.0
"""Seconds after which a process that executes a request counts as dead, and another takes over."""
RESPONSE_CHECKS = Exponential(base=0.01, cap=0.25)
"""The waits between checks for the response, while another process executes the request."""


class Idempotency:
    """Claims requests by their idempotency keys, in the database and so for all processes."""

    def __init__(
        self,
        admission: Admission,
        *,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        kept: KeptAnswers | None = None,
        application: str | None = None,
    ) -> None:
        self._admission, self._now, self._sleep = admission, now, sleep
        self._kept = kept or KeptAnswers(now)
        self._application = application

    def about(self, application: str | None) -> "Idempotency":
        """Return a copy that counts the responses it stores as those of an application."""
        return Idempotency(
            self._admission,
            now=self._now,
            sleep=self._sleep,
            kept=self._kept,
            application=application,
        )

    async def answer(
        self,
        environment: str,
        key: str,
        fingerprint: bytes,
        work: Callable[[Claim], Awaitable[Answer]],
        *,
        seals: Seals | None = None,
    ) -> Answer:
        """Return the response of `work`, or the stored one of its earlier execution.

        Only successful responses are stored. After a refusal the claim is released, and the key is
        free again. After any other failure it is unknown how far `work` came. Then the claim is
        kept but lapses, and the next request with this key executes the same work with the same
        ids. A response that is too large, or one too many for its application, is not stored: a
        repeated request then gets a 409 that says so. With `seals`, responses are stored sealed.
        Conflict if the key was used for a different request.
        """
        claim = await self._claimed(environment, key, fingerprint)
        place = Place(environment, key, "answer")
        if claim.status is not None:
            body = claim.body if seals is None else seals.open(claim.body, place)
            return claim.status, {"content-type": "application/json"} if body else {}, body
        is_claim_closed = False
        try:
            answer = await work(claim)
            status, _, body = answer
            if status < HTTPStatus.MULTIPLE_CHOICES:
                kept_status, kept = status, body
                if body and not self._kept.add(self._application, len(body)):
                    kept_status, _, kept = _not_kept(status)
                stored = kept if seals is None else seals.seal(kept, place)
                await self._admission.end_claim(
                    replace(claim, status=kept_status, body=stored), ClaimEnd.ANSWERED
                )
            else:
                await self._admission.end_claim(claim, ClaimEnd.RELEASED)
            is_claim_closed = True
        except TarryError as error:
            if not isinstance(error, StoreError):
                await self._admission.end_claim(claim, ClaimEnd.RELEASED)
                is_claim_closed = True
            raise
        finally:
            if not is_claim_closed:
                await self._admission.end_claim(claim, ClaimEnd.LAPSED)
        return answer

    async def _claimed(self, environment: str, key: str, fingerprint: bytes) -> Claim:
        """Return the claim as soon as this process holds it or it has a response."""
        holder, checks = os.urandom(16).hex(), 0
        while True:
            now = self._now()
            claim = await self._admission.claim(
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
            checks += 1
            await self._sleep(RESPONSE_CHECKS.curve(checks))


def _not_kept(status: int) -> Answer:
    """Return the response to a repeated request whose first response was not stored."""
    detail = (
        f"this request was carried out before and answered with {status}; its answer was not kept,"
        " because it was too large or there were too many: read the object instead"
    )
    return problem(HTTPStatus.CONFLICT, "answer_not_kept", detail)
