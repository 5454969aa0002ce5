"""How Hypothesis makes the values of the core: ask for them with `st.from_type(Policy)`."""

from typing import get_args

from hypothesis import strategies as st

from tarry.core.backoff import Backoff, Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.checks import LONGEST_DURATION
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.policy import Policy, RetryAfter, Statuses

seconds = st.one_of(
    st.floats(0, LONGEST_DURATION),
    st.floats(0.001, 100),
    st.integers(0, 100).map(float),
    st.sampled_from([0.0, -0.0, 5e-324, LONGEST_DURATION]),
)
first_and_cap = st.tuples(seconds, seconds).map(sorted)
factors = st.floats(1, 10) | st.sampled_from([1.0, 1.0 + 2**-52, 2.0, 1e300])
codes = st.frozensets(st.integers(100, 599), max_size=8)

st.register_type_strategy(Fixed, st.builds(Fixed, seconds))
st.register_type_strategy(Linear, first_and_cap.map(lambda two: Linear(*two)))
st.register_type_strategy(
    Exponential,
    st.builds(lambda two, factor: Exponential(two[0], factor, two[1]), first_and_cap, factors),
)
st.register_type_strategy(Fibonacci, first_and_cap.map(lambda two: Fibonacci(*two)))
st.register_type_strategy(Schedule, st.builds(Schedule, st.lists(seconds, min_size=1, max_size=6)))
for plain in (NoJitter, Full, Equal, Smooth):
    st.register_type_strategy(plain, st.just(plain()))
st.register_type_strategy(Percent, st.builds(Percent, st.floats(0, 1)))
st.register_type_strategy(
    Decorrelated, st.builds(Decorrelated, st.sampled_from(["inside", "outside"]))
)
st.register_type_strategy(RetryAfter, st.builds(RetryAfter, honour=st.booleans(), at_most=seconds))
st.register_type_strategy(
    Statuses,
    st.builds(lambda retry, never: Statuses(retry=retry, never=never - retry), codes, codes),
)
st.register_type_strategy(
    Policy,
    st.builds(
        Policy,
        backoff=st.one_of([st.from_type(kind) for kind in get_args(Backoff)]),
        jitter=st.one_of([st.from_type(kind) for kind in get_args(Jitter)]),
        attempts=st.none() | st.integers(1, 20) | st.integers(min_value=1),
        within=st.none() | seconds,
        attempt_timeout=st.none() | seconds.filter(bool),
        retry_after=st.from_type(RetryAfter),
        statuses=st.from_type(Statuses),
        nested=st.booleans(),
        name=st.text(max_size=20),
    ),
)
