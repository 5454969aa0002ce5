from msgspec import Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group, Reply
from tarry.service.api.resources.call import Call


class Thing(Struct):
    name: str


group = Group("Thing", "v1.thing")


@group.post("/thing/{thing_id}", needs=Need.CHANGE, status=201, also=(200,))
async def make_it(call: Call, body: Thing) -> Reply[Thing]:
    """Make a thing.

    It is made
    anew.
    """
    return Reply(body, 201, {"x": call.now.hex()})


@group.delete("/thing/{thing_id}", needs=Need.CHANGE, name="remove")
async def delete(_call: Call) -> None:
    """Take it away."""


@group.post("/thing", needs=Need.SEND, body=list[Thing])
async def raw(_call: Call, body: bytes) -> Thing:
    """Take bytes."""
    return Thing(body.decode())


def test_an_operation_is_what_its_handler_says() -> None:
    created, removed, taken = group.operations
    assert (created.name, created.summary, created.detail) == (
        "v1.thing.make-it",
        "Make a thing",
        "It is made anew.",
    )
    assert (created.body, created.answer, created.statuses, created.query) == (
        Thing,
        Thing,
        (201, 200),
        None,
    )
    assert created.idempotent
    assert created.audited
    assert removed.audited
    assert not taken.audited, "it accepts messages"
    assert (removed.name, removed.answer, removed.status) == ("v1.thing.remove", None, 204)
    assert not removed.idempotent
    assert (taken.body, taken.raw, taken.status) == (list[Thing], True, 200)
    assert not taken.idempotent
