import json
import math
import re
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.codec import MISSING, OR_UNLIMITED, from_dict, to_dict
from tarry.core.jitter import Decorrelated, Equal, Full, NoJitter, Percent, Smooth
from tarry.core.policy import Policy, RetryAfter, Statuses
from tarry.errors import PolicyError, PolicyFormatError

SECONDS = "a number of seconds from 0 to 1,000,000,000"
KEYS = (
    "version, name, attempts, within, attempt_timeout, nested,"
    " backoff, jitter, retry_after, statuses, probe"
)
FUTURE = "1, the newest version understood: this one is from the future"
ONE = "the whole number 1"
TABLE = "a table of keys and values"
WAITS = "a list of one or more waits in seconds"
SHARE = "a number from 0 to 1"
COUNT = "a whole number, 1 or more"
SOME_SECONDS = "a number of seconds above 0, up to 1,000,000,000"
BELOW_CAP = "a number of seconds from 0 to cap (2)"
FACTOR = "a finite number, 1 or more"
FLAG = "true or false"
WORD = "a string of valid Unicode"
CLAMP = "'inside' or 'outside'"
STATUSES = "HTTP statuses from 100 to 599"
OTHERS = "other statuses than those in statuses.retry"
BACKOFFS = "fixed, linear, exponential, fibonacci, schedule"
JITTERS = "none, full, equal, percent, decorrelated, smooth"


class OtherPolicy(Policy, init=False):
    """Adds behaviour and no field."""


class Doubled(Fixed, init=False):
    """Somebody's own kind of a known backoff."""


def test_a_document_says_everything() -> None:
    assert to_dict(Policy()) == {
        "version": 1,
        "name": "",
        "attempts": 5,
        "within": 45.0,
        "attempt_timeout": "unlimited",
        "nested": False,
        "backoff": {"kind": "exponential", "base": 0.1, "factor": 2.0, "cap": 10.0},
        "jitter": {"kind": "smooth"},
        "retry_after": {"honour": True, "at_most": 60.0},
        "statuses": {
            "retry": [408, 425, 429, 500, 502, 503, 504],
            "never": [400, 401, 403, 404, 410, 422],
        },
        "probe": {
            "late": 0.05,
            "late_large": 0.01,
            "large": 1_000,
            "steady": 3_600.0,
            "at_most": 3_600.0,
        },
    }


def test_a_document_says_it_in_order() -> None:
    document = to_dict(Policy())
    assert ", ".join(document) == KEYS
    assert list(document["backoff"]) == ["kind", "base", "factor", "cap"]  # type: ignore[call-overload]


def test_no_limit_is_written_as_a_word() -> None:
    document = to_dict(Policy(attempts=None, within=None, attempt_timeout=2))
    assert document["attempts"] == document["within"] == "unlimited"
    assert document["attempt_timeout"] == 2.0
    assert from_dict({"attempts": "unlimited", "within": "unlimited"}) == Policy(
        attempts=None, within=None
    )


@pytest.mark.parametrize(
    ("part", "table"),
    [
        (Fixed(2), {"kind": "fixed", "delay": 2.0}),
        (Linear(step=1, cap=9), {"kind": "linear", "step": 1.0, "cap": 9.0}),
        (Fibonacci(base=1, cap=9), {"kind": "fibonacci", "base": 1.0, "cap": 9.0}),
        (Schedule([1, 2]), {"kind": "schedule", "delays": [1.0, 2.0]}),
        (Exponential(1), {"kind": "exponential", "base": 1.0, "factor": 2.0, "cap": 60.0}),
    ],
    ids=str,
)
def test_a_backoff_is_a_table_with_a_kind(part: Fixed, table: dict[str, object]) -> None:
    assert to_dict(Policy(backoff=part))["backoff"] == table
    assert from_dict({"backoff": table}).backoff == part


@pytest.mark.parametrize(
    ("part", "table"),
    [
        (NoJitter(), {"kind": "none"}),
        (Full(), {"kind": "full"}),
        (Equal(), {"kind": "equal"}),
        (Percent(0.2), {"kind": "percent", "share": 0.2}),
        (Decorrelated(), {"kind": "decorrelated", "clamp": "inside"}),
        (Decorrelated("outside"), {"kind": "decorrelated", "clamp": "outside"}),
        (Smooth(), {"kind": "smooth"}),
    ],
    ids=str,
)
def test_a_jitter_is_a_table_with_a_kind(part: Full, table: dict[str, object]) -> None:
    assert to_dict(Policy(jitter=part))["jitter"] == table
    assert from_dict({"jitter": table}).jitter == part


def test_what_is_left_out_has_its_default() -> None:
    assert from_dict({}) == from_dict({"version": 1}) == Policy()
    assert from_dict({"backoff": {"kind": "exponential", "base": 1}}).backoff == Exponential(1)
    assert from_dict({"backoff": {"kind": "linear", "step": 1}}).backoff == Linear(1)
    assert from_dict({"jitter": {"kind": "decorrelated"}}).jitter == Decorrelated()
    assert from_dict({"retry_after": {"at_most": 5}}).retry_after == RetryAfter(at_most=5)
    assert from_dict({"statuses": {"retry": []}}).statuses == Statuses(retry=[])


def test_a_subclass_can_be_read_and_written() -> None:
    policy = from_dict({"attempts": 2}, OtherPolicy)
    assert type(policy) is OtherPolicy
    assert to_dict(policy) == to_dict(Policy(attempts=2))
    assert to_dict(Policy(backoff=Doubled(2)))["backoff"] == {"kind": "fixed", "delay": 2.0}


@given(policy=st.from_type(Policy))
def test_what_was_written_reads_back_the_same(policy: Policy) -> None:
    document = to_dict(policy)
    again = from_dict(document)
    assert again == policy
    assert to_dict(again) == document
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("document", "path", "wanted"),
    [
        # the document itself
        ([], "policy", TABLE),
        (None, "policy", TABLE),
        ("attempts", "policy", TABLE),
        # version
        ({"version": 2}, "version", FUTURE),
        ({"version": 0}, "version", ONE),
        ({"version": -1}, "version", ONE),
        ({"version": True}, "version", ONE),
        ({"version": "1"}, "version", ONE),
        ({"version": 1.0}, "version", ONE),
        ({"version": None}, "version", ONE),
        ({"version": 9, "new_key": 1}, "version", FUTURE),
        # unknown keys
        ({"atempts": 3}, "atempts", f"one of the keys {KEYS} (did you mean attempts?)"),
        ({"Within": 3}, "Within", f"one of the keys {KEYS} (did you mean within?)"),
        ({"zzz": 3}, "zzz", f"one of the keys {KEYS}"),
        ({"kind": "fixed"}, "kind", f"one of the keys {KEYS}"),
        (
            {"backoff": {"kind": "fixed", "delay": 1, "cap": 9}},
            "backoff.cap",
            "one of the keys kind, delay",
        ),
        (
            {"backoff": {"kind": "linear", "step": 1, "capp": 9}},
            "backoff.capp",
            "one of the keys kind, step, cap (did you mean cap?)",
        ),
        ({"jitter": {"kind": "full", "share": 1}}, "jitter.share", "one of the keys kind"),
        (
            {"retry_after": {"honor": True}},
            "retry_after.honor",
            "one of the keys honour, at_most (did you mean honour?)",
        ),
        ({"retry_after": {"kind": 1}}, "retry_after.kind", "one of the keys honour, at_most"),
        (
            {"statuses": {"retrys": [1]}},
            "statuses.retrys",
            "one of the keys retry, never (did you mean retry?)",
        ),
        # kinds
        ({"backoff": {}}, "backoff.kind", f"one of {BACKOFFS}"),
        ({"jitter": {"share": 1}}, "jitter.kind", f"one of {JITTERS}"),
        (
            {"backoff": {"kind": "exponentail"}},
            "backoff.kind",
            f"one of {BACKOFFS} (did you mean exponential?)",
        ),
        ({"backoff": {"kind": "smooth"}}, "backoff.kind", f"one of {BACKOFFS}"),
        ({"jitter": {"kind": "Full"}}, "jitter.kind", f"one of {JITTERS} (did you mean full?)"),
        ({"jitter": {"kind": 1}}, "jitter.kind", f"one of {JITTERS}"),
        ({"jitter": {"kind": ["full"]}}, "jitter.kind", f"one of {JITTERS}"),
        ({"jitter": {"kind": None}}, "jitter.kind", f"one of {JITTERS}"),
        # missing parameters
        ({"backoff": {"kind": "fixed"}}, "backoff.delay", SECONDS),
        ({"backoff": {"kind": "linear", "cap": 1}}, "backoff.step", SECONDS),
        ({"backoff": {"kind": "exponential", "cap": 1}}, "backoff.base", SECONDS),
        ({"backoff": {"kind": "fibonacci"}}, "backoff.base", SECONDS),
        ({"backoff": {"kind": "schedule"}}, "backoff.delays", WAITS),
        ({"jitter": {"kind": "percent"}}, "jitter.share", SHARE),
        # wrong types
        ({"backoff": []}, "backoff", TABLE),
        ({"backoff": "fixed"}, "backoff", TABLE),
        ({"retry_after": 60}, "retry_after", TABLE),
        ({"statuses": [500]}, "statuses", TABLE),
        ({"attempts": "5"}, "attempts", f"{COUNT}, or 'unlimited'"),
        ({"attempts": True}, "attempts", f"{COUNT}, or 'unlimited'"),
        ({"attempts": 2.0}, "attempts", f"{COUNT}, or 'unlimited'"),
        ({"attempts": None}, "attempts", f"{COUNT}, or 'unlimited'"),
        ({"within": "5"}, "within", f"{SECONDS}, or 'unlimited'"),
        ({"within": False}, "within", f"{SECONDS}, or 'unlimited'"),
        ({"within": timedelta(1)}, "within", f"{SECONDS}, or 'unlimited'"),
        ({"attempt_timeout": [1]}, "attempt_timeout", f"{SOME_SECONDS}, or 'unlimited'"),
        ({"nested": 1}, "nested", FLAG),
        ({"nested": "true"}, "nested", FLAG),
        ({"name": 1}, "name", WORD),
        ({"backoff": {"kind": "fixed", "delay": "unlimited"}}, "backoff.delay", SECONDS),
        ({"backoff": {"kind": "exponential", "base": 1, "factor": "2"}}, "backoff.factor", FACTOR),
        ({"backoff": {"kind": "schedule", "delays": 5}}, "backoff.delays", WAITS),
        ({"backoff": {"kind": "schedule", "delays": {}}}, "backoff.delays", WAITS),
        ({"backoff": {"kind": "schedule", "delays": [1, "2"]}}, "backoff.delays[1]", SECONDS),
        ({"backoff": {"kind": "schedule", "delays": [True]}}, "backoff.delays[0]", SECONDS),
        ({"backoff": {"kind": "schedule", "delays": [timedelta(1)]}}, "backoff.delays[0]", SECONDS),
        ({"jitter": {"kind": "percent", "share": True}}, "jitter.share", SHARE),
        ({"jitter": {"kind": "decorrelated", "clamp": []}}, "jitter.clamp", CLAMP),
        ({"retry_after": {"honour": 0}}, "retry_after.honour", FLAG),
        ({"statuses": {"retry": {}}}, "statuses.retry", f"a list of {STATUSES}"),
        ({"probe": 5}, "probe", TABLE),
        ({"probe": {"late": "5 %"}}, "probe.late", "a number from 0.001 to 1"),
        ({"statuses": {"retry": 500}}, "statuses.retry", f"a list of {STATUSES}"),
        ({"statuses": {"never": ["500"]}}, "statuses.never[0]", STATUSES),
        # out of range
        ({"attempts": 0}, "attempts", COUNT + OR_UNLIMITED),
        ({"within": -1}, "within", SECONDS + OR_UNLIMITED),
        ({"within": math.inf}, "within", SECONDS + OR_UNLIMITED),
        ({"within": 1e9 + 1}, "within", SECONDS + OR_UNLIMITED),
        ({"attempt_timeout": 0}, "attempt_timeout", SOME_SECONDS + OR_UNLIMITED),
        ({"name": "\ud800"}, "name", WORD),
        ({"backoff": {"kind": "exponential", "base": 5, "cap": 2}}, "backoff.base", BELOW_CAP),
        ({"backoff": {"kind": "linear", "step": 5, "cap": 2}}, "backoff.step", BELOW_CAP),
        ({"backoff": {"kind": "fibonacci", "base": 5, "cap": 2}}, "backoff.base", BELOW_CAP),
        ({"backoff": {"kind": "exponential", "base": 1, "factor": 0.5}}, "backoff.factor", FACTOR),
        ({"backoff": {"kind": "schedule", "delays": [1, -1]}}, "backoff.delays[1]", SECONDS),
        ({"jitter": {"kind": "percent", "share": 1.5}}, "jitter.share", SHARE),
        ({"jitter": {"kind": "decorrelated", "clamp": "top"}}, "jitter.clamp", CLAMP),
        ({"retry_after": {"at_most": -1}}, "retry_after.at_most", SECONDS),
        ({"statuses": {"retry": [500, 99]}}, "statuses.retry[1]", STATUSES),
        ({"statuses": {"retry": [500], "never": [500]}}, "statuses.never", OTHERS),
    ],
    ids=map(str, count(1)),
)
def test_a_document_that_is_wrong_says_where_and_what_would_do(
    document: object, path: str, wanted: str
) -> None:
    with pytest.raises(PolicyFormatError) as caught:
        from_dict(document)  # type: ignore[call-overload]
    error = caught.value
    assert (error.path, error.wanted) == (path, wanted)
    assert error.value == value_at(document, path)
    assert str(error) == f"{path!r} is {error.value!r}; it must be {wanted}"
    assert error.__cause__ is None


def value_at(document: object, path: str) -> object:
    """Look a value up by its path; `policy` is the whole."""
    found = document
    for key in re.findall(r"\w+", path) if path != "policy" else ():
        if isinstance(found, list):
            found = found[int(key)]
        elif isinstance(found, dict):
            found = found.get(key, MISSING)
    return found


def test_not_a_number_is_no_number() -> None:
    with pytest.raises(PolicyFormatError, match="'within' is nan; it must be a number of seconds"):
        from_dict({"within": math.nan})


def test_an_empty_schedule_is_no_schedule() -> None:
    with pytest.raises(PolicyFormatError) as caught:
        from_dict({"backoff": {"kind": "schedule", "delays": []}})
    assert str(caught.value) == f"'backoff.delays' is (); it must be {WAITS}"


def test_a_key_that_is_no_string_is_unknown() -> None:
    with pytest.raises(PolicyFormatError) as caught:
        from_dict({7: 3})  # type: ignore[dict-item]
    assert str(caught.value) == f"'7' is 3; it must be one of the keys {KEYS}"


def test_a_missing_key_reads_as_missing() -> None:
    with pytest.raises(PolicyFormatError) as caught:
        from_dict({"backoff": {"kind": "fixed"}})
    assert str(caught.value) == f"'backoff.delay' is missing; it must be {SECONDS}"


def test_an_error_in_a_document_is_a_policy_error() -> None:
    with pytest.raises(PolicyError):
        from_dict({"attempts": 0})


@given(
    document=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["backoff", "jitter", "kind", "delays", "attempts", "statuses", "?"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_document_is_read_or_refused_and_nothing_else(document: object) -> None:
    try:
        policy = from_dict(document)  # type: ignore[call-overload]
    except PolicyFormatError:
        return
    assert from_dict(to_dict(policy)) == policy
