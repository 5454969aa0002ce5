from tarry.service.model import ids, operational


def test_whoever_makes_the_application_makes_the_same() -> None:
    one, other = (operational.application("org_a", now=at) for at in (1.0, 2.0))
    assert one.id == other.id
    assert ids.well_formed(one.id, ids.APPLICATION)
    assert one.environment == operational.hidden("org_a") != "org_a"
    assert operational.application("org_b", now=1.0).id != one.id


def test_news_of_the_hidden_environment_stay_in_it() -> None:
    hidden = operational.hidden("org_a")
    assert operational.is_hidden(hidden)
    assert not operational.is_hidden("org_a")
    assert operational.hidden(hidden) == hidden
