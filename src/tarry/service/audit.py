"""Who acts, for the audit trail."""

from collections.abc import Callable
from copy import copy
from typing import Self

from tarry.service.model import ids
from tarry.service.model.audit import Action, ActorKind


class Actors:
    """The part of `Hooks` about who acts.

    Who acts is handed to every method of the store that changes something, as `by`. It is not in a
    context variable, so that a reader of such a call sees it, and a call without it shows.
    """

    environment: str
    _now: Callable[[], float]
    _chance: Callable[[int], bytes]

    action: Action | None = None
    """What somebody does with these hooks; None if a program uses them for its own purposes."""

    def acting(
        self,
        actor: ActorKind,
        operation: str,
        *,
        key: str | None = None,
        address: str | None = None,
        chance: bytes | None = None,
    ) -> Self:
        """Return a copy whose changes go into the audit trail as those of this actor.

        Without `chance`, the ids of the entries are random.
        """
        other = copy(self)
        other.action = Action(
            environment=self.environment,
            at=self._now(),
            actor=actor,
            key=key,
            operation=operation,
            address=address,
            chance=chance or self._chance(ids.CHANCE),
        )
        return other

    def for_command(self, command: str) -> Self:
        """Return a copy whose changes are those of a command that works on the database itself."""
        return self.acting(ActorKind.COMMAND_LINE, command)

    def by(self, method: str) -> Action:
        """Return who acts: as `acting` said, or else a program that calls this method."""
        if self.action is not None:
            return self.action
        return Action(
            environment=self.environment,
            at=self._now(),
            actor=ActorKind.PROGRAM,
            operation=method,
            chance=self._chance(ids.CHANCE),
        )
