import pytest
from svix.api import ApplicationListOptions
from svix.exceptions import HttpError
from svix.models import ApplicationIn, ApplicationPatch, Ordering

from tests.sdk.conftest import Sdk


def test_an_application_through_its_life(sdk: Sdk, uid: str) -> None:
    made = sdk.application.create(
        ApplicationIn(name="Acme", uid=uid, throttle_rate=7, metadata={"plan": "pro"})
    )
    assert (made.name, made.uid, made.throttle_rate) == ("Acme", uid, 7)
    assert made.metadata == {"plan": "pro"}
    assert sdk.application.get(uid) == made
    assert sdk.application.get(made.id) == made
    assert sdk.application.get_or_create(ApplicationIn(name="Other", uid=uid)) == made
    changed = sdk.application.upsert(uid, ApplicationIn(name="Acme Inc", uid=uid))
    assert (changed.id, changed.name, changed.throttle_rate) == (made.id, "Acme Inc", None)
    assert changed.metadata == {}
    assert changed.updated_at > made.updated_at
    patched = sdk.application.patch(uid, ApplicationPatch(throttle_rate=9))
    assert (patched.name, patched.throttle_rate, patched.uid) == ("Acme Inc", 9, uid)
    patched = sdk.application.patch(uid, ApplicationPatch(throttle_rate=None))
    assert patched.throttle_rate is None
    assert sdk.application.delete(uid) is None
    with pytest.raises(HttpError) as error:
        sdk.application.get(made.id)
    assert (error.value.status_code, error.value.code) == (404, "not_found")


def test_putting_makes_an_application_that_is_not_there(sdk: Sdk, uid: str) -> None:
    assert sdk.application.upsert(uid, ApplicationIn(name="New", uid=uid)).uid == uid


def test_a_uid_is_given_once(sdk: Sdk, uid: str) -> None:
    sdk.application.create(ApplicationIn(name="One", uid=uid))
    with pytest.raises(HttpError) as error:
        sdk.application.create(ApplicationIn(name="Two", uid=uid))
    assert (error.value.status_code, error.value.code) == (409, "conflict")


def test_applications_are_walked_both_ways(sdk: Sdk) -> None:
    made = [sdk.application.create(ApplicationIn(name=f"n{n}")).id for n in range(5)]
    newest = Ordering.DESCENDING
    first = sdk.application.list(ApplicationListOptions(limit=2, order=newest))
    assert [one.id for one in first.data] == made[:-3:-1]
    assert not first.done
    second = sdk.application.list(
        ApplicationListOptions(limit=2, order=newest, iterator=first.iterator)
    )
    assert [one.id for one in second.data] == [made[2], made[1]]
    back = sdk.application.list(
        ApplicationListOptions(limit=2, order=newest, iterator=second.prev_iterator)
    )
    assert [one.id for one in back.data] == [one.id for one in first.data]
