"""The floor: what a good engineer writes without a library."""

import asyncio
import time
from functools import wraps
from random import random

from contest.work import CAP, ERRORS, HOUR, Function, Setting, Wrap, in_kind


def no_wrapper(_: Setting) -> Wrap:
    """The bare call."""
    return lambda function: function


def loop(setting: Setting) -> Wrap:
    """Retry in a loop: exponential backoff with a cap and full jitter."""
    attempts, base = setting.attempts, setting.base
    return lambda function: in_kind(
        function, _loop(function, attempts, base), _aloop(function, attempts, base)
    )


def _loop(function: Function, attempts: int, base: float) -> Function:
    @wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        for attempt in range(attempts):
            try:
                return function(*args, **kwargs)
            except ERRORS:
                if attempt == attempts - 1:
                    raise
                wait = random() * min(CAP, base * 2**attempt)
                if wait:
                    time.sleep(wait)
        return None

    return call


def _aloop(function: Function, attempts: int, base: float) -> Function:
    @wraps(function)
    async def call(*args: object, **kwargs: object) -> object:
        for attempt in range(attempts):
            try:
                return await function(*args, **kwargs)
            except ERRORS:
                if attempt == attempts - 1:
                    raise
                wait = random() * min(CAP, base * 2**attempt)
                if wait:
                    await asyncio.sleep(wait)
        return None

    return call


def while_loop(setting: Setting) -> Wrap:
    """The same without a range, which every call of `loop` makes: the least there can be."""
    attempts, base = setting.attempts, setting.base
    return lambda function: in_kind(
        function, _while_loop(function, attempts, base), _awhile_loop(function, attempts, base)
    )


def _while_loop(function: Function, attempts: int, base: float) -> Function:
    @wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        attempt = 1
        while True:
            try:
                return function(*args, **kwargs)
            except ERRORS:
                if attempt == attempts:
                    raise
                wait = random() * min(CAP, base * 2 ** (attempt - 1))
                if wait:
                    time.sleep(wait)
            attempt += 1

    return call


def _awhile_loop(function: Function, attempts: int, base: float) -> Function:
    @wraps(function)
    async def call(*args: object, **kwargs: object) -> object:
        attempt = 1
        while True:
            try:
                return await function(*args, **kwargs)
            except ERRORS:
                if attempt == attempts:
                    raise
                wait = random() * min(CAP, base * 2 ** (attempt - 1))
                if wait:
                    await asyncio.sleep(wait)
            attempt += 1

    return call


class Opened(Exception):  # noqa: N818  named for what happened
    """The breaker written by hand is open."""


class Breaker:
    """Opens on five failures in a row, for an hour. No lock: fine in one thread, and the floor."""

    def __init__(self) -> None:
        self.failures = 0
        self.open_until = 0.0

    def enter(self) -> None:
        """Refuse the call while open."""
        if self.open_until and time.monotonic() < self.open_until:
            raise Opened

    def failed(self) -> None:
        """Count a failure."""
        self.failures += 1
        if self.failures >= 5:  # noqa: PLR2004  what every library here opens on
            self.open_until = time.monotonic() + HOUR


def breaker(_: Setting) -> Wrap:
    """Guard with a breaker written by hand."""

    def wrap(function: Function) -> Function:
        state = Breaker()

        @wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            state.enter()
            try:
                result = function(*args, **kwargs)
            except ERRORS:
                state.failed()
                raise
            state.failures = 0
            return result

        @wraps(function)
        async def acall(*args: object, **kwargs: object) -> object:
            state.enter()
            try:
                result = await function(*args, **kwargs)
            except ERRORS:
                state.failed()
                raise
            state.failures = 0
            return result

        return in_kind(function, call, acall)

    return wrap
