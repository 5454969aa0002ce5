"""What a receiver answers when it does not hand a message on, the same in every framework.

The sender acts on it: after a 400 it gives the message up, after a 401 it tries again when somebody
may have set the secret right, after a 200 it is done.
"""

from tarry.core.value import Value
from tarry.errors import MalformedHeaders, MessageReplayed, VerificationError

LARGEST = 1024 * 1024
"""Bytes of a body that are read, unless told otherwise."""
HANDLED, MALFORMED, UNPROVEN, TOO_LARGE, IN_HAND = 200, 400, 401, 413, 503
_COME_BACK = 5
"""Seconds after which one that is being handled may be asked for again."""


class Answer(Value):
    """A status, its reason, and headers."""

    status: int
    detail: str
    headers: tuple[tuple[str, str], ...] = ()


def answer_to(refusal: VerificationError) -> Answer:
    """What to say to the sender of a message that is refused."""
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
    """What to say of a body that is longer than it may be."""
    return Answer(TOO_LARGE, f"the body is larger than {largest} bytes")


def is_taken(status: int) -> bool:
    """Whether a status tells the sender that the message is taken."""
    return 200 <= status < 300  # noqa: PLR2004  HTTP's own
