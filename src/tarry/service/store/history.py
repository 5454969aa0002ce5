"""The contract for messages, their deliveries and attempts, and requests to change them."""

from typing import Protocol

from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message


class History(Protocol):
    """Messages, deliveries and attempts. `known_as` takes an id or an event id."""

    async def message(self, application: str, known_as: str) -> Message:
        """Return the message with this id or event id; NotFound if there is none."""

    async def deliveries(self, message: str) -> list[tuple[Endpoint, Delivery]]:
        """Return all deliveries of a message by endpoint id, deleted endpoints included."""

    async def undelivered(
        self,
        application: str,
        *,
        lane: int | None = None,
        after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[tuple[Endpoint, Delivery]]:
        """Return live or FAILED deliveries after `after`, by lane and sequence; all or one lane."""

    async def undelivered_in(
        self, environment: str, *, after: tuple[int, int] = (0, 0), limit: int = 50
    ) -> list[tuple[Endpoint, Delivery]]:
        """Return the same for all applications of an environment except deleted ones."""

    async def attempts(self, message: str) -> list[Attempt]:
        """Return all attempts of a message, by id."""

    async def counts(self, lane: int) -> dict[State, int]:
        """Return how many deliveries of a lane are in each state; zeros may be left out."""

    async def notices(self, *, after: str = "", limit: int = 50) -> list[Notice]:
        """Return notices to endpoint owners, by id, after the id `after`."""

    async def cancel(self, application: str, message: str, *, now: float) -> int:
        """End a message's live deliveries as CANCELLED; return their number.

        NotFound if the application has no such message.
        """

    async def resend(self, endpoint: Endpoint, message: str, *, resend: str) -> None:
        """Request one more attempt before all other deliveries, and wake the lane.

        `resend` is the id of the request. Raises NotFound if the endpoint's application has no such
        message, or if the endpoint is deleted.
        """
