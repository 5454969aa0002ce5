import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest
import standardwebhooks
import svix.webhooks

import tarry
from tarry.receive import (
    WINDOW,
    MalformedHeaders,
    Memory,
    MessageReplayed,
    VerificationError,
    Webhook,
)
from tarry.service.wire.secret import generate_private, generate_shared, public_of
from tarry.service.wire.sign import Signer

ID = "msg_1"
BODY = b'{"type": "order.paid"}'
NOW = 1_700_000_000.0
SECRET = generate_shared()
Headers = dict[str, str]


def signed(
    secret: str = SECRET, *, message: str = ID, body: bytes = BODY, now: float = NOW
) -> Headers:
    return dict(Signer.of([(secret, None)]).headers(message, 1, body, now=now))


class Time:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class Table:
    """A memory of somebody's own, which tells what it was asked."""

    def __init__(self) -> None:
        self.until: dict[str, float] = {}
        self.asked: list[tuple[str, str]] = []

    def add(self, message: str, until: float) -> bool:
        self.asked.append(("add", message))
        new = message not in self.until
        self.until[message] = max(until, self.until.get(message, until))
        return new

    def known(self, message: str) -> bool:
        self.asked.append(("known", message))
        return message in self.until


def at(now: float) -> Callable[[], float]:
    return lambda: now


def test_a_message_is_verified_by_the_clock_of_this_machine() -> None:
    now = datetime.now(UTC).timestamp()
    verified = Webhook(SECRET).verify(BODY, signed(now=now))
    assert (verified.id, verified.body, verified.json()) == (ID, BODY, {"type": "order.paid"})
    with pytest.raises(VerificationError, match="s old; at most 300 s"):
        Webhook(SECRET).verify(BODY, signed(now=now - 310))


@pytest.mark.parametrize(
    "packaged", [standardwebhooks.Webhook, svix.webhooks.Webhook], ids=["standardwebhooks", "svix"]
)
@pytest.mark.parametrize("family", ["webhook", "svix"])
def test_what_other_packages_sign_is_verified(
    packaged: type[standardwebhooks.Webhook], family: str
) -> None:
    now = datetime.now(UTC)
    headers = {
        f"{family}-id": ID,
        f"{family}-timestamp": str(int(now.timestamp())),
        f"{family}-signature": packaged(SECRET).sign(ID, now, BODY.decode()),
    }
    assert Webhook(SECRET).verify(BODY, headers).id == ID
    with pytest.raises(VerificationError, match="no signature fits"):
        Webhook(SECRET).verify(BODY + b" ", headers)


def test_several_secrets_and_public_keys_will_do() -> None:
    private, old = generate_private(), generate_shared()
    webhook = Webhook(public_of(private), old, clock=at(NOW))
    for secret in (private, old):
        assert webhook.verify(BODY, signed(secret)).id == ID
    with pytest.raises(VerificationError):
        webhook.verify(BODY, signed(generate_shared()))


def test_the_window_can_be_set() -> None:
    assert Webhook(SECRET, window=10, clock=at(NOW + 10)).verify(BODY, signed()).id == ID
    with pytest.raises(VerificationError, match="11 s old; at most 10 s"):
        Webhook(SECRET, window=10, clock=at(NOW + 11)).verify(BODY, signed())


@pytest.mark.parametrize("window", [0, -1.0, float("inf"), float("nan")])
def test_a_window_that_is_none_is_refused(window: float) -> None:
    with pytest.raises(ValueError, match=r"'window' is .* it must be a number of seconds above 0"):
        Webhook(SECRET, window=window)


def test_without_a_memory_a_message_may_come_any_number_of_times() -> None:
    webhook = Webhook(SECRET, clock=at(NOW))
    for _ in range(3):
        assert webhook.verify(BODY, signed()).id == ID


def test_with_a_memory_it_comes_once() -> None:
    webhook = Webhook(SECRET, seen=Memory(clock=at(NOW)), clock=at(NOW))
    webhook.verify(BODY, signed())
    with pytest.raises(MessageReplayed, match="'msg_1' was handled before") as refused:
        webhook.verify(BODY, signed())
    assert (refused.value.id, refused.value.handled) == (ID, True)
    with pytest.raises(MessageReplayed):
        webhook.verify(BODY, signed(now=NOW + 30))
    assert webhook.verify(BODY, signed(message="msg_2")).id == "msg_2"


def test_what_is_not_proven_is_not_remembered() -> None:
    table = Table()
    webhook = Webhook(SECRET, seen=table, clock=at(NOW))
    for body, headers in ((b"{}", signed()), (BODY, {}), (BODY, signed(now=NOW - 400))):
        with pytest.raises(VerificationError):
            webhook.verify(body, headers)
    assert table.asked == []


def test_an_id_is_remembered_until_no_request_with_it_can_be_verified() -> None:
    time = Time()
    webhook = Webhook(SECRET, seen=Memory(clock=time), clock=time)
    webhook.verify(BODY, signed())
    time.now += 200
    again = signed(now=time.now)
    with pytest.raises(MessageReplayed):
        webhook.verify(BODY, again)
    time.now += WINDOW
    with pytest.raises(MessageReplayed):
        webhook.verify(BODY, again)
    time.now += 1
    with pytest.raises(VerificationError, match="301 s old"):
        webhook.verify(BODY, again)


def test_one_that_could_not_be_handled_may_come_again() -> None:
    webhook = Webhook(SECRET, seen=Memory(clock=at(NOW)), clock=at(NOW))
    with pytest.raises(ZeroDivisionError), webhook.handling(BODY, signed()):
        raise ZeroDivisionError
    with webhook.handling(BODY, signed()) as verified:
        assert verified.id == ID
    with pytest.raises(MessageReplayed), webhook.handling(BODY, signed()):
        pytest.fail("it was handled")


def test_one_that_is_being_handled_is_told_from_one_that_was() -> None:
    webhook = Webhook(SECRET, seen=Memory(clock=at(NOW)), clock=at(NOW))
    with webhook.handling(BODY, signed()):
        with pytest.raises(MessageReplayed, match="is being handled already") as refused:
            webhook.start(BODY, signed())
        assert not refused.value.handled
    with pytest.raises(MessageReplayed, match="was handled before"):
        webhook.verify(BODY, signed())


def test_one_that_came_again_meanwhile_is_remembered_for_longer() -> None:
    table = Table()
    webhook = Webhook(SECRET, seen=table, clock=at(NOW))
    with webhook.handling(BODY, signed()), pytest.raises(MessageReplayed):
        webhook.start(BODY, signed(now=NOW + 40))
    assert table.until == {ID: NOW + 40 + WINDOW}


def test_one_of_many_threads_handles_it() -> None:
    webhook = Webhook(SECRET, seen=Memory(clock=at(NOW)), clock=at(NOW))
    go, handled = Event(), []

    def handle() -> None:
        go.wait()
        with webhook.handling(BODY, signed()) as verified:
            handled.append(verified)

    with ThreadPoolExecutor(8) as pool:
        told = [pool.submit(handle) for _ in range(8)]
        go.set()
    refusals = [outcome.exception() for outcome in told if outcome.exception()]
    assert len(handled) == 1
    assert len(refusals) == 7
    assert all(isinstance(refusal, MessageReplayed) for refusal in refusals)


def test_a_memory_of_ones_own_is_asked_and_told() -> None:
    table = Table()
    webhook = Webhook(SECRET, seen=table, clock=at(NOW))
    assert webhook.waits
    assert not Webhook(SECRET).waits
    assert not Webhook(SECRET, seen=Memory()).waits
    with webhook.handling(BODY, signed()):
        assert table.asked == [("known", ID)], "nothing is kept before it is handled"
    assert table.asked == [("known", ID), ("add", ID)]
    assert table.until == {ID: NOW + WINDOW}
    with pytest.raises(MessageReplayed), webhook.handling(BODY, signed(now=NOW + 9)):
        pytest.fail("it was handled")
    assert table.until == {ID: NOW + 9 + WINDOW}


def test_what_a_process_had_in_hand_when_it_died_is_new_for_the_next_one() -> None:
    table = Table()
    Webhook(SECRET, seen=table, clock=at(NOW)).start(BODY, signed())
    with Webhook(SECRET, seen=table, clock=at(NOW)).handling(BODY, signed()) as verified:
        assert verified.id == ID


def test_one_that_is_only_verified_is_remembered_at_once() -> None:
    table = Table()
    one, other = (Webhook(SECRET, seen=table, clock=at(NOW)) for _ in range(2))
    one.verify(BODY, signed())
    for webhook in (one, other):
        with pytest.raises(MessageReplayed):
            webhook.verify(BODY, signed())
        with pytest.raises(MessageReplayed):
            webhook.start(BODY, signed())


class Broken(Table):
    """Away for the first time that it is asked."""

    def known(self, message: str) -> bool:
        if not self.asked:
            self.asked.append(("known", message))
            raise ConnectionError("the table is away")
        return super().known(message)

    def add(self, message: str, until: float) -> bool:
        if self.asked.count(("known", message)) == 2:
            self.known(message)
            raise ConnectionError("the table is away again")
        return super().add(message, until)


def test_a_memory_that_fails_leaves_nothing_in_hand() -> None:
    webhook = Webhook(SECRET, seen=Broken(), clock=at(NOW))
    with pytest.raises(ConnectionError, match="away"):
        webhook.start(BODY, signed())
    with pytest.raises(ConnectionError, match="away again"), webhook.handling(BODY, signed()):
        pass
    with webhook.handling(BODY, signed()) as verified:
        assert verified.id == ID


def test_a_missing_header_is_no_wrong_signature() -> None:
    with pytest.raises(MalformedHeaders, match="'webhook-id' is missing"):
        Webhook(SECRET).verify(BODY, {})


def test_a_receiver_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tarry.receive;"
        f"tarry.receive.Webhook({SECRET!r}); print(*sys.modules, sep='\\n')"
    )
    bare = [sys.executable, "-I", "-S", "-c", code, str(Path(tarry.__file__).parents[1])]
    loaded = subprocess.run(bare, capture_output=True, text=True, check=True).stdout.split()
    heavy = ("asyncio", "cryptography", "http", "json", "logging", "msgspec", "tarry.service")
    assert "tarry.receive" in loaded
    assert not [name for name in heavy if name in loaded]
