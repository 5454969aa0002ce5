"""The log of a history: requests to the service, its actions, and the faults that happened.

The checker works from these entries. `at` is the true time, in seconds since the history began:
no simulated clock is used here.
"""

from msgspec import Struct

from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.task import Task


class Accepted(Struct, frozen=True, kw_only=True):
    """The commit was made that accepts a message. `endpoints` are the ids of those it goes to."""

    at: float
    message: str
    application: str
    endpoints: tuple[str, ...]
    scheduled_for: float | None = None
    """When it is to be delivered at the earliest, in true time."""
    key: str | None = None
    event_type: str = ""


class Acknowledged(Struct, frozen=True):
    """The sender of a message got the response that it was accepted."""

    at: float
    message: str


class ApplicationAdded(Struct, frozen=True):
    """The commit was made that adds an application. All its endpoints share its `rate`."""

    at: float
    application: str
    rate: float | None


class EndpointChanged(Struct, frozen=True):
    """The commit was made that adds or changes an endpoint, or a failover lost such a commit."""

    at: float
    endpoint: Endpoint


class Asked(Struct, frozen=True, kw_only=True):
    """The commit was made that stores a person's request.

    The requests: `resend`, `cancel`, `recover`, `replay`, `probe`. `recover` and `replay` are
    carried out later: each commit that does so is a `replayed`.
    """

    at: float
    wish: str
    endpoint: str | None = None
    message: str | None = None


class Requested(Struct, frozen=True, kw_only=True):
    """A worker began a request. `number` is the attempt's, as the request itself says.

    `is_down` says that the endpoint fails every request at that time.
    """

    at: float
    request: int
    worker: str
    endpoint: str
    host: str
    message: str
    number: int
    is_down: bool = False


class Answered(Struct, frozen=True, kw_only=True):
    """A request ended. A status of None is a timeout, or there was no connection.

    `heard` says that the worker was alive to receive the answer.
    """

    at: float
    request: int
    status: int | None
    retry_after: float | None = None
    heard: bool = True

    @property
    def is_success(self) -> bool:
        """Whether a worker received the answer that the endpoint accepted the message."""
        return self.heard and self.is_taken

    @property
    def is_taken(self) -> bool:
        """Whether the endpoint answered that it accepted the message."""
        return self.status is not None and 200 <= self.status < 300


class Fault(Struct, frozen=True, kw_only=True):
    """Something went wrong, and was over at `until`. Without a `process` it hit all of them.

    `seconds` is by how much a clock was set forward or back. With a `message` it is about that
    one alone.
    """

    at: float
    until: float
    kind: str
    process: str | None = None
    seconds: float = 0.0
    message: str | None = None


class Lost(Struct, frozen=True):
    """A failover lost all commits made after `since`."""

    at: float
    since: float


class Leased(Struct, frozen=True):
    """A worker was given a shard."""

    at: float
    worker: str
    shard: int
    epoch: int


class Settled(Struct, frozen=True, kw_only=True):
    """A settlement of an attempt was committed. `epoch` is the shard's at that moment."""

    at: float
    worker: str
    shard: int
    epoch: int
    endpoint: str
    message: str
    number: int
    state: State


class Waiting(Struct, frozen=True, kw_only=True):
    """An endpoint was seen that has deliveries to send while it has no request in flight.

    Nothing has happened there since `since`. `message` is the first of the `eligible` deliveries;
    `reason` and `next_at` (in true time) are what `explain` says of it. `gap` is the longest pause
    between two requests that the endpoint's limits and its pace account for.
    """

    at: float
    endpoint: str
    message: str
    eligible: int
    since: float
    reason: str
    next_at: float | None = None
    gap: float = 0.0
    fifo: bool = False


class Explained(Struct, frozen=True, kw_only=True):
    """What `explain` says of a delivery whose endpoint a person has stopped."""

    at: float
    endpoint: str
    message: str
    reason: str


class Crashed(Struct, frozen=True):
    """A process raised an exception that nothing caught."""

    at: float
    process: str
    error: str


class Stalled(Struct, frozen=True, kw_only=True):
    """The watchdog of a worker found lanes with ready deliveries that no worker would have sent."""

    at: float
    worker: str
    lanes: int


class Rested(Struct, frozen=True, kw_only=True):
    """For `seconds` nothing was left to deliver, and these calls reached the store.

    `most` is how many of each the settings explain; of others a few are allowed.
    """

    at: float
    seconds: float
    calls: dict[str, int]
    most: dict[str, float]


Entry = (
    Accepted
    | Acknowledged
    | ApplicationAdded
    | EndpointChanged
    | Asked
    | Requested
    | Answered
    | Fault
    | Lost
    | Leased
    | Settled
    | Waiting
    | Explained
    | Crashed
    | Stalled
    | Rested
)


class Ending(Struct, frozen=True, kw_only=True):
    """The content of the store when the history is over: deliveries by message and endpoint."""

    at: float
    deliveries: dict[tuple[str, str], Delivery] = {}
    tasks: list[Task] = []


class Log:
    """The entries so far, in the order in which things happened."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.over_at = 0.0
        """When the last settlement was made and the last fault is over."""

    def add(self, entry: Entry) -> None:
        """Add an entry."""
        self.entries.append(entry)
        if isinstance(entry, Fault):
            self.over_at = max(self.over_at, entry.until)
        elif isinstance(entry, Settled):
            self.over_at = max(self.over_at, entry.at)
