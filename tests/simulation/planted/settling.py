"""Bugs in settlements of attempts."""

from collections.abc import Sequence

from msgspec.structs import replace

from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import Reason, State
from tests.simulation.planted.bug import Bug, Commit

Settlements = Sequence[Settlement | Resent]


class _Rewritten(Bug):
    """Writes other settlements than the worker's."""

    def settle(
        self, commit: Commit, settlements: Settlements, changes: object, leases: object
    ) -> object:
        """Settle otherwise."""
        return commit(
            [one if isinstance(one, Resent) else self._instead(one) for one in settlements],
            changes,
            leases,
        )

    def _instead(self, settlement: Settlement) -> Settlement:
        raise NotImplementedError


class LostSettlement(Bug):
    """A settlement that was acknowledged is on disk."""

    story = "every fourth batch of settlements is dropped, and nobody hears of it"

    def __init__(self) -> None:
        super().__init__()
        self._batches = 0

    def settle(
        self, commit: Commit, settlements: Settlements, changes: object, leases: object
    ) -> object:
        """Drop one in four."""
        self._batches += 1
        if self._batches % 4:
            return commit(settlements, changes, leases)
        return [True] * len(settlements)


class DeliveredOnFailure(_Rewritten):
    """Only a message that an endpoint accepted is delivered."""

    story = "a failed attempt is written down as a delivery"

    def _instead(self, settlement: Settlement) -> Settlement:
        if settlement.state is not State.WAITING:
            return settlement
        return replace(settlement, state=State.DELIVERED, reason=Reason.DELIVERED, due_at=None)


class GivenUpEarly(_Rewritten):
    """A delivery has all the attempts of its policy."""

    story = "a delivery is given up after its first failure"

    def _instead(self, settlement: Settlement) -> Settlement:
        if settlement.state is not State.WAITING:
            return settlement
        return replace(settlement, state=State.FAILED, reason=Reason.EXHAUSTED, due_at=None)


class RefundedTooMuch(_Rewritten):
    """A delivery's own failure counts as an attempt."""

    story = "an attempt that failed by itself is never counted"

    def _instead(self, settlement: Settlement) -> Settlement:
        return replace(settlement, attempts=0)


class OutageCounted(_Rewritten):
    """A failure in an outage does not count as an attempt."""

    story = "an attempt in an outage counts, so that the outage uses up a delivery"

    def _instead(self, settlement: Settlement) -> Settlement:
        if settlement.state is not State.READY or settlement.attempt is None:
            return settlement
        counted = settlement.attempt.number
        if counted < 9:
            return replace(settlement, attempts=counted)
        return replace(settlement, state=State.FAILED, reason=Reason.EXHAUSTED, attempts=counted)
