"""Steps of people and programs: they add messages, and change applications and endpoints."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Secret, Standing
from tarry.service.model.listing import MessageFilter
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.task import COUNTED, Task, Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import Applications, Endpoints, Messages
from tarry.testing.samples import ENVIRONMENT
from tarry.testing.store_machine.sides import Side
from tarry.testing.store_machine.state import HIGH_LIMIT, Machine
from tarry.testing.store_machine.step import step

MOST_OF_EACH = 4
"""The most applications, and the most endpoints: with few of them, more happens to each."""

SWEPT = ("payloads", "expired", "messages", "keys", "notices", "claims", "audit")
"""What a sweep may remove, as `Retention` names it."""

picks = st.integers(0, 15)
offsets = st.sampled_from([0.0, 0.5, 1.0, 5.0, 20.0])
event_types = st.sampled_from(["a", "b"])
channels = st.sampled_from([(), ("eu",), ("us",), ("eu", "us")])
names = st.sampled_from([None, "one", None, None, "two"])
standings = st.sampled_from(
    [Standing.ENABLED, Standing.PAUSED, Standing.DISABLED, Standing.ENABLED, Standing.DELETED]
)

Draft = tuple[int, str, tuple[str, ...], str | None, str | None, bytes, float | None, float | None]
drafts = st.tuples(
    picks,
    event_types,
    channels,
    names,
    names,
    st.sampled_from([b"", b"\x00\xff"]),
    st.none() | offsets,
    st.none() | offsets,
)
works = st.sampled_from(sorted(COUNTED))
replays = st.builds(
    ReplayFilter,
    message=st.builds(
        MessageFilter,
        channel=st.sampled_from([None, None, "eu"]),
        event_types=st.sampled_from([None, None, ("a",)]),
    ),
    fate=st.none() | st.sampled_from(Fate),
    status_class=st.sampled_from([None, None, 200, 500]),
)
batches = st.lists(drafts, min_size=2, max_size=6)


class PeopleSteps(Machine):
    """What everybody except a dispatcher does."""

    @step(seconds=offsets)
    def let_time_pass(self, seconds: float) -> None:
        """Let time pass for messages and deliveries, but not for leases."""
        self.now += seconds

    @step(uid=names)
    def put_an_application(self, uid: str | None) -> None:
        """Create an application, if its uid is free and there are few."""
        if len(self.applications) == MOST_OF_EACH:
            return
        application = Application(
            id=self.id("app_"),
            environment=ENVIRONMENT,
            name="Acme",
            uid=uid,
            created_at=self.now,
            updated_at=self.now,
        )
        by = self.act()
        self.ask(lambda side: side.store.put(application, by=by))
        stored = self.ask(lambda side: side.store.get(Applications(ENVIRONMENT), application.id))
        if stored is not None:
            self.applications.append(stored)

    @step(
        which=picks,
        uid=names,
        rate=st.none() | st.just(2.5),
        most_waiting=st.none() | st.integers(1, 4),
    )
    def change_an_application(
        self, which: int, uid: str | None, rate: float | None, most_waiting: int | None = None
    ) -> None:
        """Change an application's uid, if the new one is free, its rate, and its quota."""
        application = self.pick_one(self.applications, which)
        stored = self.ask(lambda side: side.store.get(Applications(ENVIRONMENT), application.id))
        if stored is None:
            return
        changed = replace(
            stored, uid=uid, rate=rate, most_waiting=most_waiting, updated_at=self.now
        )
        by = self.act()
        self.ask(lambda side: side.store.put(changed, by=by))
        self.ask(lambda side: side.store.get(Applications(ENVIRONMENT), uid or changed.id))

    @step(which=picks, is_chosen=st.sampled_from([*[False] * 9, True]))
    def delete_an_application(self, which: int, *, is_chosen: bool) -> None:
        """Delete an application with its endpoints, in one of ten cases."""
        if is_chosen:
            application, by = self.pick_one(self.applications, which), self.act()
            self.ask(
                lambda side: side.store.delete(
                    Applications(application.environment), application.id, now=self.now, by=by
                )
            )

    @step(
        application_index=picks,
        uid=names,
        wants=st.none() | st.just(("a",)),
        listens=st.none() | st.just(("eu",)),
        sealed=st.booleans(),
    )
    def put_an_endpoint(
        self,
        application_index: int,
        uid: str | None,
        wants: tuple[str, ...] | None,
        listens: tuple[str, ...] | None,
        *,
        sealed: bool,
    ) -> None:
        """Create an endpoint, if its application exists, its uid is free and there are few."""
        if len(self.endpoints) == MOST_OF_EACH:
            return
        application = self.pick_one(self.applications, application_index)
        endpoint = Endpoint(
            id=self.id("ep_"),
            application=application.id,
            url="https://hooks.example/in",
            uid=uid,
            event_types=wants,
            channels=listens,
            secrets=(Secret(b"\x00", None), Secret(b"\xff", self.now)) if sealed else (),
            created_at=self.now,
            updated_at=self.now,
        )
        by = self.act()
        saved = self.ask(lambda side: side.store.put(endpoint, by=by))
        if saved is not None:
            self.endpoints.append(saved)

    @step(which=picks, uid=names, standing=standings)
    def put_an_old_copy(self, which: int, uid: str | None, standing: Standing) -> None:
        """Write an outdated copy of an endpoint with another standing, perhaps a deleted one."""
        old = self.pick_one(self.endpoints, which)
        changed = replace(old, uid=uid, standing=standing, updated_at=self.now)
        by = self.act()
        self.ask(lambda side: side.store.put(side.to_store(changed), by=by))

    @step(which=picks, uid=names, standing=standings)
    def change_an_endpoint(self, which: int, uid: str | None, standing: Standing) -> None:
        """Change an endpoint's uid and standing, perhaps to deleted."""
        old, at, by = self.pick_one(self.endpoints, which), self.now, self.act()
        self.ask(
            lambda side: side.store.change(
                Endpoints(old.application),
                old.id,
                lambda now: replace(now, uid=uid, standing=standing, updated_at=at),
                by=by,
            )
        )

    @step(which=picks)
    def delete_an_endpoint(self, which: int) -> None:
        """Delete an endpoint, if it still exists."""
        deleted = self.pick_one(self.endpoints, which)
        kind, by = Endpoints(deleted.application), self.act()
        self.ask(lambda side: side.store.delete(kind, deleted.id, now=self.now, by=by))

    @step(often=4, new=batches)
    def add_messages(self, new: Sequence[Draft]) -> None:
        """Add messages in one call, with keys and event ids that may be known already."""
        messages = [self._new(draft) for draft in new]
        answers = self.ask(lambda side: _add(side, messages))
        for answer in answers or ():
            if isinstance(answer, Accepted) and not answer.repeated:
                self.messages.append(answer.message.id)

    @step(draft=drafts)
    def write_to_the_outbox(self, draft: Draft) -> None:
        """Write a message to the outbox table, and have it collected; the model just adds it.

        A message in the outbox is accepted beyond the application's quota, and has no idempotency
        key. One that is refused would cause a notice, which the model does not write.
        """
        write = self.opened.write_to_outbox
        message = self._new(draft).message
        kind = Applications(ENVIRONMENT)
        application = self.ask(lambda side: side.store.get(kind, message.application))
        if write is None or application is None or application.most_waiting is not None:
            return
        plain = replace(message, event_id=None, payload_until=None, content_type=None)

        async def accept(side: Side) -> int:
            if side is self.sides.model:
                return len(await side.store.add([NewMessage(plain)]))
            write(plain)
            return await side.store.collect(now=self.now, limit=HIGH_LIMIT)

        self.ask(accept)
        self.messages.append(plain.id)

    @step(application_index=picks, which=picks)
    def expunge_a_message(self, application_index: int, which: int) -> None:
        """Erase a message's payload, if the message belongs to the application."""
        application, message = self._message(application_index, which)
        by = self.act()
        self.ask(lambda side: side.store.expunge(Messages(application), message, by=by))
        self.ask(lambda side: side.store.get(Messages(application), message))

    @step(application_index=picks, which=picks)
    def cancel_a_message(self, application_index: int, which: int) -> None:
        """End a message's live deliveries, if the message belongs to the application."""
        application, message = self._message(application_index, which)
        by = self.act()
        self.ask(lambda side: side.store.cancel(application, message, now=self.now, by=by))

    @step(which=picks, endpoint_index=picks)
    def resend_a_message(self, which: int, endpoint_index: int) -> None:
        """Request one more attempt, if the message belongs to the endpoint's application."""
        endpoint = self.pick_one(self.endpoints, endpoint_index)
        _, message = self._message(0, which)
        resend, by = self.id("resend_"), self.act()
        self.ask(
            lambda side: side.store.resend(side.to_store(endpoint), message, resend=resend, by=by)
        )

    @step(
        which=picks,
        work=works,
        since=offsets,
        until=st.none() | offsets,
        replay_filter=replays,
    )
    def add_a_task(
        self,
        which: int,
        work: Work,
        since: float,
        until: float | None,
        replay_filter: ReplayFilter | None = None,
    ) -> None:
        """Add a task for the lane of an endpoint, or for the messages of its application."""
        endpoint = self.pick_one(self.endpoints, which)
        bounded = work is not Work.DISCARD
        on_lane = work is not Work.PURGE_CONTENT
        task = Task(
            id=self.id("qtask_"),
            work=work,
            environment=ENVIRONMENT,
            application=endpoint.application,
            endpoint=endpoint.id if on_lane else "",
            lane=endpoint.lane if on_lane else 0,
            since=self.now - since * 2 if bounded else 0.0,
            until=self.now - until if bounded and until is not None else None,
            wanted=replay_filter if work is Work.BULK_REPLAY else None,
            created_at=self.now,
        )
        by = self.act()
        self.ask(lambda side: side.store.add_task(side.to_store(task), by=by))
        self.tasks.append(task)

    @step(ages=st.fixed_dictionaries(dict.fromkeys(SWEPT, st.none() | offsets)))
    def sweep(self, ages: Mapping[str, float | None]) -> None:
        """Remove everything older than this, in pieces."""
        times = {f"{kind}_before": self.now - age for kind, age in ages.items() if age is not None}
        self.ask(lambda side: _sweep(side, Retention(**times)))

    def _message(self, application_index: int, which: int) -> tuple[str, str]:
        """Return an application, and a message that may belong to it."""
        message = self.pick_one(self.messages, which) if self.messages else "msg_none"
        return self.pick_one(self.applications, application_index).id, message

    def _new(self, draft: Draft) -> NewMessage:
        """Return a new message made from a draft."""
        application_index, event_type, channels, key, event_id, fingerprint, delay, keep_for = draft
        message = Message(
            id=self.id("msg_"),
            application=self.applications[application_index % len(self.applications)].id,
            event_type=event_type,
            payload=fingerprint,
            channels=channels,
            event_id=event_id,
            accepted_at=self.now,
            deliver_at=None if delay is None else self.now + delay,
            payload_until=None if keep_for is None else self.now + keep_for,
            content_type=None if keep_for is None else f"text/x-{keep_for}",
        )
        return NewMessage(message, key, fingerprint)


async def _add(side: Side, messages: Sequence[NewMessage]) -> list[object]:
    """Add messages to a store, and return the results."""
    return list(await side.store.add(messages))


async def _sweep(side: Side, retention: Retention) -> bool:
    """Remove everything past its retention; return whether that came to an end."""
    for _ in range(HIGH_LIMIT):
        if not await side.store.sweep(retention, limit=3):
            return True
    return False
