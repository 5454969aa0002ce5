"""Notices: saved in the commit of the change that they report, and sent once."""

import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Notice
from tarry.service.store.kinds import Endpoints, Notices
from tarry.testing.samples import NOON, a_notice, an_endpoint
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class NoticesContract(Topic):
    """Notices to endpoint owners."""

    async def test_notices_are_read_in_the_order_of_ids_until_they_are_marked_as_sent(
        self, scene: Scene
    ) -> None:
        notices = [a_notice(scene.endpoint) for _ in range(5)]
        change = Change(
            lane=scene.lane, epoch=scene.lease.epoch, at=NOON, notices=tuple(notices[3:])
        )
        await scene.settle(changes=[change])
        await scene.note(*notices[:3])
        assert await scene.store.read(Notices(unsent=True)) == notices
        assert await scene.store.read(Notices(unsent=True, limit=2)) == notices[:2]
        assert (
            await scene.store.read(Notices(unsent=True, after=notices[0].id, limit=2))
            == notices[1:3]
        )
        await scene.store.mark_sent([notices[1].id, notices[4].id, "notice_none"])
        assert await scene.store.read(Notices(unsent=True)) == [notices[0], notices[2], notices[3]]
        assert await scene.store.read(Notices()) == notices, "sent notices are kept"

    async def test_a_notice_that_is_saved_again_stays_marked_as_sent(self, scene: Scene) -> None:
        notice = a_notice(scene.endpoint)
        await scene.note(notice)
        await scene.store.mark_sent([notice.id])
        await scene.note(notice)
        await scene.settle(
            changes=[Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, notices=(notice,))]
        )
        assert await scene.store.read(Notices(unsent=True)) == []
        assert await scene.store.read(Notices()) == [notice]

    async def test_marking_no_notices_as_sent_does_nothing(self, scene: Scene) -> None:
        await scene.note()
        await scene.store.mark_sent([])
        assert await scene.store.read(Notices(unsent=True)) == []

    async def test_noting_gets_the_endpoint_before_and_after_the_change(self, scene: Scene) -> None:
        store, changes = scene.store, list[tuple[Endpoint | None, Endpoint]]()

        def noting(before: Endpoint | None, after: Endpoint) -> list[Notice]:
            changes.append((before, after))
            return [a_notice(after, facts={"uid": after.uid})]

        new = an_endpoint(scene.application, uid="a")
        created = await store.put(new, noting=noting)
        saved = await store.put(replace(created, uid="b"), noting=noting)
        changed = await store.change(
            Endpoints(created.application),
            created.id,
            lambda stored: replace(stored, uid="c"),
            noting=noting,
        )
        await store.delete(Endpoints(created.application), created.id, now=NOON, noting=noting)
        assert [before for before, _ in changes] == [None, created, saved, changed]
        assert [after for _, after in changes[:3]] == [created, saved, changed]
        assert changes[3][1].standing is Standing.DELETED
        notices = await store.read(Notices(unsent=True))
        assert [notice.facts["uid"] for notice in notices][:3] == ["a", "b", "c"]
        assert {notice.endpoint for notice in notices} == {created.id}

    async def test_a_refused_change_saves_no_notice(self, scene: Scene) -> None:
        store, endpoint = scene.store, scene.endpoint

        def noting(_before: Endpoint | None, after: Endpoint) -> list[Notice]:
            return [a_notice(after)]

        def wrong(_stored: Endpoint) -> Endpoint:
            raise ValueError("not like this")

        await store.put(an_endpoint(scene.application, uid="taken"))
        double = an_endpoint(scene.application, uid="taken")
        with pytest.raises(Conflict):
            await store.put(double, noting=noting)
        with pytest.raises(Conflict):
            await store.change(
                Endpoints(endpoint.application),
                endpoint.id,
                lambda stored: replace(stored, uid="taken"),
                noting=noting,
            )
        with pytest.raises(ValueError, match="not like this"):
            await store.change(Endpoints(endpoint.application), endpoint.id, wrong, noting=noting)
        with pytest.raises(NotFound):
            await store.delete(Endpoints(endpoint.application), "nobody", now=NOON, noting=noting)
        assert await store.read(Notices(unsent=True)) == []

    async def test_a_change_is_undone_if_its_notices_cannot_be_made(self, scene: Scene) -> None:
        def mute(_before: Endpoint | None, _after: Endpoint) -> list[Notice]:
            raise ValueError("no words")

        store, endpoint = scene.store, scene.endpoint
        new = an_endpoint(scene.application)
        with pytest.raises(ValueError, match="no words"):
            await store.put(new, noting=mute)
        with pytest.raises(NotFound):
            await store.get(Endpoints(new.application), new.id)
        with pytest.raises(ValueError, match="no words"):
            await store.delete(Endpoints(endpoint.application), endpoint.id, now=NOON, noting=mute)
        assert await store.get(Endpoints(endpoint.application), endpoint.id) == endpoint
