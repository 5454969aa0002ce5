"""The topic `audit` notices stores that break its rules."""

import os
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tarry.service.model.audit import Action, Target
from tarry.service.store.memory import MemoryStore
from tarry.service.store.memory.data import Data
from tarry.testing.store_contract.audit import AuditContract

Try = Callable[..., None]

CHANGES = (
    "test_what_is_set_up_changed_and_deleted_is_in_the_audit_trail",
    "test_changes_of_the_environment_are_in_the_audit_trail",
    "test_what_people_do_with_messages_is_in_the_audit_trail",
    "test_a_standing_that_the_owner_of_a_lane_changes_is_in_the_audit_trail",
)


def store_on(data: type[Data]) -> type[MemoryStore]:
    """Memory stores with their data in such an object."""

    class Wrong(MemoryStore):
        def __init__(self, clock: Callable[[], float]) -> None:
            super().__init__(clock)
            self._data = data(clock)

    return Wrong


class Silent(Data):
    """Writes nothing."""

    def write_entry(self, by: Action | None, target: Target) -> None:
        """Write nothing."""


class Talkative(Data):
    """Writes values that may be secret."""

    def write_entry(self, by: Action | None, target: Target) -> None:
        told = tuple(replace(change, after="secret") for change in target.changes)
        super().write_entry(by, replace(target, changes=told or ()))


class Doubling(Data):
    """Writes another entry when an action is carried out again."""

    def write_entry(self, by: Action | None, target: Target) -> None:
        super().write_entry(by and replace(by, chance=os.urandom(17)), target)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("data", [Silent, Talkative])
def test_a_store_that_says_too_little_or_too_much_is_noticed(
    try_on: Try, name: str, data: type[Data]
) -> None:
    try_on(AuditContract, name)
    with pytest.raises((AssertionError, ValueError)):
        try_on(AuditContract, name, store_on(data))


def test_a_store_that_writes_twice_is_noticed(try_on: Try) -> None:
    name = "test_an_action_that_is_carried_out_again_is_in_the_audit_trail_once"
    try_on(AuditContract, name)
    with pytest.raises(ValueError, match="unpack"):
        try_on(AuditContract, name, store_on(Doubling))


def test_a_store_that_writes_what_it_refused_is_noticed(try_on: Try) -> None:
    class Hasty(MemoryStore):
        async def cancel(
            self, application: str, message: str, *, now: float, by: Action | None = None
        ) -> int:
            self._data.write_entry(by, Target("message", message, application))
            return await super().cancel(application, message, now=now)

    name = "test_a_refused_change_is_not_in_the_audit_trail"
    try_on(AuditContract, name)
    with pytest.raises(AssertionError):
        try_on(AuditContract, name, Hasty)
