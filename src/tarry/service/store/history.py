"""What a store must know of messages that came in, and what people may ask for them."""

from typing import Protocol

from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message


class History(Protocol):
    """Messages, and what became of them. Ids are ids, but for what is `known_as`."""

    async def message(self, application: str, known_as: str) -> Message:
        """The message with this id or event id; NotFound if there is none."""

    async def deliveries(self, message: str) -> list[tuple[Endpoint, Delivery]]:
        """All deliveries of a message, by endpoint id; deleted endpoints included."""

    async def undelivered(
        self,
        application: str,
        *,
        lane: int | None = None,
        after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[tuple[Endpoint, Delivery]]:
        """Deliveries that are live or FAILED, by lane and sequence, behind one; of one `lane`."""

    async def undelivered_in(
        self, environment: str, *, after: tuple[int, int] = (0, 0), limit: int = 50
    ) -> list[tuple[Endpoint, Delivery]]:
        """The same of all applications of an environment but for those that are deleted."""

    async def attempts(self, message: str) -> list[Attempt]:
        """All attempts of a message, by id."""

    async def counts(self, lane: int) -> dict[State, int]:
        """How many deliveries of a lane are in each state; those with none may be left out."""

    async def notices(self, *, after: str = "", limit: int = 50) -> list[Notice]:
        """What owners should hear of, by id, behind one."""

    async def cancel(self, application: str, message: str, *, now: float) -> int:
        """End a message's live deliveries as CANCELLED; how many. NotFound without the message."""

    async def resend(self, endpoint: Endpoint, message: str, *, resend: str) -> None:
        """Ask for one more attempt, first in line; `resend` is its id. Wakes the lane.

        NotFound if the message is not of the endpoint's application, or the endpoint is deleted.
        """
