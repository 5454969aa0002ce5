"""Samples differ where they must, and agree with what they are samples of."""

from tarry.service.model.delivery import ENDED, LIVE
from tarry.testing.samples import (
    NOON,
    a_due,
    a_message,
    a_notice,
    an_application,
    an_attempt,
    an_endpoint,
    delivered,
    failed,
    new_id,
    new_message,
    postponed,
    put_back,
)

DUE = a_due(lane=3, seq=9, message="msg_1", tries=4, attempts=2)


def test_every_id_is_new_and_sorts_behind_the_one_before() -> None:
    ids = [new_id("msg_") for _ in range(5000)]
    assert ids == sorted(set(ids))


def test_what_is_said_counts_and_the_rest_is_usual() -> None:
    application = an_application(name="Other")
    assert (application.name, application.created_at) == ("Other", NOON)
    assert an_endpoint(application).application == application.id
    assert an_endpoint("app_1", rate=5.0).rate == 5.0
    assert a_message("app_1", payload=b"x").payload == b"x"
    new = new_message(application, key="k", fingerprint=b"f", event_type="b")
    assert (new.key, new.fingerprint, new.message.event_type) == ("k", b"f", "b")


def test_a_notice_is_about_its_endpoint() -> None:
    endpoint = an_endpoint("app_1")
    notice = a_notice(endpoint)
    assert (notice.application, notice.endpoint) == ("app_1", endpoint.id)


def test_an_attempt_is_the_next_one_at_what_was_fetched() -> None:
    attempt = an_attempt(DUE)
    assert (attempt.lane, attempt.message, attempt.number) == (3, "msg_1", 5)


def test_settlements_are_fenced_by_what_was_fetched() -> None:
    settlements = [delivered(DUE), postponed(DUE, NOON + 5), put_back(DUE), failed(DUE)]
    assert {(settlement.lane, settlement.seq, settlement.tries) for settlement in settlements} == {
        (3, 9, 4)
    }
    assert [settlement.state in ENDED for settlement in settlements] == [True, False, False, True]
    assert [settlement.state in LIVE for settlement in settlements] == [False, True, True, False]
    assert [settlement.attempts for settlement in settlements] == [3, 3, 2, 3]
    assert [settlement.ended_at is None for settlement in settlements] == [False, True, True, False]
    assert settlements[1].due_at == NOON + 5
