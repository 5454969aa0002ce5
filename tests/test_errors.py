import copy
import pickle

import pytest

from tarry.errors import (
    AttemptTimedOut,
    BacklogFull,
    BudgetSpent,
    CircuitOpen,
    Conflict,
    DecorationError,
    DiskNearlyFull,
    EgressRefused,
    ErasedKeyError,
    GaveUp,
    MalformedHeaders,
    MessageReplayed,
    NotFound,
    PolicyError,
    PolicyFormatError,
    Refused,
    ScenarioError,
    SchemaMismatch,
    SealError,
    ServiceError,
    SettingsError,
    StoreError,
    StoreOwned,
    StoreUnavailable,
    TarryError,
    TooManyEndpoints,
    TooManyReplays,
    VerificationError,
)

EXAMPLES = [
    PolicyError("within", -1, "a number of seconds"),
    PolicyFormatError("backoff.cap", "9", "a number"),
    DecorationError("name what to retry"),
    AttemptTimedOut(2.5),
    CircuitOpen("orders", 120.0, 12.5),
    BudgetSpent("orders"),
    GaveUp("all attempts are used up", attempts=3, elapsed=1.25, last=[1], retry_after=9.0),
    ScenarioError("clients", 0, "a whole number, 1 or more"),
    SettingsError("listen", "here", "an address and a port"),
    NotFound("endpoint", "ep_1"),
    Conflict("application", "shop"),
    BacklogFull("app_1", 1000),
    EgressRefused("10.0.0.1", "it is in a private network"),
    SealError("the key 'a' is not among those given"),
    VerificationError("no signature fits"),
    StoreError("the disk is full"),
    StoreUnavailable("it is starting up", 2.5),
    StoreOwned("hooks.db", "process 7"),
    SchemaMismatch(3, 4),
    MalformedHeaders("the header 'webhook-id' is missing"),
    MessageReplayed("msg_1", handled=False),
    TooManyReplays("ep_1", 10),
    TooManyEndpoints("app_1", 1000),
    DiskNearlyFull("app_1", 12_000_000, 256_000_000),
    ErasedKeyError(),
]


@pytest.mark.parametrize(
    ("kind", "parents"),
    [
        (PolicyError, (TarryError, ValueError)),
        (PolicyFormatError, (PolicyError,)),
        (ScenarioError, (TarryError, ValueError)),
        (DecorationError, (TarryError, TypeError)),
        (AttemptTimedOut, (TarryError, TimeoutError)),
        (Refused, (TarryError,)),
        (CircuitOpen, (Refused,)),
        (BudgetSpent, (Refused,)),
        (GaveUp, (TarryError,)),
        (ServiceError, (TarryError,)),
        (SettingsError, (TarryError, ValueError, ServiceError)),
        (NotFound, (ServiceError,)),
        (Conflict, (ServiceError,)),
        (BacklogFull, (ServiceError,)),
        (DiskNearlyFull, (BacklogFull,)),
        (TooManyReplays, (ServiceError,)),
        (TooManyEndpoints, (ServiceError,)),
        (EgressRefused, (ServiceError,)),
        (SealError, (ServiceError,)),
        (ErasedKeyError, (ServiceError,)),
        (VerificationError, (ServiceError,)),
        (MalformedHeaders, (VerificationError,)),
        (MessageReplayed, (VerificationError,)),
        (StoreError, (ServiceError,)),
        (StoreUnavailable, (StoreError,)),
        (StoreOwned, (StoreError,)),
        (SchemaMismatch, (StoreError,)),
        (TarryError, (Exception,)),
    ],
)
def test_the_errors_are_one_tree(kind: type, parents: tuple[type, ...]) -> None:
    assert public_bases(kind) == parents


def public_bases(kind: type) -> tuple[type, ...]:
    """What a class is made from, as its users see it."""
    found: list[type] = []
    for base in kind.__bases__:
        found += public_bases(base) if base.__name__.startswith("_") else [base]
    return tuple(found)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (EXAMPLES[0], "'within' is -1; it must be a number of seconds"),
        (EXAMPLES[1], "'backoff.cap' is '9'; it must be a number"),
        (EXAMPLES[2], "name what to retry"),
        (EXAMPLES[3], "the attempt was cut off after 2.5 s"),
        (EXAMPLES[4], "circuit 'orders' is open; try again in 12.5 s"),
        (EXAMPLES[5], "retry budget 'orders' is spent"),
        (EXAMPLES[6], "gave up after 3 attempts in 1.25 s: all attempts are used up"),
        (EXAMPLES[7], "'clients' is 0; it must be a whole number, 1 or more"),
        (EXAMPLES[8], "'listen' is 'here'; it must be an address and a port"),
        (EXAMPLES[9], "there is no endpoint 'ep_1'"),
        (EXAMPLES[10], "there is another application with 'shop' already"),
        (
            EXAMPLES[11],
            (
                "application 'app_1' has 1000 deliveries waiting, as many as it may;"
                " nothing was accepted"
            ),
        ),
        (EXAMPLES[12], "'10.0.0.1' must not be called: it is in a private network"),
        (EXAMPLES[13], "the key 'a' is not among those given"),
        (EXAMPLES[14], "no signature fits"),
        (EXAMPLES[15], "the disk is full"),
        (EXAMPLES[16], "the database cannot be used just now: it is starting up"),
        (
            EXAMPLES[17],
            (
                "hooks.db has a dispatcher already (process 7): an SQLite file takes one;"
                " stop it, or use PostgreSQL for several"
            ),
        ),
        (
            EXAMPLES[18],
            "the database has schema 3, this tarry works with 4; run `tarry migrate up`",
        ),
        (EXAMPLES[19], "the header 'webhook-id' is missing"),
        (EXAMPLES[20], "the message 'msg_1' is being handled already"),
        (
            EXAMPLES[21],
            (
                "endpoint 'ep_1' has 10 recoveries and replays that are not done yet, as many as"
                " it may; wait until one is done"
            ),
        ),
        (ErasedKeyError(), "the data key was erased while it was in use"),
        (MessageReplayed("msg_1"), "the message 'msg_1' was handled before"),
        (
            SchemaMismatch(5, 4),
            (
                "the database has schema 5, this tarry works with 4;"
                " it was made by a newer tarry: upgrade this one"
            ),
        ),
        (
            EXAMPLES[-2],
            (
                "the database's disk has 12 MB left, and 256 MB are kept for messages accepted"
                " earlier; nothing was accepted"
            ),
        ),
        (GaveUp("why", attempts=1, elapsed=0.5), "gave up after 1 attempt in 0.5 s: why"),
        (GaveUp("why", attempts=2, elapsed=1234.6), "gave up after 2 attempts in 1.23e+03 s: why"),
    ],
    ids=repr,
)
def test_an_error_says_what_happened(error: TarryError, message: str) -> None:
    assert str(error) == message


@pytest.mark.parametrize("error", EXAMPLES, ids=repr)
def test_an_error_survives_pickling_with_its_facts(error: TarryError) -> None:
    restored = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert type(restored) is type(error)
    assert str(restored) == str(error)
    assert vars(restored) == vars(error)


@pytest.mark.parametrize("error", EXAMPLES, ids=repr)
def test_an_error_keeps_its_notes_in_a_pickle(error: TarryError) -> None:
    noted = copy.copy(error)
    noted.add_note("tarry: 3 attempts")
    restored = pickle.loads(pickle.dumps(noted))  # noqa: S301  our own bytes
    assert restored.__notes__ == ["tarry: 3 attempts"]
    assert not hasattr(error, "__notes__")


def test_the_facts_are_attributes() -> None:
    policy_error = PolicyError("within", -1, "a number")
    assert (policy_error.field, policy_error.value, policy_error.wanted) == (
        "within",
        -1,
        "a number",
    )
    assert PolicyFormatError("backoff.cap", 1, "a number").path == "backoff.cap"
    circuit = CircuitOpen("orders", 120.0, 12.5)
    assert (circuit.name, circuit.retry_at, circuit.retry_in) == ("orders", 120.0, 12.5)
    assert BudgetSpent("orders").name == "orders"
    assert AttemptTimedOut(2.5).seconds == 2.5
    gave_up = GaveUp("why", attempts=3, elapsed=1.25, last="no", retry_after=9.0)
    facts = (gave_up.why, gave_up.attempts, gave_up.elapsed, gave_up.last, gave_up.retry_after)
    assert facts == ("why", 3, 1.25, "no", 9.0)
    bare = GaveUp("why", attempts=1, elapsed=0.0)
    assert bare.last is None
    assert bare.retry_after is None


def test_the_facts_of_the_service_are_attributes() -> None:
    settings = SettingsError("listen", "here", "an address")
    assert (settings.field, settings.value, settings.wanted) == ("listen", "here", "an address")
    missing = NotFound("endpoint", "ep_1")
    assert (missing.kind, missing.id, missing.why) == ("endpoint", "ep_1", "")
    conflict = Conflict("application", "shop")
    assert (conflict.kind, conflict.key, conflict.called) == ("application", "shop", "")
    assert "with the event id 'e-1'" in str(Conflict("message", "e-1", "event id"))
    full = BacklogFull("app_1", 1000)
    assert (full.application, full.allowed) == ("app_1", 1000)
    disk = DiskNearlyFull("app_1", 12_000_000, 256_000_000)
    assert (disk.application, disk.allowed) == ("app_1", 0)
    assert (disk.left, disk.reserve) == (12_000_000, 256_000_000)
    replays = TooManyReplays("ep_1", 10)
    assert (replays.endpoint, replays.allowed) == ("ep_1", 10)
    endpoints = TooManyEndpoints("app_1", 1000)
    assert (endpoints.application, endpoints.allowed) == ("app_1", 1000)
    assert "at most 1000 endpoints" in str(endpoints)
    refused = EgressRefused("10.0.0.1", "private", "--allow-network")
    assert (refused.host, refused.rule) == ("10.0.0.1", "private")
    assert refused.option == "--allow-network"
    away = StoreUnavailable("starting")
    assert (away.reason, away.retry_after) == ("starting", 1.0)
    assert StoreUnavailable("starting", 2.5).retry_after == 2.5
    owned = StoreOwned("hooks.db", "process 7")
    assert (owned.database, owned.owner) == ("hooks.db", "process 7")
    schema = SchemaMismatch(3, 4)
    assert (schema.found, schema.wanted) == (3, 4)


def test_no_error_is_left_out_here() -> None:
    def below(kind: type[TarryError]) -> set[type[TarryError]]:
        return {kind}.union(*(below(heir) for heir in kind.__subclasses__()))

    roots = {TarryError, Refused, ServiceError}
    public = {kind for kind in below(TarryError) if not kind.__name__.startswith("_")}
    ours = {kind for kind in public if kind.__module__ == "tarry.errors"}
    assert {type(error) for error in EXAMPLES} == ours - roots
