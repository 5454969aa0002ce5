"""Event types, keys to the API, and secrets of the service."""

import asyncio

import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key, Scope
from tarry.service.model.listing import Cut
from tarry.service.store.contract import Retention, Store
from tarry.service.store.kinds import Applications, EventTypes, Keys
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_key,
    an_application,
    an_event_type,
)
from tarry.testing.store_contract.topic import Topic

NAMES = ("Z", "a.b", "a.c", "b", "ä")


class RegistryContract(Topic):
    """Small tables, by environment."""

    # --- Event types ----------------------------------------------------------------------------

    async def test_an_event_type_is_read_as_it_was_created(self, store: Store) -> None:
        complete = an_event_type(
            "invoice.paid",
            description="ünder way 'quoted'",
            archived=True,
            deprecated=True,
            schemas='{"1": {"type": "object", "z": 1.0, "a": null}}',
            feature_flags=("beta", "eu"),
            group="invoices",
            validates=True,
            created_at=NOON - 0.25,
        )
        await store.create(complete)
        assert await store.get(EventTypes(ENVIRONMENT), "invoice.paid") == complete
        bare = an_event_type("invoice.lost")
        await store.create(bare)
        assert await store.get(EventTypes(ENVIRONMENT), "invoice.lost") == bare

    async def test_a_name_is_taken_once_archived_or_not(self, store: Store) -> None:
        await store.create(an_event_type("a", archived=True))
        with pytest.raises(Conflict) as refused:
            await store.create(an_event_type("a", description="another"))
        assert (refused.value.kind, refused.value.key) == ("event type", "a")
        await store.create(an_event_type("a", environment="org_other"))
        assert (await store.get(EventTypes(ENVIRONMENT), "a")).description == "Somebody paid"

    async def test_of_concurrent_creations_of_a_name_one_succeeds(
        self, store: Store, other: Store
    ) -> None:
        answers = await asyncio.gather(
            *(
                target.create(an_event_type("a", description=str(number)))
                for number, target in enumerate([store, other] * 10)
            ),
            return_exceptions=True,
        )
        assert answers.count(None) == 1
        assert sum(isinstance(answer, Conflict) for answer in answers) == 19

    async def test_an_event_type_is_changed_as_it_is_by_now(
        self, store: Store, other: Store
    ) -> None:
        await store.create(an_event_type("a", description=""))

        def longer(stored: EventType) -> EventType:
            return replace(stored, description=stored.description + "x", updated_at=NOON + 1)

        changes = (
            target.change(EventTypes(ENVIRONMENT), "a", longer) for target in [store, other] * 10
        )
        changed = await asyncio.gather(*changes)
        assert sorted(len(event_type.description) for event_type in changed) == list(range(1, 21))
        event_type = await store.get(EventTypes(ENVIRONMENT), "a")
        assert (event_type.description, event_type.updated_at) == ("x" * 20, NOON + 1)

    async def test_a_refused_change_leaves_an_event_type_as_it_was(self, store: Store) -> None:
        original = an_event_type("a")
        await store.create(original)

        def refuse(_: EventType) -> EventType:
            raise Conflict("schema", "1")

        with pytest.raises(Conflict, match="schema"):
            await store.change(EventTypes(ENVIRONMENT), "a", refuse)
        assert await store.get(EventTypes(ENVIRONMENT), "a") == original

    async def test_a_change_makes_no_other_of_it(self, store: Store) -> None:
        await store.create(an_event_type("a"))
        changed = await store.change(
            EventTypes(ENVIRONMENT),
            "a",
            lambda _: an_event_type("b", environment="org_x", archived=True),
        )
        assert changed == an_event_type("a", archived=True)
        assert await store.get(EventTypes(ENVIRONMENT), "a") == changed

    async def test_the_name_of_a_deleted_event_type_is_free_again(self, store: Store) -> None:
        await store.create(an_event_type("a"))
        await store.delete(EventTypes(ENVIRONMENT), "a", now=NOON)
        with pytest.raises(NotFound):
            await store.get(EventTypes(ENVIRONMENT), "a")
        await store.create(an_event_type("a"))

    async def test_an_event_type_that_is_not_there_is_not_found(self, store: Store) -> None:
        await store.create(an_event_type("a", environment="org_other"))
        for call in (
            store.get(EventTypes(ENVIRONMENT), "a"),
            store.delete(EventTypes(ENVIRONMENT), "a", now=NOON),
            store.change(EventTypes(ENVIRONMENT), "a", lambda stored: stored),
        ):
            with pytest.raises(NotFound) as missed:
                await call
            assert (missed.value.kind, missed.value.id) == ("event type", "a")

    async def test_archived_ones_are_listed_if_asked_for(self, store: Store) -> None:
        shown, hidden = an_event_type("a"), an_event_type("b", archived=True)
        for event_type in (hidden, shown, an_event_type("c", environment="org_other")):
            await store.create(event_type)
        assert (await store.page(EventTypes(ENVIRONMENT), Cut())).entries == [shown]
        assert (await store.page(EventTypes(ENVIRONMENT, archived=True), Cut())).entries == [
            shown,
            hidden,
        ]
        unarchived = await store.change(
            EventTypes(ENVIRONMENT), "b", lambda stored: replace(stored, archived=False)
        )
        assert (await store.page(EventTypes(ENVIRONMENT), Cut())).entries == [shown, unarchived]

    @pytest.mark.parametrize("archived", [False, True])
    @pytest.mark.parametrize(
        ("cut", "names"),
        [
            (Cut(2), ["Z", "a.b"]),
            (Cut(2, "a.b"), ["a.c", "b"]),
            (Cut(2, "a.bb"), ["a.c", "b"]),
            (Cut(9, "ä"), []),
            (Cut(2, back=True), ["b", "ä"]),
            (Cut(2, "b", back=True), ["a.b", "a.c"]),
            (Cut(2, "a.b", back=True), ["Z"]),
            (Cut(2, descending=True), ["ä", "b"]),
            (Cut(2, "b", descending=True), ["a.c", "a.b"]),
            (Cut(9, "Z", descending=True), []),
            (Cut(2, descending=True, back=True), ["a.b", "Z"]),
            (Cut(2, "a.b", descending=True, back=True), ["b", "a.c"]),
        ],
    )
    async def test_event_types_are_paged_both_ways(
        self, store: Store, cut: Cut, names: list[str], *, archived: bool
    ) -> None:
        for name in reversed(NAMES):
            await store.create(an_event_type(name, archived=archived))
        page = (await store.page(EventTypes(ENVIRONMENT, archived=archived), cut)).entries
        assert [event_type.name for event_type in page] == names

    @pytest.mark.parametrize("archived", [False, True])
    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("back", [False, True])
    async def test_a_page_of_event_types_ends_before_their_schemas_have_too_many_bytes(
        self, store: Store, *, back: bool, descending: bool, archived: bool
    ) -> None:
        sizes = {"a": 1000, "b": 1500, "c": 4000, "d": 2, "e": 0, "f": 2499}
        for name, size in sizes.items():
            schemas = "ä" * (size // 2) + "x" * (size % 2) if size else None
            await store.create(an_event_type(name, schemas=schemas, archived=archived))
        cut = Cut(limit=100, back=back, descending=descending, most_bytes=2500)
        pages, marks = list[str](), list[str | None]()
        while None not in marks:
            page = await store.page(EventTypes(ENVIRONMENT, archived=archived), cut)
            names = "".join(event_type.name for event_type in page.entries)
            pages.append(names[::-1] if back else names)
            marks.append(page.left_at)
            cut = replace(cut, mark=page.left_at or "")
        assert pages == (["ab", "c", "de", "f"] if cut.upwards else ["fe", "d", "c", "ba"])
        assert marks == [*(page[-1] for page in pages[:-1]), None]

    # --- Keys -----------------------------------------------------------------------------------

    async def test_a_key_is_known_by_its_hash(self, store: Store, other: Store) -> None:
        complete = a_key(
            hash=bytes(range(256)),
            name="ünder",
            scopes=(Scope.ADMIN, Scope.VIEW_BASE),
            application="app_1",
            session="s1",
            feature_flags=("beta", "eu"),
            expires_at=NOON + 0.5,
            revoked_at=NOON + 0.25,
        )
        bare = a_key()
        for key in (complete, bare):
            await store.create(key)
        assert await other.key(complete.hash) == complete
        assert await other.key(bare.hash) == bare
        with pytest.raises(NotFound) as missed:
            await other.key(complete.hash[:-1])
        assert missed.value.kind == "key"

    @pytest.mark.parametrize("same", ["id", "hash"])
    async def test_a_key_is_there_once(self, store: Store, same: str) -> None:
        first = a_key(name="first")
        await store.create(first)
        twin = a_key(**{same: getattr(first, same)})
        with pytest.raises(Conflict) as refused:
            await store.create(twin)
        assert (refused.value.kind, refused.value.key) == ("key", twin.id)
        assert await store.key(first.hash) == first

    async def test_a_revoked_key_stays_known_and_its_time_stays(self, store: Store) -> None:
        key = a_key(expires_at=NOON + 50)
        await store.create(key)
        revoked = replace(key, revoked_at=NOON + 1)
        assert (
            await store.change(Keys(ENVIRONMENT), key.id, lambda key: key.revoked(NOON + 1))
            == revoked
        )
        assert (
            await store.change(Keys(ENVIRONMENT), key.id, lambda key: key.revoked(NOON + 2))
            == revoked
        )
        assert await store.key(key.hash) == revoked
        for environment, key_id in (("org_other", key.id), (ENVIRONMENT, "key_none")):
            with pytest.raises(NotFound):
                await store.change(Keys(environment), key_id, lambda key: key.revoked(NOON))

    async def test_a_change_of_a_key_saves_only_when_it_ends(self, store: Store) -> None:
        key = a_key(name="first")
        await store.create(key)
        changed = await store.change(
            Keys(ENVIRONMENT), key.id, lambda key: replace(key, name="second", expires_at=NOON)
        )
        assert changed == replace(key, expires_at=NOON)
        assert await store.key(key.hash) == changed

    @pytest.mark.parametrize(
        ("sessions", "ended"),
        [(None, [0, 1, 2]), (("s1",), [0]), (("s1", "s2", "s3"), [0, 1]), ((), [])],
    )
    async def test_the_keys_to_an_application_end_together(
        self, store: Store, sessions: tuple[str, ...] | None, ended: list[int]
    ) -> None:
        keys = [
            a_key(application="app_1", session="s1"),
            a_key(application="app_1", session="s2"),
            a_key(application="app_1"),
            a_key(application="app_1", session="s1", revoked_at=NOON),
            a_key(application="app_2", session="s1"),
            a_key(session="s1"),
        ]
        for key in keys:
            await store.create(key)
        revoked = await store.revoke_keys("app_1", sessions=sessions, now=NOON + 5)
        assert revoked == len(ended)
        stored = [await store.key(key.hash) for key in keys]
        assert [index for index, key in enumerate(stored) if key.revoked_at == NOON + 5] == ended
        assert await store.revoke_keys("app_1", sessions=sessions, now=NOON + 6) == 0

    async def test_the_keys_to_an_application_end_after_a_while(self, store: Store) -> None:
        keys = [
            a_key(application="app_1"),
            a_key(application="app_1", expires_at=NOON + 90),
            a_key(application="app_1", expires_at=NOON + 30),
            a_key(application="app_1", revoked_at=NOON - 1),
            a_key(application="app_2"),
        ]
        for key in keys:
            await store.create(key)
        assert await store.revoke_keys("app_1", sessions=None, now=NOON, delay=60.0) == 3
        stored = [await store.key(key.hash) for key in keys]
        assert [key.expires_at for key in stored] == [NOON + 60, NOON + 60, NOON + 30, None, None]
        assert [key.revoked_at for key in stored] == [None, None, None, NOON - 1, None]
        assert [key.is_valid_at(NOON + 59) for key in stored] == [True, True, False, False, True]
        assert not stored[0].is_valid_at(NOON + 60)
        assert await store.revoke_keys("app_1", sessions=None, now=NOON + 1) == 3
        assert not (await store.key(keys[0].hash)).is_valid_at(NOON + 2)

    async def test_a_key_to_an_application_ends_with_it(self, store: Store) -> None:
        gone, recreated, other = (
            an_application(uid=uid, environment=ENVIRONMENT) for uid in ("shop", "shop", "bakery")
        )
        keys = {app.id: a_key(application=app.id) for app in (gone, recreated, other)}
        for application in (gone, other):
            await store.put(application)
            await store.create(keys[application.id])
        await store.delete(Applications(ENVIRONMENT), gone.id, now=NOON)
        await store.put(recreated)
        late = a_key(application=gone.id)  # by a request that found it just before
        for key in (late, keys[recreated.id]):
            await store.create(key)
        for key in (keys[gone.id], late):
            with pytest.raises(NotFound):
                await store.key(key.hash)
        for application in (recreated, other):
            assert await store.key(keys[application.id].hash) == keys[application.id]

    async def test_keys_are_listed_without_those_to_an_application(self, store: Store) -> None:
        keys = [a_key(), a_key(revoked_at=NOON), a_key()]
        for key in (*reversed(keys), a_key(application="app_1"), a_key(environment="org_other")):
            await store.create(key)
        assert (await store.page(Keys(ENVIRONMENT), Cut())).entries == keys
        assert (await store.page(Keys(ENVIRONMENT), Cut(1, keys[0].id))).entries == [keys[1]]
        assert (await store.page(Keys(ENVIRONMENT), Cut(2, back=True))).entries == keys[1:]
        assert (await store.page(Keys(ENVIRONMENT), Cut(2, descending=True))).entries == keys[:0:-1]

    async def test_keys_to_an_application_go_when_they_have_ended(self, store: Store) -> None:
        def portal(**values: float) -> Key:
            return a_key(application="app_1", **values)

        old_keys = [
            portal(expires_at=NOON - 1),
            portal(revoked_at=NOON - 1),
            portal(expires_at=NOON + 9, revoked_at=NOON - 2),
        ]
        remaining = [
            portal(),
            portal(expires_at=NOON),
            portal(revoked_at=NOON),
            a_key(expires_at=NOON - 1),
            a_key(revoked_at=NOON - 1),
        ]
        for key in (*old_keys, *remaining):
            await store.create(key)
        old = Retention(portal_keys_before=NOON)
        swept = [await store.sweep(old, limit=2) for _ in range(3)]
        assert swept == [2, 1, 0]
        assert [await store.key(key.hash) for key in remaining] == remaining
        for key in old_keys:
            with pytest.raises(NotFound):
                await store.key(key.hash)

    async def test_a_revoked_key_is_swept_too(self, store: Store) -> None:
        key = a_key(application="app_1")
        await store.create(key)
        assert await store.sweep(Retention(portal_keys_before=NOON), limit=9) == 0
        await store.revoke_keys("app_1", sessions=None, now=NOON - 5)
        assert await store.sweep(Retention(portal_keys_before=NOON), limit=9) == 1

    # --- Secrets of the service -----------------------------------------------------------------

    async def test_the_first_value_under_a_name_is_kept(self, store: Store) -> None:
        assert await store.keep("a", b"one") == b"one"
        assert await store.keep("a", b"two") == b"one"
        assert await store.keep("b", b"two") == b"two"

    async def test_a_value_is_replaced_only_by_a_caller_that_knows_it(self, store: Store) -> None:
        await store.keep("a", b"one")
        assert await store.keep("a", b"two", instead_of=b"one") == b"two"
        assert await store.keep("a", b"three", instead_of=b"one") == b"two"
        assert await store.keep("nothing", b"three", instead_of=b"one") == b""
        assert await store.keep("a", b"four") == b"two"
