from tarry.service.model.origin import group_name
from tarry.service.wire.egress import origin_of


def test_no_origin_is_named_like_an_application_at_one() -> None:
    origin = origin_of("https://hooks.example/in")
    name = group_name(origin, "app_1")
    assert name.split(" ") == [origin, "app_1"]
    assert " " not in origin
