import pytest

from tarry.service.model.endpoint import Standing
from tarry.service.model.subscriber import Subscriber
from tarry.testing.samples import an_application, an_endpoint


@pytest.mark.parametrize("event_types", [None, ("a",), ("b", "c")])
@pytest.mark.parametrize("channels", [None, ("x",), ("y", "z")])
@pytest.mark.parametrize("sent", [("a", ()), ("a", ("x",)), ("b", ("z", "x")), ("d", ("x",))])
def test_a_subscriber_wants_what_its_endpoint_wants(
    event_types: tuple[str, ...] | None,
    channels: tuple[str, ...] | None,
    sent: tuple[str, tuple[str, ...]],
) -> None:
    endpoint = an_endpoint(an_application(), event_types=event_types, channels=channels)
    subscriber = Subscriber(
        id=endpoint.id,
        lane=1,
        standing=endpoint.standing,
        event_types=event_types,
        channels=channels,
    )
    assert subscriber.wants(*sent) == endpoint.wants(*sent)


def test_only_deliveries_to_a_disabled_endpoint_are_skipped() -> None:
    skipping = {
        standing for standing in Standing if Subscriber(id="a", lane=1, standing=standing).skips
    }
    assert skipping == {Standing.DISABLED}
