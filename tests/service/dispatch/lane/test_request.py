"""The request of an attempt: signed, with the headers and the content type it should have."""

from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import new_message
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, virtual_service


@virtually
async def test_a_message_is_sent_as_what_it_is() -> None:
    kinds: list[str] = []

    def answers(request: Request, _now: float) -> Answer:
        kinds.append(dict(request.target.headers).get("content-type", ""))
        return OK

    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", answers)
        told = [None, "text/xml", None]
        await service.store.add([new_message(service.application, content_type=t) for t in told])
        await service.until_delivered(endpoint, within=5)
        assert sorted(kinds) == ["", "", "text/xml"]
