"""Steps of people and programs, done by hand: they do something, and to both stores."""

from collections.abc import Callable

from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.model.task import Work
from tarry.service.store.kinds import Messages
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_machine import StoreMachine
from tarry.testing.store_machine.people import MOST_OF_EACH, SWEPT, Draft

Machine = Callable[[type[MemoryStore]], type[StoreMachine]]

PLAIN: Draft = (0, "a", (), None, None, b"", None, None)
KEYED: Draft = (0, "a", (), "one", None, b"", None, None)


def test_messages_are_added_to_both_stores(machine: Machine) -> None:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN, KEYED, KEYED])
    assert len(play.messages) == 2, "the third is the second once more"
    (application, *_) = play.applications
    listed = play.ask(
        lambda side: side.store.page(Messages(application.id, MessageFilter()), Cut())
    )
    assert listed is not None
    assert {message.id for message in listed.entries} == set(play.messages)
    play.teardown()


def test_what_is_there_is_changed_and_taken_away(machine: Machine) -> None:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN])
    play.let_time_pass(seconds=5.0)
    play.change_an_endpoint(which=0, uid="two", standing=Standing.DELETED)
    play.change_an_application(which=1, uid=None, rate=2.5)
    play.resend_a_message(which=0, endpoint_index=1)
    play.cancel_a_message(application_index=0, which=0)
    play.expunge_a_message(application_index=0, which=0)
    play.add_a_task(which=1, work=Work.RECOVER, since=1.0, until=None)
    assert len(play.tasks) == 1
    play.delete_an_application(which=1, is_chosen=True)
    play.sweep(ages=dict.fromkeys(SWEPT, 0.0))
    application_id = play.applications[0].id
    page = play.ask(lambda side: side.store.page(Messages(application_id, MessageFilter()), Cut()))
    assert page is not None
    assert len(page.entries) == 1, "a resend waits for it"
    play.teardown()


def test_there_are_never_many_applications_or_endpoints(machine: Machine) -> None:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN])
    for _ in range(MOST_OF_EACH + 1):
        play.put_an_application(uid=None)
        play.put_an_endpoint(application_index=0, uid=None, wants=None, listens=None, sealed=True)
    assert (len(play.applications), len(play.endpoints)) == (MOST_OF_EACH, MOST_OF_EACH)
    play.teardown()


def test_a_quota_counts_for_messages_that_are_added(machine: Machine) -> None:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN])
    play.change_an_application(which=0, uid=None, rate=None, most_waiting=1)
    play.add_messages(new=[PLAIN, PLAIN])
    assert len(play.messages) == 1
    play.teardown()


def test_a_store_without_an_outbox_gets_no_message_by_it(machine: Machine) -> None:
    play = machine(MemoryStore)()
    play.begin(new=[PLAIN])
    play.write_to_the_outbox(draft=PLAIN)
    assert len(play.messages) == 1
    play.teardown()
