"""The written form of a policy: which tables and keys there are, and what each may hold.

The codec and the JSON Schema both use these tables, so they cannot disagree. This is a public
format: documents that it describes stay readable.
"""

from collections.abc import Mapping
from sys import float_info

from tarry.core.backoff import Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.checks import LONGEST_DURATION
from tarry.core.jitter import Decorrelated, Equal, Full, NoJitter, Percent, Smooth
from tarry.core.policy import RetryAfter, Statuses
from tarry.core.probe_rule import HOUR, LEAST_SHARE, ProbeRule
from tarry.core.value import Value

VERSION = 1
"""The newest version of the format that is understood."""

UNLIMITED = "unlimited"
"""How None, no limit, is written."""


class Shape(Value):
    """What a value looks like in a document: plain types, in words, and as JSON Schema."""

    types: tuple[type, ...]
    wanted: str
    schema: Mapping[str, object]
    items: "Shape | None" = None


class Key(Value):
    """One key of a table, and what it is about."""

    shape: Shape
    about: str
    required: bool = False
    unlimited: bool = False


class Form(Value):
    """A table: the class it is read into, and its keys, named as the class names them."""

    made: type
    about: str
    keys: Mapping[str, Key]


NUMBER_TYPES = (int, float)


def seconds_to(longest: float) -> Shape:
    """A duration, possibly none."""
    wanted = f"a number of seconds from 0 to {longest:,.0f}"
    return Shape(NUMBER_TYPES, wanted, {"type": "number", "minimum": 0, "maximum": longest})


def some_seconds_to(longest: float) -> Shape:
    """A duration above zero."""
    wanted = f"a number of seconds above 0, up to {longest:,.0f}"
    return Shape(
        NUMBER_TYPES, wanted, {"type": "number", "exclusiveMinimum": 0, "maximum": longest}
    )


SECONDS = seconds_to(LONGEST_DURATION)
SOME_SECONDS = some_seconds_to(LONGEST_DURATION)
SECONDS_LIST = Shape(
    (list,),
    "a list of one or more waits in seconds",
    {"type": "array", "items": SECONDS.schema, "minItems": 1},
    items=SECONDS,
)
FACTOR = Shape(
    NUMBER_TYPES,
    "a finite number, 1 or more",
    {"type": "number", "minimum": 1, "maximum": float_info.max},
)
SHARE = Shape(NUMBER_TYPES, "a number from 0 to 1", {"type": "number", "minimum": 0, "maximum": 1})
LATE = Shape(
    NUMBER_TYPES,
    f"a number from {LEAST_SHARE:g} to 1",
    {"type": "number", "minimum": LEAST_SHARE, "maximum": 1},
)
TO_AN_HOUR = Shape(
    NUMBER_TYPES,
    f"a number of seconds from 1 to {HOUR:,.0f}",
    {"type": "number", "minimum": 1, "maximum": HOUR},
)
COUNT = Shape((int,), "a whole number, 1 or more", {"type": "integer", "minimum": 1})
FLAG = Shape((bool,), "true or false", {"type": "boolean"})
WORD = Shape((str,), "a string of valid Unicode", {"type": "string"})
CLAMP = Shape((str,), "'inside' or 'outside'", {"enum": ["inside", "outside"]})
STATUS = Shape(
    (int,),
    "HTTP statuses from 100 to 599",
    {"type": "integer", "minimum": 100, "maximum": 599},
)
STATUS_LIST = Shape(
    (list,),
    "a list of HTTP statuses from 100 to 599",
    {"type": "array", "items": STATUS.schema},
    items=STATUS,
)

CAP = Key(SECONDS, "The longest wait there can be, in seconds.")

SETTINGS: Mapping[str, Key] = {
    "name": Key(WORD, "What the policy is called in events and messages."),
    "attempts": Key(COUNT, "How many tries in all, the first included.", unlimited=True),
    "within": Key(
        SECONDS,
        "No wait is begun that would end later than this many seconds after the start.",
        unlimited=True,
    ),
    "attempt_timeout": Key(
        SOME_SECONDS, "After how many seconds an attempt is cut off.", unlimited=True
    ),
    "nested": Key(FLAG, "Whether it may retry inside another retry."),
}

BACKOFFS: Mapping[str, Form] = {
    "fixed": Form(
        Fixed,
        "The same wait every time.",
        {"delay": Key(SECONDS, "The wait in seconds.", required=True)},
    ),
    "linear": Form(
        Linear,
        "A wait that grows by a step with every failed attempt.",
        {"step": Key(SECONDS, "The first wait, and what each adds.", required=True), "cap": CAP},
    ),
    "exponential": Form(
        Exponential,
        "A wait that is multiplied with every failed attempt.",
        {
            "base": Key(SECONDS, "The first wait in seconds.", required=True),
            "factor": Key(FACTOR, "What each wait is multiplied by."),
            "cap": CAP,
        },
    ),
    "fibonacci": Form(
        Fibonacci,
        "A wait that grows like 1, 1, 2, 3, 5, 8.",
        {"base": Key(SECONDS, "The first wait in seconds.", required=True), "cap": CAP},
    ),
    "schedule": Form(
        Schedule,
        "The waits as listed; the last one repeats.",
        {"delays": Key(SECONDS_LIST, "The waits in seconds.", required=True)},
    ),
}

JITTERS: Mapping[str, Form] = {
    "none": Form(NoJitter, "The curve itself: every client waits the same.", {}),
    "full": Form(Full, "Anything from 0 to the curve.", {}),
    "equal": Form(Equal, "Half the curve for certain, the other half by chance.", {}),
    "percent": Form(
        Percent,
        "The curve, give or take a share of it.",
        {"share": Key(SHARE, "0.2 is plus or minus 20 %.", required=True)},
    ),
    "decorrelated": Form(
        Decorrelated,
        "Anything from the first wait to three times the wait before.",
        {"clamp": Key(CLAMP, "Where the cap is applied; outside piles waits up on it.")},
    ),
    "smooth": Form(Smooth, "Retries of many clients arrive as one even flow.", {}),
}

UNIONS: Mapping[str, Mapping[str, Form]] = {"backoff": BACKOFFS, "jitter": JITTERS}
"""The tables whose `kind` says which class is meant."""

TABLES: Mapping[str, Form] = {
    "retry_after": Form(
        RetryAfter,
        "What to do when the server says when to come back.",
        {
            "honour": Key(FLAG, "Whether its word counts."),
            "at_most": Key(SECONDS, "The longest such wait that is waited, in seconds."),
        },
    ),
    "statuses": Form(
        Statuses,
        "Which HTTP statuses are retried; any other 5xx is, any other 4xx is not.",
        {
            "retry": Key(STATUS_LIST, "These are."),
            "never": Key(STATUS_LIST, "These are not."),
        },
    ),
    "probe": Form(
        ProbeRule,
        "How often the webhook service tries an endpoint that was down for ten minutes or longer.",
        {
            "late": Key(
                LATE, "The share of the outage's age by which a probe may be late: 0.05 is 5 %."
            ),
            "late_large": Key(LATE, "The same while many deliveries wait."),
            "large": Key(COUNT, "How many are many."),
            "steady": Key(
                SECONDS,
                "Up to this age of an outage, in seconds, the probes keep about the pace of its"
                " first ten minutes.",
            ),
            "at_most": Key(TO_AN_HOUR, "The longest time between two probes, in seconds."),
        },
    ),
}
"""The other tables."""
