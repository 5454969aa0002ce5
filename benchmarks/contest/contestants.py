"""Who takes part, each set up as its own documentation says, hooks and logging off.

A contestant's library is imported when it is set up, so that one that is missing can be reported.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import wraps
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Literal

from contest import by_hand
from contest.work import CAP, ERRORS, HOUR, USUAL, WITHIN, Function, Setting, Wrap, in_kind

PLENTY = 1_000_000
Only = Literal["", "sync", "async"]


@dataclass(frozen=True)
class Contestant:
    """One row of a table: how to put the library around a function, and for which kind."""

    name: str
    make: Callable[[Setting], Wrap]
    only: Only = ""


# --- Retries ------------------------------------------------------------------------------------


def tarry_retry(setting: Setting, *, scoped: bool = True) -> Wrap:
    """Its defaults, as far as the setting allows."""
    tarry = import_module("tarry")
    backoff = tarry.Exponential(base=setting.base, cap=CAP)
    policy = tarry.Policy(backoff=backoff, attempts=setting.attempts)
    wrap: Wrap = tarry.retry(None if setting == USUAL else policy, on=ERRORS, scoped=scoped)
    return wrap


def tarry_unscoped(setting: Setting) -> Wrap:
    """Without the guard against retries inside retries."""
    return tarry_retry(setting, scoped=False)


def tarry_full(setting: Setting) -> Wrap:
    """With the jitter that all others have; its own default takes more arithmetic."""
    tarry = import_module("tarry")
    backoff = tarry.Exponential(base=setting.base, cap=CAP)
    policy = tarry.Policy(backoff=backoff, jitter=tarry.Full(), attempts=setting.attempts)
    wrap: Wrap = tarry.retry(policy, on=ERRORS)
    return wrap


def tarry_waiting(setting: Setting) -> Wrap:
    """With waits as they usually are, where everything else is told to wait for nothing."""
    return tarry_retry(replace(setting, base=USUAL.base))


def tenacity_retry(setting: Setting, *, enabled: bool = True) -> Wrap:
    """With the last error itself raised, as all others do."""
    tenacity = import_module("tenacity")
    wrap: Wrap = tenacity.retry(
        retry=tenacity.retry_if_exception_type(ERRORS),
        stop=tenacity.stop_after_attempt(setting.attempts) | tenacity.stop_after_delay(WITHIN),
        wait=tenacity.wait_random_exponential(multiplier=setting.base, max=CAP),
        reraise=True,
        enabled=enabled,
    )
    return wrap


def tenacity_disabled(setting: Setting) -> Wrap:
    """Turned off: what it costs to leave it in place."""
    return tenacity_retry(setting, enabled=False)


def backoff_retry(setting: Setting) -> Wrap:
    """With its logging off."""
    backoff = import_module("backoff")
    wrap: Wrap = backoff.on_exception(
        backoff.expo,
        ERRORS,
        max_tries=setting.attempts,
        max_time=WITHIN,
        logger=None,
        factor=setting.base,
        max_value=CAP,
    )
    return wrap


def stamina_retry(setting: Setting) -> Wrap:
    """With its instrumentation off."""
    stamina = import_module("stamina")
    stamina.instrumentation.set_on_retry_hooks([])
    wrap: Wrap = stamina.retry(
        on=ERRORS,
        attempts=setting.attempts,
        timeout=WITHIN,
        wait_initial=setting.base,
        wait_max=CAP if setting.base else 0.0,
        wait_jitter=setting.base,
    )
    return wrap


def redress_retry(setting: Setting) -> Wrap:
    """Its decorator."""
    redress = import_module("redress")
    wrap: Wrap = redress.retry(
        strategy=redress.equal_jitter(base_s=setting.base, max_s=CAP),
        max_attempts=setting.attempts,
        deadline_s=WITHIN,
    )
    return wrap


def pyresilience_retry(setting: Setting) -> Wrap:
    """Its decorator with nothing but retrying."""
    pyresilience = import_module("pyresilience")
    retry = pyresilience.RetryConfig(
        max_attempts=setting.attempts, delay=setting.base, max_delay=CAP, retry_on=ERRORS
    )
    wrap: Wrap = pyresilience.resilient(retry=retry)
    return wrap


def hyx_retry(setting: Setting) -> Wrap:
    """Its `attempts` are the retries after the first attempt."""
    retry, backoffs = import_module("hyx.retry"), import_module("hyx.retry.backoffs")
    delays = backoffs.expo(min_delay_secs=setting.base, max_delay_secs=CAP)
    wrap: Wrap = retry.retry(on=ERRORS, attempts=setting.attempts - 1, backoff=delays)
    return wrap


# --- Everything on ------------------------------------------------------------------------------


def tarry_guarded(_: Setting) -> Wrap:
    """Breaker, budget and the default deadline."""
    tarry = import_module("tarry")
    wrap: Wrap = tarry.retry(on=ERRORS, breaker=tarry.Breaker(), budget=tarry.Quota())
    return wrap


def tarry_windowed(_: Setting) -> Wrap:
    """The same with guards that count all calls of the last seconds."""
    tarry = import_module("tarry")
    wrap: Wrap = tarry.retry(on=ERRORS, breaker=tarry.Breaker(rate=0.5), budget=tarry.Ratio())
    return wrap


def tenacity_and_breaker(setting: Setting) -> Wrap:
    """A retry around a breaker, with pybreaker where it can and aiobreaker where it cannot."""
    retry = tenacity_retry(setting)

    def wrap(function: Function) -> Function:
        breaker = aio_breaker if iscoroutinefunction(function) else py_breaker
        return retry(breaker(setting)(function))

    return wrap


def backoff_and_breaker(setting: Setting) -> Wrap:
    """The two lightest of the older libraries."""
    retry, breaker = backoff_retry(setting), circuit_breaker(setting)
    return lambda function: retry(breaker(function))


def redress_guarded(setting: Setting) -> Wrap:
    """Its policy object: retry with budget and deadline, and a breaker."""
    redress = import_module("redress")
    options = {
        "classifier": redress.default_classifier,
        "strategy": redress.equal_jitter(base_s=setting.base, max_s=CAP),
        "budget": redress.Budget(max_retries=PLENTY, window_s=10.0),
        "max_attempts": setting.attempts,
        "deadline_s": WITHIN,
    }
    return _redress_policy(
        lambda: redress.Retry(**options), lambda: redress.AsyncRetry(**options), recovery=30.0
    )


def pyresilience_guarded(setting: Setting, *, timeout: bool = False) -> Wrap:
    """Retry, breaker and budget; its only deadline is a timeout."""
    pyresilience = import_module("pyresilience")
    wrap: Wrap = pyresilience.resilient(
        retry=pyresilience.RetryConfig(
            max_attempts=setting.attempts, delay=setting.base, max_delay=CAP, retry_on=ERRORS
        ),
        circuit_breaker=pyresilience.CircuitBreakerConfig(),
        retry_budget=pyresilience.RetryBudgetConfig(),
        timeout=pyresilience.TimeoutConfig(seconds=WITHIN, per_attempt=False) if timeout else None,
    )
    return wrap


def pyresilience_timed(setting: Setting) -> Wrap:
    """With the timeout, which runs a plain function in a thread."""
    return pyresilience_guarded(setting, timeout=True)


# --- Breakers -----------------------------------------------------------------------------------


def tarry_breaker(_: Setting) -> Wrap:
    """Failures in a row."""
    tarry = import_module("tarry")
    wrap: Wrap = tarry.Breaker(open_for=HOUR, on=ERRORS)
    return wrap


def tarry_rate_breaker(_: Setting) -> Wrap:
    """A share of the calls in the last seconds."""
    tarry = import_module("tarry")
    wrap: Wrap = tarry.Breaker(open_for=HOUR, rate=0.5, on=ERRORS)
    return wrap


def py_breaker(_: Setting) -> Wrap:
    """Holds its lock over the call."""
    pybreaker = import_module("pybreaker")
    wrap: Wrap = pybreaker.CircuitBreaker(reset_timeout=HOUR)
    return wrap


def circuit_breaker(_: Setting) -> Wrap:
    """Has no lock."""
    circuitbreaker = import_module("circuitbreaker")
    wrap: Wrap = circuitbreaker.CircuitBreaker(recovery_timeout=HOUR)
    return wrap


def aio_breaker(_: Setting) -> Wrap:
    """A fork of pybreaker that can await."""
    aiobreaker = import_module("aiobreaker")
    wrap: Wrap = aiobreaker.CircuitBreaker(timeout_duration=timedelta(seconds=HOUR))
    return wrap


def pyresilience_breaker(_: Setting, *, calls: int = 0) -> Wrap:
    """Failures in a row, or a share of the last calls."""
    pyresilience = import_module("pyresilience")
    breaker = pyresilience.CircuitBreakerConfig(
        recovery_timeout=HOUR, sliding_window_size=calls, minimum_calls=calls and 5
    )
    wrap: Wrap = pyresilience.resilient(circuit_breaker=breaker)
    return wrap


def pyresilience_rate_breaker(setting: Setting) -> Wrap:
    """Sums its window up at every call."""
    return pyresilience_breaker(setting, calls=100)


def redress_breaker(_: Setting) -> Wrap:
    """Its policy object without a retry."""
    return _redress_policy(lambda: None, lambda: None, recovery=HOUR)


def hyx_breaker(_: Setting) -> Wrap:
    """Failures in a row."""
    hyx = import_module("hyx.circuitbreaker")
    wrap: Wrap = hyx.consecutive_breaker(exceptions=ERRORS, recovery_time_secs=HOUR)
    return wrap


def _redress_policy(
    retry: Callable[[], object], aretry: Callable[[], object], *, recovery: float
) -> Wrap:
    """A decorator for what redress has as a method only."""
    redress = import_module("redress")
    breaker = redress.CircuitBreaker(recovery_timeout_s=recovery)
    policy = redress.Policy(retry=retry(), circuit_breaker=breaker)
    apolicy = redress.AsyncPolicy(retry=aretry(), circuit_breaker=breaker)

    def wrap(function: Function) -> Function:
        @wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            return policy.call(lambda: function(*args, **kwargs))

        @wraps(function)
        async def acall(*args: object, **kwargs: object) -> object:
            return await apolicy.call(lambda: function(*args, **kwargs))

        return in_kind(function, call, acall)

    return wrap


# --- The fields ---------------------------------------------------------------------------------

BARE = Contestant("bare call", by_hand.no_wrapper)
LOOP = Contestant("hand-written loop", by_hand.loop)
WHILE_LOOP = Contestant("the same with while", by_hand.while_loop)
TARRY = Contestant("tarry", tarry_retry)
UNSCOPED = Contestant("tarry, scoped=False", tarry_unscoped)
DISABLED = Contestant("tenacity, enabled=False", tenacity_disabled)
RIVALS = (
    Contestant("tenacity", tenacity_retry),
    Contestant("backoff", backoff_retry),
    Contestant("stamina", stamina_retry),
    Contestant("redress", redress_retry),
    Contestant("pyresilience", pyresilience_retry),
    Contestant("hyx", hyx_retry, only="async"),
)
RETRIES = (LOOP, WHILE_LOOP, TARRY, UNSCOPED, *RIVALS)

FULL = Contestant("tarry, jitter=Full()", tarry_full)
WAITING = Contestant("tarry, waits not zero", tarry_waiting)
FAILING = (LOOP, WHILE_LOOP, TARRY, WAITING, FULL, UNSCOPED, *RIVALS)

QUOTA = Contestant("tarry: Breaker(), Quota()", tarry_guarded)
RATIO = Contestant("tarry: Breaker(rate=0.5), Ratio()", tarry_windowed)
GUARDED = (
    QUOTA,
    RATIO,
    Contestant("tenacity + pybreaker / aiobreaker", tenacity_and_breaker),
    Contestant("backoff + circuitbreaker", backoff_and_breaker),
    Contestant("redress: breaker, budget", redress_guarded),
    Contestant("pyresilience: breaker, budget", pyresilience_guarded),
    Contestant("pyresilience: the same and timeout", pyresilience_timed),
)

HAND_BREAKER = Contestant("hand-written breaker", by_hand.breaker)
BREAKERS = (
    Contestant("tarry", tarry_breaker),
    Contestant("tarry, rate=0.5", tarry_rate_breaker),
    Contestant("pybreaker", py_breaker, only="sync"),
    Contestant("circuitbreaker", circuit_breaker),
    Contestant("aiobreaker", aio_breaker),
    Contestant("pyresilience", pyresilience_breaker),
    Contestant("pyresilience, rate of 100 calls", pyresilience_rate_breaker),
    Contestant("redress", redress_breaker),
    Contestant("hyx", hyx_breaker, only="async"),
)
