"""Steps of the HTTP API, done by hand: they do something, and to both stores."""

from collections.abc import Callable
from functools import partial

from tarry.service.model.claim import ClaimEnd
from tarry.service.model.key import Key
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Keys
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import ENVIRONMENT
from tarry.testing.store_machine import StoreMachine
from tarry.testing.store_machine.people import MOST_OF_EACH, Draft
from tarry.testing.store_machine.sides import Side

Machine = Callable[[type[MemoryStore]], type[StoreMachine]]

PLAIN: Draft = (0, "a", (), None, None, b"", None, None)


def test_a_claim_is_made_taken_over_and_ended(machine: Machine) -> None:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN])
    play.claim_a_key(holder="process-1", key="order-1", body=b"a", length=1.0)
    play.end_a_claim(holder="process-2", key="order-1", end=ClaimEnd.ANSWERED)
    play.let_time_pass(seconds=5.0)
    play.claim_a_key(holder="process-2", key="order-1", body=b"a", length=1.0)
    play.end_a_claim(holder="process-2", key="order-1", end=ClaimEnd.ANSWERED)
    claim = play.claims["process-2", "order-1"]
    stored = play.ask(lambda side: side.store.claim(claim, now=play.now))
    assert stored is not None
    assert (stored.holder, stored.status) == ("process-2", 201)
    play.teardown()


def test_keys_are_created_looked_up_and_revoked(machine: Machine) -> None:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN])
    play.look_an_api_key_up(which=0)
    play.revoke_an_api_key(which=0, delay=0.0)
    assert play.api_keys == []
    play.create_an_api_key(application_index=None, session=None, lifetime=None)
    for _ in range(MOST_OF_EACH):
        play.create_an_api_key(application_index=0, session="phone", lifetime=5.0)
    assert len(play.api_keys) == MOST_OF_EACH
    play.revoke_an_api_key(which=0, delay=0.0)
    play.revoke_api_keys(application_index=0, chosen=["phone"], delay=0.0)
    play.look_an_api_key_up(which=0)
    for created in play.api_keys:
        key = play.ask(partial(_find_key, hashed=created.hash))
        assert key is not None
        assert key.revoked_at == play.now
    page = play.ask(lambda side: side.store.page(Keys(ENVIRONMENT), Cut()))
    assert page is not None
    assert [key.id for key in page.entries] == [play.api_keys[0].id]
    play.teardown()


async def _find_key(side: Side, hashed: bytes) -> Key:
    return await side.store.key(hashed)
