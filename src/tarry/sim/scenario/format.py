"""The format of a scenario file: the keys of each model, and the values that each may hold.

The reader uses these tables, and the reference page is checked against them. The keys are named
like the arguments of the models, which check the range of each value.
"""

from collections.abc import Mapping

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.format import (
    COUNT,
    FACTOR,
    FLAG,
    NUMBER_TYPES,
    SECONDS,
    SHARE,
    SOME_SECONDS,
    WORD,
    Form,
    Key,
    Shape,
    seconds_to,
    some_seconds_to,
)
from tarry.sim.backlog.endpoint import MANNERS
from tarry.sim.backlog.model import Backlog
from tarry.sim.backlog.settings import LONGEST_OUTAGE, LONGEST_WATCH
from tarry.sim.contention import Contention
from tarry.sim.server.model import LONGEST_PART, Server
from tarry.sim.server.queueing import DISCIPLINES
from tarry.sim.timeline import Timeline

WHOLE = Shape((int,), "a whole number, 0 or more", {"type": "integer", "minimum": 0})
RATE = Shape(NUMBER_TYPES, "a number, 0 or more", {"type": "number", "minimum": 0})
SOME_RATE = Shape(NUMBER_TYPES, "a number above 0", {"type": "number", "exclusiveMinimum": 0})
SPAN = seconds_to(LONGEST_PART)
OUTAGE = seconds_to(LONGEST_OUTAGE)
WATCH = some_seconds_to(LONGEST_WATCH)
STEP = Shape((list,), "[seconds, capacity]", {"type": "array"}, items=RATE)
CAPACITY = Shape(
    (*NUMBER_TYPES, list),
    "a number above 0, or steps [[seconds since it came back, capacity], ...]",
    {"type": ["number", "array"]},
    items=STEP,
)
SOME_SHARE = Shape(
    NUMBER_TYPES,
    "a number above 0, at most 1",
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
)
DISCIPLINE = Shape((str,), f"one of {', '.join(DISCIPLINES)}", {"enum": list(DISCIPLINES)})
MANNER = Shape((str,), f"one of {', '.join(MANNERS)}", {"enum": list(MANNERS)})

MODELS: Mapping[str, Form] = {
    "contention": Form(
        Contention,
        "Many clients write to one row; a client that read an old version fails and tries again.",
        {
            "clients": Key(COUNT, "How many clients start at once.", required=True),
            "latency_mean": Key(SECONDS, "How long a message takes on average, in seconds."),
            "latency_sd": Key(SECONDS, "The standard deviation of that, in seconds."),
            "give_up": Key(FLAG, "Whether clients obey the policy's limits and may give up."),
        },
    ),
    "timeline": Form(
        Timeline,
        "Many clients fail at the same moment and retry; no client gets an answer.",
        {
            "clients": Key(COUNT, "How many clients fail at 0.", required=True),
            "retries": Key(COUNT, "How many retries each makes.", required=True),
            "bucket": Key(SOME_SECONDS, "The seconds over which arrivals are counted together."),
        },
    ),
    "server": Form(
        Server,
        "A service with workers and a queue, called under a timeout by clients that retry.",
        {
            "load": Key(SOME_RATE, "First tries, as a share of the capacity.", required=True),
            "workers": Key(COUNT, "How many attempts are worked on at a time."),
            "service_time": Key(SOME_SECONDS, "The mean time of work on one, in seconds."),
            "timeout": Key(SOME_SECONDS, "How long a client waits for it.", unlimited=True),
            "queue": Key(WHOLE, "How many attempts may wait for a worker.", unlimited=True),
            "discipline": Key(DISCIPLINE, "Which of them is next."),
            "cancels": Key(FLAG, "Whether work is dropped once its client has gone."),
            "outage": Key(SPAN, "For how many seconds the server refuses all."),
            "slowdown": Key(SPAN, "For how many seconds it works slowly instead."),
            "slowdown_speed": Key(SOME_SHARE, "The share of its speed that it has then."),
            "layers": Key(COUNT, "How many hops there are, each with the policy and the guards."),
            "guarded": Key(FLAG, "Whether only the first hop retries, told by `tarry-attempt`."),
            "error_rate": Key(SHARE, "The share of answers that are errors by chance."),
            "warmup": Key(SPAN, "How many seconds run before the trouble starts."),
            "watch": Key(SPAN, "How many seconds are looked at after the trouble."),
        },
    ),
    "backlog": Form(
        Backlog,
        "A webhook endpoint comes back from an outage with deliveries waiting for it.",
        {
            "waiting": Key(COUNT, "How many deliveries wait when it comes back.", required=True),
            "capacity": Key(
                CAPACITY, "How many deliveries the endpoint can accept in a second.", required=True
            ),
            "outage": Key(OUTAGE, "How many seconds it was down."),
            "endpoint": Key(MANNER, "What it does with more than it can take."),
            "error_rate": Key(SHARE, "The share of what gets through that fails all the same."),
            "arrivals": Key(RATE, "How many new messages come a second once it is back."),
            "cold_start": Key(SECONDS, "For how many seconds its capacity grows from a tenth."),
            "latency": Key(SOME_SECONDS, "How many seconds an answer takes."),
            "timeout": Key(SOME_SECONDS, "After how many seconds an answer comes too late."),
            "queue": Key(SECONDS, "How many seconds of work a shedding endpoint lets wait."),
            "retry_after": Key(SECONDS, "How many seconds of peace it asks for while down."),
            "refusal": Key(SECONDS, "After how many seconds a refusal comes, to the pacer."),
            "hangs": Key(FLAG, "Whether it answers nothing at all while down, to the pacer."),
            "remembered": Key(SOME_RATE, "The capacity that the pacer knows from before."),
            "lanes": Key(COUNT, "How many endpoints of one origin share what waits."),
            "handover": Key(SOME_SECONDS, "After how many seconds a lane gets another owner."),
            "watch": Key(WATCH, "How many seconds are looked at after it came back."),
        },
    ),
}

BUDGETS: Mapping[str, Form] = {
    "quota": Form(
        QuotaRule,
        "Tokens: a retry that fails costs some, a success pays some back.",
        {
            "capacity": Key(SOME_RATE, "How many tokens there can be."),
            "cost": Key(SOME_RATE, "What a retry costs."),
            "pay_back": Key(RATE, "What a first try that succeeds pays."),
        },
    ),
    "ratio": Form(
        RatioRule,
        "Retries are at most a share of the calls in a window.",
        {
            "ratio": Key(SHARE, "That share."),
            "window": Key(SOME_SECONDS, "The window in seconds."),
            "bootstrap": Key(WHOLE, "How many retries a window may always have."),
        },
    ),
}

BREAKER = Form(
    BreakerRule,
    "When the circuit opens, and how it closes again.",
    {
        "failures": Key(COUNT, "Opens after this many failures in a row.", unlimited=True),
        "open_for": Key(SOME_SECONDS, "How many seconds it stays open."),
        "rate": Key(SOME_SHARE, "Opens when this share of the calls in the window failed."),
        "minimum": Key(COUNT, "With fewer calls in the window the shares say nothing."),
        "window": Key(SOME_SECONDS, "The window in seconds."),
        "slow": Key(SOME_SECONDS, "A call that takes longer than this many seconds is slow."),
        "slow_rate": Key(SOME_SHARE, "Opens when this share of the calls in the window was slow."),
        "growth": Key(FACTOR, "How much longer it stays open each time its probes fail."),
        "longest": Key(SOME_SECONDS, "The longest it stays open, in seconds."),
        "jitter": Key(SHARE, "The share of the open time that is left to chance."),
        "probes": Key(COUNT, "How many calls are let through to try the service."),
        "lease": Key(SOME_SECONDS, "After how many seconds a probe without answer is written off."),
    },
)

FILE: Mapping[str, Key] = {
    "model": Key(WORD, "Which model is simulated.", required=True),
    "about": Key(WORD, "What the scenario is about, in a sentence."),
}
"""The keys that every scenario has, beside those of its model and its policy tables."""
