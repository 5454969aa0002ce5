"""Bugs in deciding whose failure it is: the only ones that change the dispatcher itself."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest.mock import patch

from tarry.service.dispatch.origins.evidence import Failures
from tarry.service.dispatch.origins.origin import Origin
from tests.simulation.planted.bug import Bug


class OneTenantSpeaks(Bug):
    """The rule by which one tenant held up another: see issue 12."""

    story = "three failing endpoints of one tenant open a shared origin for all tenants"

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Count endpoints where applications have to be counted, and probe no healthy lane first.

        Probing them first would end the wait of a neighbour within a second.
        """
        with (
            patch.object(Failures, "of_several_applications", Failures.of_several_lanes),
            patch.object(Origin, "_is_promising", lambda _origin, _lane: False),
        ):
            yield


class LeakedHold(Bug):
    """A pause that an endpoint asks one tenant for holds up no other tenant."""

    story = "an endpoint that asks for a pause holds up all tenants of its origin"

    def planted(self) -> AbstractContextManager[object]:
        """Hold all endpoints of the origin."""

        def held(group: Origin, _lane: object, until: float, _now: float) -> None:
            for lane in (group.whole or group)._lanes():  # noqa: SLF001  of all applications
                lane.gate.hold(until)

        return patch.object(Origin, "held", held)
