"""The responses to messages that are not passed to the handler, the same in every framework.

The sender acts on the status. After a 400 it gives up the message. After a 401 it retries, because
the secret may be corrected later. After a 200 it counts the message as delivered.
"""

from tarry.core.value import Value
from tarry.errors import MalformedHeaders, MessageReplayed, VerificationError

LARGEST = 1024 * 1024
"""The default limit of a body, in bytes."""
HANDLED, MALFORMED, UNPROVEN, TOO_LARGE, IN_HAND = 200, 400, 401, 413, 503
_COME_BACK = 5
"""The `Retry-After` in seconds for a message that is being handled already."""


class Answer(Value):
    """A response: its status, the reason for it, and additional headers."""

    status: int
    detail: str
    headers: tuple[tuple[str, str], ...] = ()


def answer_to(refusal: VerificationError) -> Answer:
    """Return the response to a refused message."""
    match refusal:
        case MessageReplayed(handled=True):
            return Answer(HANDLED, str(refusal))
        case MessageReplayed():
            return Answer(IN_HAND, str(refusal), (("retry-after", str(_COME_BACK)),))
        case MalformedHeaders():
            return Answer(MALFORMED, str(refusal))
        case _:
            return Answer(UNPROVEN, str(refusal))


def too_large(largest: int) -> Answer:
    """Return the response to a body that is too long."""
    return Answer(TOO_LARGE, f"the body is larger than {largest} bytes")


def is_taken(status: int) -> bool:
    """Return whether a status tells the sender that the message was accepted."""
    return 200 <= status < 300  # noqa: PLR2004  HTTP's own
