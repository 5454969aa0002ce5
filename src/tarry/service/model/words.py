"""The words that users read about deliveries, lanes and actors: one table for all surfaces.

`explain` builds its sentences from these words, and the API serves them to the command line and to
the dashboard. The docs quote them, and a test compares.
"""

from collections.abc import Mapping

from msgspec import Struct

from tarry.core.pace import Phase
from tarry.service.model.audit import ActorKind
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.waits import WAITS

FAILING = "failing"
"""The name of a lane whose last attempt failed, but which sends normally so far."""


class Words(Struct, frozen=True):
    """A label of one to four words, a sentence with its meaning, and for a wait: what ends it."""

    label: str
    meaning: str
    ended_by: str = ""


_WAITING = "waiting"
_PROBED = "Only probes are sent until one succeeds. The outage does not use up attempts."

STATES: Mapping[State, Words] = {
    State.READY: Words(_WAITING, "It will be sent in the order of its endpoint's queue."),
    State.WAITING: Words(_WAITING, "It will be sent when its due time has come."),
    State.DELIVERED: Words("delivered", "The endpoint accepted it."),
    State.FAILED: Words("failed", "No more attempts will be made."),
    State.SKIPPED: Words("skipped", "It was not sent, because its endpoint was disabled."),
    State.CANCELLED: Words("cancelled", "A user cancelled the message."),
    State.DISCARDED: Words("discarded", "Its endpoint was deleted, or its payload was erased."),
}


def _wait(reason: Reason, label: str, meaning: str) -> Words:
    """Return the words for a reason to wait; the table of waits has the event that ends it."""
    return Words(label, meaning, WAITS[reason].ended_by)


REASONS: Mapping[Reason, Words] = {
    Reason.NEW: _wait(
        Reason.NEW, "queued", "A worker is sending it, or sends it after those before it."
    ),
    Reason.BACKOFF: _wait(
        Reason.BACKOFF,
        "backoff",
        "The last attempt failed, and the retry policy sets the time of the next one.",
    ),
    Reason.RETRY_AFTER: _wait(
        Reason.RETRY_AFTER, "retry-after", "The endpoint asked tarry to wait (Retry-After)."
    ),
    Reason.LANE_OPEN: _wait(Reason.LANE_OPEN, "endpoint down", _PROBED),
    Reason.PACE: _wait(
        Reason.PACE,
        "endpoint recovering",
        "The endpoint gets its backlog at a rate that it can handle.",
    ),
    Reason.RATE: _wait(
        Reason.RATE, "rate limit", "The endpoint or its application has a rate limit."
    ),
    Reason.CONCURRENCY: _wait(
        Reason.CONCURRENCY, "concurrency limit", "The endpoint has a limit of requests at a time."
    ),
    Reason.BUDGET: _wait(
        Reason.BUDGET,
        "retry budget",
        "Too many of the latest requests to the endpoint were retries.",
    ),
    Reason.FIFO: _wait(
        Reason.FIFO,
        "fifo",
        "The endpoint gets one message at a time, in order.",
    ),
    Reason.SCHEDULED: _wait(Reason.SCHEDULED, "scheduled", "The sender set a delivery time."),
    Reason.PAUSED: _wait(
        Reason.PAUSED, "endpoint paused", "Nothing is sent until a user resumes the endpoint."
    ),
    Reason.DISABLED: _wait(
        Reason.DISABLED,
        "endpoint not enabled",
        "Nothing is sent until a user enables the endpoint.",
    ),
    Reason.REPLAYED: _wait(
        Reason.REPLAYED, "queued again", "A recovery or a replay queued it again."
    ),
    Reason.DELIVERED: Words("delivered", "The endpoint accepted it."),
    Reason.REFUSED: Words("refused", "The endpoint refused this message permanently."),
    Reason.EXHAUSTED: Words("all attempts used up", "Its policy allows no more attempts."),
    Reason.AGED: Words("too old", "It is older than its policy allows."),
    Reason.GONE: Words("endpoint gone", "The endpoint wants no more messages."),
    Reason.ABORTED: Words(
        "aborted by the receiver", "The receiver wants no more attempts for this message."
    ),
    Reason.EXPUNGED: Words("payload expunged", "Its payload was deleted."),
    Reason.ERASED: Words("erased", "A user erased the application's sealed payloads."),
    Reason.SKIPPED: Words(
        "endpoint was disabled", "The message was accepted while its endpoint was disabled."
    ),
    Reason.CANCELLED: Words("cancelled", "A user cancelled the message."),
    Reason.DISCARDED: Words("endpoint deleted", "Its endpoint was deleted."),
}

LANES: Mapping[str, Words] = {
    Phase.CLOSED: Words("healthy", "Messages are sent as they arrive."),
    FAILING: Words(
        "last attempt failed", "The next attempts show whether the endpoint is down.", "a success"
    ),
    Phase.OPEN: Words("down", _PROBED, WAITS[Reason.LANE_OPEN].ended_by),
    Phase.PACED: Words(
        "recovering",
        "The endpoint is back. It gets its backlog at a rate that it can handle.",
        "the end of the backlog",
    ),
    Standing.PAUSED: Words(
        "paused",
        "Nothing is sent. New messages wait, and their age grows.",
        "a user resumes it",
    ),
    Standing.DISABLED: Words(
        "disabled",
        "Nothing is sent, and new messages are skipped. Replay them after you have enabled it.",
        "a user enables it",
    ),
    Standing.PARKED: Words(
        "disabled by tarry",
        "The endpoint accepted nothing for days. Messages wait, and their age does not grow.",
        "a user enables it",
    ),
    Standing.DELETED: Words("deleted", "Its waiting deliveries are discarded."),
}
"""The state of sending to an endpoint, by the name that `lane_state` returns."""

ACTORS: Mapping[ActorKind, Words] = {
    ActorKind.KEY: Words("key", "A program or a person used a key to the environment."),
    ActorKind.TENANT: Words("tenant", "A tenant's user used a token to one application."),
    ActorKind.SETTINGS_KEY: Words(
        "key from settings", "A program or a person used the key in the settings of a server."
    ),
    ActorKind.COMMAND_LINE: Words(
        "command line", "A command of tarry worked on the database itself."
    ),
    ActorKind.PROGRAM: Words("program", "A program that has the service built in did it."),
    ActorKind.TARRY: Words("tarry", "The service did it by its own rules."),
}


def lane_state(standing: Standing, phase: Phase, *, failed: bool) -> str:
    """Return the state of a lane: its standing, or its phase while it is enabled.

    A lane opens only after several failures. Until then, `failed` tells that deliveries wait and
    the last attempt failed.

    >>> lane_state(Standing.ENABLED, Phase.CLOSED, failed=True)
    'failing'
    """
    if standing is not Standing.ENABLED:
        return standing.value
    return FAILING if failed and phase is Phase.CLOSED else phase.value


_ENDINGS = {
    Reason.DELIVERED: State.DELIVERED,
    Reason.SKIPPED: State.SKIPPED,
    Reason.CANCELLED: State.CANCELLED,
    Reason.DISCARDED: State.DISCARDED,
    Reason.ERASED: State.DISCARDED,
}


def state_of(reason: Reason) -> State:
    """Return the state of deliveries with this reason; `WAITING` for all live ones."""
    return State.WAITING if reason in WAITS else _ENDINGS.get(reason, State.FAILED)


def sentence(state: State, reason: Reason) -> str:
    """Return state and reason as a sentence, with the meaning of the reason if it adds something.

    >>> sentence(State.FAILED, Reason.AGED)
    'Failed: too old. It is older than its policy allows.'
    >>> sentence(State.DELIVERED, Reason.DELIVERED)
    'Delivered.'
    >>> sentence(State.SKIPPED, Reason.SKIPPED)
    'Skipped: endpoint was disabled. The message was accepted while its endpoint was disabled.'
    """
    label = STATES[state].label.capitalize()
    words = REASONS[reason]
    if words.label == STATES[state].label:
        return f"{label}."
    return f"{label}: {words.label}. {words.meaning}"
