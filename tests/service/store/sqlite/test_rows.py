"""A value that becomes a row comes back as it was."""

import pytest

from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Secret, Standing
from tarry.service.model.lane import Known, LaneRow
from tarry.service.store.sqlite import rows
from tarry.testing.samples import NOON, a_message, an_application, an_endpoint

ODD = 'Ünï "quoted" \\ \n \U0001f43f'


def test_an_endpoint_is_kept_whole() -> None:
    endpoint = an_endpoint(
        "app_1",
        lane=7,
        description=ODD,
        event_types=("a", ODD),
        channels=(),
        secrets=(Secret(bytes(range(256)), 0.1 + 0.2), Secret(b"")),
        headers=b"\x00\xff",
        metadata={ODD: ODD},
        standing=Standing.PARKED,
        parked=((1.5, 2.5), (3.1, None)),
    )
    assert rows.ENDPOINT.decode(rows.document(endpoint)) == endpoint


@pytest.mark.parametrize("names", [(), ("one",), (ODD, "two")])
def test_a_message_is_kept_whole(names: tuple[str, ...]) -> None:
    message = a_message(
        "app_1",
        payload=b"\x00\xff",
        event_id=ODD,
        channels=names,
        tags=names,
        deliver_at=NOON,
        payload_until=NOON + 1,
        content_type="text/plain",
    )
    number, known, application, kind, *between, payload = rows.message_row(5, message)
    assert number == 5
    assert rows.message((known, application, kind, payload, *between)) == message


def test_a_delivery_comes_behind_its_endpoint() -> None:
    endpoint: Endpoint = an_endpoint("app_1", lane=3)
    row = (rows.document(endpoint), 3, 9, "msg_1", "waiting", "backoff", 1, 2, 0.5, 8.0, 7.0, None)
    found, delivery = rows.delivery_with_endpoint(row)
    assert found == endpoint
    assert (delivery.state, delivery.reason) == (State.WAITING, Reason.BACKOFF)
    assert (delivery.memory, delivery.due_at, delivery.accepted_at) == (0.5, 8.0, 7.0)


@pytest.mark.parametrize("known", [None, Known(pace=b"\x00{}", origin="https://a", failures=3)])
def test_a_lane_that_knows_nothing_yet_has_the_usual_knowledge(known: Known | None) -> None:
    endpoint, application = an_endpoint("app_1", lane=3), an_application()
    row = (
        rows.document(endpoint),
        rows.document(application),
        None if known is None else rows.document(known),
        5,
        2,
        4,
    )
    expected = LaneRow(
        endpoint=endpoint,
        application=application,
        known=known or Known(),
        added=5,
        ended=2,
        version=4,
    )
    assert rows.lane_row(row) == expected


def test_a_list_to_look_for_is_one_parameter() -> None:
    assert rows.array(iter([1, 2])) == "[1,2]"
    assert rows.words(rows.array(["a", ODD])) == ("a", ODD)
