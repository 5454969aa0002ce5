"""Every error tarry raises itself, as one tree.

TarryError
├─ PolicyError (ValueError)          field, value, wanted
│  └─ PolicyFormatError              path in the document
├─ ScenarioError (ValueError)        field, value, wanted
├─ DecorationError (TypeError)       what was decorated cannot be retried
├─ AttemptTimedOut (TimeoutError)    seconds
├─ Refused                           the call was not made
│  ├─ CircuitOpen                    name, retry_at, retry_in
│  └─ BudgetSpent                    name
├─ GaveUp                            why, attempts, elapsed, last, retry_after
└─ ServiceError                      the webhook service
   ├─ SettingsError (ValueError)     field, value, wanted
   ├─ NotFound                       kind, id
   ├─ Conflict                       kind, key
   ├─ BacklogFull                    application, allowed
   │  └─ DiskNearlyFull              left, reserve: too little disk space
   ├─ TooManyReplays                 endpoint, allowed
   ├─ TooManyEndpoints               application, allowed
   ├─ EgressRefused                  host, rule, option
   ├─ SealError                      a secret cannot be opened: another key, or another row
   ├─ ErasedKeyError                 a data key was erased while it was in use
   ├─ VerificationError              a received message could not be verified
   │  ├─ MalformedHeaders            a header of the signature is missing or wrong
   │  └─ MessageReplayed             id, handled: it was received before
   └─ StoreError
      ├─ StoreUnavailable            retry_after: not stored, or unknown
      ├─ StoreOwned                  another dispatcher uses it
      └─ SchemaMismatch              found, wanted

An exception of the wrapped function is never in this tree: it comes out itself, with a note.
"""

from functools import partial
from typing import Any


class TarryError(Exception):
    """The root of everything tarry raises itself."""


class _SettingError(TarryError, ValueError):
    """A setting has an invalid value; `wanted` says which values are allowed."""

    def __init__(self, field: str, value: object, wanted: str) -> None:
        super().__init__(field, value, wanted)
        self.field = field
        self.value = value
        self.wanted = wanted

    def __str__(self) -> str:
        return f"{self.field!r} is {self.value!r}; it must be {self.wanted}"


class PolicyError(_SettingError):
    """A setting holds a value that cannot work."""


class PolicyFormatError(PolicyError):
    """A policy document (dict, JSON or TOML) cannot be read; `path` says where."""

    @property
    def path(self) -> str:
        """Where in the document, e.g. ``backoff.cap``."""
        return self.field


class ScenarioError(_SettingError):
    """A scenario of the simulator cannot be read or cannot be played."""


class DecorationError(TarryError, TypeError):
    """`retry` was put on something it cannot retry, or without saying what to retry."""


class AttemptTimedOut(TarryError, TimeoutError):  # noqa: N818  a TimeoutError says what, not "Error"
    """An attempt took longer than the policy's `attempt_timeout` (or than the time left)."""

    def __init__(self, seconds: float, plan: object = None) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.plan = plan  # the call that set the limit: only that call may retry the timeout

    def __reduce__(self) -> tuple[object, ...]:
        # A plan holds functions: it stays in the process it belongs to.
        return type(self), (self.seconds,), {**self.__dict__, "plan": None}

    def __str__(self) -> str:
        return f"the attempt was cut off after {self.seconds:.3g} s"


class Refused(TarryError):  # noqa: N818  named for what happened, as the glossary has it
    """A guard did not let the call be made."""


class CircuitOpen(Refused):
    """The breaker is open. Come back at `retry_at` (monotonic clock), `retry_in` seconds away."""

    def __init__(self, name: str, retry_at: float, retry_in: float) -> None:
        super().__init__(name, retry_at, retry_in)
        self.name = name
        self.retry_at = retry_at
        self.retry_in = retry_in

    def __str__(self) -> str:
        return f"circuit {self.name!r} is open; try again in {self.retry_in:.3g} s"


class BudgetSpent(Refused):
    """A retry budget has nothing left."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"retry budget {self.name!r} is spent"


class GaveUp(TarryError):  # noqa: N818  named for what happened, as the glossary has it
    """Retrying ended on an unwanted result, so there is no exception to pass on."""

    def __init__(
        self,
        why: str,
        *,
        attempts: int,
        elapsed: float,
        last: object = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(why)
        self.why = why
        self.attempts = attempts
        self.elapsed = elapsed
        self.last = last
        self.retry_after = retry_after

    def __str__(self) -> str:
        tries = "attempt" if self.attempts == 1 else "attempts"
        return f"gave up after {self.attempts} {tries} in {self.elapsed:.3g} s: {self.why}"

    def __reduce__(self) -> tuple[object, ...]:
        facts: dict[str, Any] = {
            "attempts": self.attempts,
            "elapsed": self.elapsed,
            "last": self.last,
            "retry_after": self.retry_after,
        }
        return partial(type(self), self.why, **facts), (), self.__dict__


class ServiceError(TarryError):
    """The root of what the webhook service raises."""


class SettingsError(_SettingError, ServiceError):
    """A setting of the service holds a value that cannot work."""


class NotFound(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """The object does not exist, or belongs to another tenant; `why`, if it may be shown."""

    def __init__(self, kind: str, id: str, why: str = "") -> None:  # noqa: A002  an id is what it is
        super().__init__(kind, id, why)
        self.kind = kind
        self.id = id
        self.why = why

    def __str__(self) -> str:
        return f"there is no {self.kind} {self.id!r}" + (f": {self.why}" if self.why else "")


class Conflict(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """Another object of this kind has this key already.

    `called` is the caller's name for the key if there are several kinds: "event id".
    """

    def __init__(self, kind: str, key: str, called: str = "") -> None:
        super().__init__(kind, key, called)
        self.kind = kind
        self.key = key
        self.called = called

    def __str__(self) -> str:
        name = f"the {self.called} {self.key!r}" if self.called else repr(self.key)
        return f"there is another {self.kind} with {name} already"


class BacklogFull(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """An application's quota of waiting deliveries is used up. Nothing was stored; try later."""

    def __init__(self, application: str, allowed: int) -> None:
        super().__init__(application, allowed)
        self.application = application
        self.allowed = allowed

    def __str__(self) -> str:
        return (
            f"application {self.application!r} has {self.allowed} deliveries waiting, as many as it"
            " may; nothing was accepted"
        )


class DiskNearlyFull(BacklogFull):
    """The database's disk has too little space for new messages. Nothing was stored; try later.

    The remaining space, `left` bytes, is for messages that were accepted already. `allowed` is 0
    for every application.
    """

    def __init__(self, application: str, left: int, reserve: int) -> None:
        super().__init__(application, 0)
        self.args = (application, left, reserve)
        self.left = left
        self.reserve = reserve

    def __str__(self) -> str:
        return (
            f"the database's disk has {self.left // 1_000_000} MB left, and"
            f" {self.reserve // 1_000_000} MB are kept for messages accepted earlier;"
            " nothing was accepted"
        )


class TooManyReplays(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """An endpoint has too many pending recoveries and replays: wait until one is done."""

    def __init__(self, endpoint: str, allowed: int) -> None:
        super().__init__(endpoint, allowed)
        self.endpoint = endpoint
        self.allowed = allowed

    def __str__(self) -> str:
        return (
            f"endpoint {self.endpoint!r} has {self.allowed} recoveries and replays that are not"
            " done yet, as many as it may; wait until one is done"
        )


class TooManyEndpoints(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """An application has as many endpoints as it may: delete one, or raise the limit."""

    def __init__(self, application: str, allowed: int) -> None:
        super().__init__(application, allowed)
        self.application = application
        self.allowed = allowed

    def __str__(self) -> str:
        return (
            f"application {self.application!r} may have at most {self.allowed} endpoints and has as"
            " many; delete one, or have the operator of this server raise --most-endpoints"
        )


class EgressRefused(ServiceError):  # noqa: N818  named for what happened, as the glossary has it
    """A URL or an address that must not be called; `rule` says which rule forbids it.

    `option` is the command line option that would allow it, if there is one.
    """

    def __init__(self, host: str, rule: str, option: str = "") -> None:
        super().__init__(host, rule, option)
        self.host = host
        self.rule = rule
        self.option = option

    def __str__(self) -> str:
        return f"{self.host!r} must not be called: {self.rule}"


class SealError(ServiceError):
    """A sealed secret cannot be opened: it was sealed with another key, or for another row."""


class ErasedKeyError(ServiceError):
    """The data key that a value was sealed with was erased: seal the value with a new one."""

    def __str__(self) -> str:
        return "the data key was erased while it was in use"


class VerificationError(ServiceError):
    """A received message is not verified: no signature matches, or it is too old or too new."""


class MalformedHeaders(VerificationError):  # noqa: N818  named for what happened
    """A header of the signature is missing, duplicated or invalid."""


class MessageReplayed(VerificationError):  # noqa: N818  named for what happened
    """A verified message was received before; if it is not `handled` yet, it is being handled."""

    def __init__(self, id: str, *, handled: bool = True) -> None:  # noqa: A002  as in NotFound
        super().__init__(id)
        self.id = id
        self.handled = handled

    def __str__(self) -> str:
        return f"the message {self.id!r} " + (
            "was handled before" if self.handled else "is being handled already"
        )


class StoreError(ServiceError):
    """The database failed; its own error is the cause."""


class StoreUnavailable(StoreError):  # noqa: N818  named for what happened, as the glossary has it
    """The database cannot be written to just now. Try again, with the same key."""

    def __init__(self, reason: str, retry_after: float = 1.0) -> None:
        super().__init__(reason, retry_after)
        self.reason = reason
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"the database cannot be used just now: {self.reason}"


class StoreOwned(StoreError):  # noqa: N818  named for what happened, as the glossary has it
    """Another dispatcher uses this database, which allows only one."""

    def __init__(self, database: str, owner: str) -> None:
        super().__init__(database, owner)
        self.database = database
        self.owner = owner

    def __str__(self) -> str:
        return (
            f"{self.database} has a dispatcher already ({self.owner}): an SQLite file takes one;"
            " stop it, or use PostgreSQL for several"
        )


class SchemaMismatch(StoreError):  # noqa: N818  named for what happened, as the glossary has it
    """The database's schema is not the one this version works with."""

    def __init__(self, found: int, wanted: int) -> None:
        super().__init__(found, wanted)
        self.found = found
        self.wanted = wanted

    def __str__(self) -> str:
        advice = (
            "it was made by a newer tarry: upgrade this one"
            if self.found > self.wanted
            else "run `tarry migrate up`"
        )
        return (
            f"the database has schema {self.found}, this tarry works with {self.wanted}; {advice}"
        )
