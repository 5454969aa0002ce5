from tarry.cli.resources.groups import app, endpoint


def test_an_application_has_its_quota_beside_its_own_commands() -> None:
    assert {"create", "list", "quota"} <= set(app.commands)


def test_an_endpoint_has_the_commands_of_its_lane_and_its_secret() -> None:
    of_lane = {"lane", "pause", "resume", "probe", "policy", "stats"}
    of_signing = {"secret", "rotate", "headers"}
    assert {"create", "list"} | of_lane | of_signing <= set(endpoint.commands)
