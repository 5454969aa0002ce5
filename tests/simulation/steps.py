"""A history as a value: the conditions it runs under, and its steps.

Applications, endpoints, messages and workers go by numbers. A step about something that does not
exist (any more) has no effect, so that any step can be left out of a history.
"""

from msgspec import Struct

from tests.simulation.endpoints import Behaviour


class Conditions(Struct, frozen=True, kw_only=True):
    """The conditions of a whole history. Durations are in seconds."""

    seed: int
    store: str = "memory"
    """With `postgres` a history runs in real time."""
    workers: int = 1
    drifts: tuple[float, ...] = ()
    """By which share the clock of each worker runs fast; those that are not named run true."""
    api_skew: float = 0.0
    """How many seconds the clock of the API is ahead of the store's."""
    latency: float = 0.002
    """How long a call travels to the store, and its answer back, on average."""
    lag: float = 0.0
    """How long a callback takes at the most."""
    any_order: bool = False
    """Whether ready callbacks of one process run in any order."""
    lost_nudges: float = 0.0
    """The share of nudges from the store that never arrive."""
    look: float = 5.0
    lease: float = 10.0
    keep_up: float = 60.0
    watch: float = 3600.0
    """How often the watchdog of each worker looks. In most histories it never does, so that it
    hides nothing from the checker. Whatever it finds breaks a promise of its own."""
    length: float = 60.0
    """When the last fault ends and every endpoint is healthy."""
    probed_at_end: bool = False
    """Whether a person then requests a probe of every endpoint."""
    watched_at_rest: bool = True
    """Whether the service is watched for a while once it has nothing left to do."""


class Step(Struct, frozen=True, kw_only=True, tag=True):
    """Something that happens `at` seconds after the history began."""

    at: float


# --- What applications do -----------------------------------------------------------------------


class AddApplication(Step, frozen=True, kw_only=True):
    """Add a tenant."""

    application: int
    rate: float | None = None


class AddEndpoint(Step, frozen=True, kw_only=True):
    """Add an endpoint to an application."""

    application: int
    endpoint: int
    origin: int
    fifo: bool = False
    rate: float | None = None
    concurrency: int | None = None
    policy: str | None = None
    event_types: tuple[str, ...] | None = None


class Send(Step, frozen=True, kw_only=True):
    """Send messages, one after the other; `message` is the number of the first one.

    With `keyed` each has an idempotency key and is sent again when its sender gets an error.
    """

    application: int
    message: int
    count: int = 1
    apart: float = 0.0
    event_type: str = "a"
    deliver_in: float | None = None
    keyed: bool = False


# --- What endpoints do --------------------------------------------------------------------------


class Behave(Step, frozen=True, kw_only=True):
    """Change how an endpoint answers, or all of an origin that have no behaviour of their own."""

    behaviour: Behaviour
    endpoint: int | None = None
    origin: int | None = None


# --- What people do -----------------------------------------------------------------------------


class Stand(Step, frozen=True, kw_only=True):
    """Pause, disable or enable an endpoint."""

    endpoint: int
    standing: str


class Move(Step, frozen=True, kw_only=True):
    """Change the URL of an endpoint to another origin."""

    endpoint: int
    origin: int


class Limit(Step, frozen=True, kw_only=True):
    """Change the limits and the policy of an endpoint."""

    endpoint: int
    rate: float | None = None
    concurrency: int | None = None
    policy: str | None = None


class Delete(Step, frozen=True, kw_only=True):
    """Delete an endpoint."""

    endpoint: int


class Probe(Step, frozen=True, kw_only=True):
    """Request a probe of an endpoint."""

    endpoint: int


class Resend(Step, frozen=True, kw_only=True):
    """Ask for one more attempt at a message."""

    endpoint: int
    message: int


class Cancel(Step, frozen=True, kw_only=True):
    """Cancel a message."""

    message: int


class Replay(Step, frozen=True, kw_only=True):
    """Request a recovery (`recover`), or a replay of missing messages (`missing`) or of all."""

    endpoint: int
    what: str


# --- Faults -------------------------------------------------------------------------------------


class Kill(Step, frozen=True, kw_only=True):
    """End a worker at once."""

    worker: int


class Suspend(Step, frozen=True, kw_only=True):
    """Stop a worker for a while; it does not notice."""

    worker: int
    seconds: float


class StopWorker(Step, frozen=True, kw_only=True):
    """Stop a worker in order."""

    worker: int


class StartWorker(Step, frozen=True, kw_only=True):
    """Start one more worker."""


class StoreTrouble(Step, frozen=True, kw_only=True):
    """Disturb the connection of a worker, of the API (-1) or of all processes (None).

    `away` refuses calls, `stuck` delays them until it is over, `forgetful` commits them and loses
    the answers, `slow` makes each way longer by up to `slowness` seconds. `cut` breaks the
    connection once.
    """

    kind: str
    seconds: float
    worker: int | None = None
    slowness: float = 0.0


class StepClock(Step, frozen=True, kw_only=True):
    """Set the store's clock forward, or back."""

    seconds: float


class Poison(Step, frozen=True, kw_only=True):
    """Let the store refuse all settlements of a message for a while."""

    message: int
    seconds: float


class Failover(Step, frozen=True, kw_only=True):
    """Replace the store by its standby, which has not seen the commits of the last `lost` seconds.

    With 0 nothing is lost but the connections.
    """

    lost: float


AnyStep = (
    AddApplication
    | AddEndpoint
    | Send
    | Behave
    | Stand
    | Move
    | Limit
    | Delete
    | Probe
    | Resend
    | Cancel
    | Replay
    | Kill
    | Suspend
    | StopWorker
    | StartWorker
    | StoreTrouble
    | StepClock
    | Poison
    | Failover
)


class History(Struct, frozen=True):
    """Conditions and steps: all that decides what happens."""

    conditions: Conditions
    steps: tuple[AnyStep, ...]
