"""Steps of the HTTP API: it claims idempotency keys, and creates, changes and revokes API keys."""

from collections.abc import Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.model.key import Key, Scope
from tarry.service.store.kinds import Keys
from tarry.testing.samples import ENVIRONMENT
from tarry.testing.store_machine.people import MOST_OF_EACH, offsets, picks
from tarry.testing.store_machine.state import Machine
from tarry.testing.store_machine.step import step

holders = st.sampled_from(["process-1", "process-2"])
idempotency_keys = st.sampled_from(["order-1", "order-2"])
sessions = st.sampled_from([None, "browser", "phone"])


class AdmissionSteps(Machine):
    """What the HTTP API does to admit callers, and to carry each request out once."""

    @step(holder=holders, key=idempotency_keys, body=st.sampled_from([b"a", b"b"]), length=offsets)
    def claim_a_key(self, holder: str, key: str, body: bytes, length: float) -> None:
        """Claim an idempotency key, which may have another holder, or an answer."""
        claim = Claim(
            environment=ENVIRONMENT,
            key=key,
            fingerprint=body,
            at=self.now,
            holder=holder,
            until=self.now + length,
        )
        self.ask(lambda side: side.store.claim(claim, now=self.now))
        self.claims[holder, key] = claim

    @step(holder=holders, key=idempotency_keys, end=st.sampled_from(ClaimEnd))
    def end_a_claim(self, holder: str, key: str, end: ClaimEnd) -> None:
        """End a claim that this holder made; another one may hold the key by now."""
        claim = self.claims.get((holder, key))
        if claim is not None:
            answered = replace(claim, status=201, body=b"{}")
            self.ask(lambda side: side.store.end_claim(answered, end))

    @step(application_index=st.none() | picks, session=sessions, lifetime=st.none() | offsets)
    def create_an_api_key(
        self, application_index: int | None, session: str | None, lifetime: float | None
    ) -> None:
        """Create a key to the environment or to one application, if there are few."""
        if len(self.api_keys) == MOST_OF_EACH:
            return
        key_id = self.id("key_")
        admits_to = (
            None
            if application_index is None
            else self.pick_one(self.applications, application_index).id
        )
        key = Key(
            id=key_id,
            environment=ENVIRONMENT,
            hash=key_id.encode(),
            scopes=(Scope.READ,),
            application=admits_to,
            session=session,
            created_at=self.now,
            expires_at=None if lifetime is None else self.now + lifetime,
        )
        by = self.act()
        self.ask(lambda side: side.store.create(key, by=by))
        self.api_keys.append(key)

    @step(which=picks, delay=offsets)
    def revoke_an_api_key(self, which: int, delay: float) -> None:
        """Revoke a key of the environment, now or later."""
        if self.api_keys:
            key, by = self.pick_one(self.api_keys, which), self.act()
            self.ask(
                lambda side: side.store.change(
                    Keys(ENVIRONMENT), key.id, lambda stored: stored.revoked(self.now, delay), by=by
                )
            )

    @step(
        application_index=picks,
        chosen=st.none() | st.lists(sessions.filter(bool), max_size=2),
        delay=offsets,
    )
    def revoke_api_keys(
        self, application_index: int, chosen: Sequence[str] | None, delay: float
    ) -> None:
        """Revoke the keys to an application, all or those of some sessions."""
        application, by = self.pick_one(self.applications, application_index), self.act()
        self.ask(
            lambda side: side.store.revoke_keys(
                application.id, sessions=chosen, now=self.now, delay=delay, by=by
            )
        )

    @step(which=picks)
    def look_an_api_key_up(self, which: int) -> None:
        """Find a key by its hash, even if it was revoked or its application was deleted."""
        if self.api_keys:
            key = self.pick_one(self.api_keys, which)
            self.ask(lambda side: side.store.key(key.hash))
