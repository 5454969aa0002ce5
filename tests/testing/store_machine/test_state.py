"""The machine finds nothing wrong with a good store, and what is wrong with a bad one."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec.structs import replace

from tarry.service.model.application import shard_of
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.audit import Action
from tarry.service.model.claim import Claim
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Fetched, Lease, Noting, Want
from tarry.service.model.message import NewMessage
from tarry.service.store.memory import MemoryStore
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.ingest import Result
from tarry.testing.store_machine import StoreMachine

Machine = Callable[[type[MemoryStore]], type[StoreMachine]]

LOOK = settings(
    max_examples=1000,
    stateful_step_count=50,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
    report_multiple_bugs=False,
)


class NoFence(MemoryStore):
    """Settles a delivery regardless of its number of tries."""

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        return await super().settle(
            list(map(self._with_current_tries, settlements)), changes, leases
        )

    def _with_current_tries(self, settlement: Settlement | Resent) -> Settlement | Resent:
        if isinstance(settlement, Resent):
            return settlement
        deliveries = self._data.lanes[settlement.lane].deliveries
        if settlement.seq not in deliveries:
            return settlement
        return replace(settlement, tries=deliveries[settlement.seq].tries)


class AnyLease(MemoryStore):
    """Accepts every lease as a current one."""

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        shown = [lease.shard for lease in leases]
        current = [
            Lease(number, shard.epoch, shard.worker)
            for number, shard in enumerate(self._data.shards)
            if number in shown
        ]
        believed = [
            replace(settlement, epoch=_epoch(self._data, settlement, current))
            for settlement in settlements
        ]
        return await super().settle(believed, changes, current)


def _epoch(data: Data, settlement: Settlement | Resent, leases: Iterable[Lease]) -> int:
    """Return the epoch of the lease that covers the settlement's shard, or 0 without one."""
    shard = shard_of(data.lanes[settlement.lane].endpoint.application)
    return next((lease.epoch for lease in leases if lease.shard == shard), 0)


class AnyEpoch(MemoryStore):
    """Settles under a current lease what was sent under an earlier one."""

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        given = list(leases)
        current = [
            replace(settlement, epoch=_epoch(self._data, settlement, given))
            for settlement in settlements
        ]
        return await super().settle(current, changes, given)


class Sleepy(MemoryStore):
    """Puts a lane to rest although its owner does not know its last deliveries."""

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        return await super().rest(dict.fromkeys(lanes, 1_000_000), leases, doze=doze)


class Forgetful(MemoryStore):
    """Knows no idempotency keys."""

    async def add(self, messages: Sequence[NewMessage]) -> list[Result]:
        return await super().add([NewMessage(new.message) for new in messages])


class Reviving(MemoryStore):
    """Brings deleted endpoints back."""

    async def _put_endpoint(
        self,
        endpoint: Endpoint,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Endpoint:
        put = await super()._put_endpoint(endpoint, by=by, noting=noting, most=most)
        lane = self._data.lanes[put.lane]
        if put.standing is Standing.DELETED:
            lane.endpoint = replace(put, standing=Standing.DISABLED)
        return put


class Impatient(MemoryStore):
    """Returns deliveries some seconds before they are due."""

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        return await super().fetch(wants, now=now + 5.0, most_bytes=most_bytes)


class Credulous(MemoryStore):
    """Gives a claim to whoever asks."""

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        await super().claim(claim, now=now)
        return claim


class Lenient(MemoryStore):
    """Revokes only the keys of sessions that are named."""

    async def revoke_keys(
        self,
        application: str,
        *,
        sessions: Sequence[str] | None,
        now: float,
        delay: float = 0.0,
        by: Action | None = None,
    ) -> int:
        return await super().revoke_keys(
            application, sessions=sessions or [], now=now, delay=delay, by=by
        )


class Slandering(MemoryStore):
    """Says that somebody else cancelled a message."""

    async def cancel(
        self, application: str, message: str, *, now: float, by: Action | None = None
    ) -> int:
        another = None if by is None else replace(by, key="key_of_another")
        return await super().cancel(application, message, now=now, by=another)


def test_nothing_is_wrong_with_the_model_itself(machine: Machine) -> None:
    run_state_machine_as_test(machine(MemoryStore), settings=settings(LOOK, max_examples=5))


@pytest.mark.slow
@pytest.mark.timeout(900)  # some are found only after hundreds of examples
@pytest.mark.parametrize(
    "wrong",
    [
        *(NoFence, AnyLease, AnyEpoch, Sleepy, Forgetful),
        *(Reviving, Impatient, Credulous, Lenient, Slandering),
    ],
)
def test_what_is_wrong_with_a_store_is_found(machine: Machine, wrong: type[MemoryStore]) -> None:
    with pytest.raises(AssertionError, match="the model says"):
        run_state_machine_as_test(machine(wrong), settings=LOOK)
