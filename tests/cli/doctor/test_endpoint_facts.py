from tarry.cli.doctor.endpoint_facts import EndpointFacts
from tarry.cli.doctor.finding import Finding, State


def found_of(facts: EndpointFacts, now: float = 1000.0) -> dict[str, Finding]:
    return {finding.check: finding for finding in facts.findings(now)}


def test_endpoints_are_counted_by_what_is_the_matter_with_them() -> None:
    facts = EndpointFacts(100)
    facts.add("ep_1", standing="enabled", down=False, waiting=0)
    for number in range(2, 6):
        facts.add(f"ep_{number}", standing="enabled", down=True, waiting=2)
    facts.add("ep_6", standing="paused", down=True, waiting=1)
    facts.add("ep_7", standing="parked", down=False, waiting=1)
    facts.add("ep_8", standing="disabled", down=False, waiting=0)
    found = found_of(facts)
    assert found["down"].words.startswith("4 down")
    assert found["down"].words.endswith(": ep_2, ep_3, ep_4, ...")
    assert found["paused"].words.endswith(": ep_6")
    assert found["parked"].words.endswith(": ep_7")
    assert found["backlog"].words == "deliveries waiting: 10; endpoints: 8"
    assert found["success"].state is State.ADVICE


def test_the_oldest_and_the_last_success_count() -> None:
    facts = EndpointFacts(1)
    facts.add("ep_1", standing="enabled", down=False, waiting=2)
    for at in (900.0, 880.0, 950.0):
        facts.waits_since(at)
        facts.succeeded(at)
    facts.succeeded(None)
    found = found_of(facts)
    assert "the oldest for 2 min" in found["backlog"].words
    assert "(only the first 1 were checked)" in found["backlog"].words
    assert found["success"].words == "last success 50 s ago"


def test_nothing_is_the_matter_with_nothing() -> None:
    found = found_of(EndpointFacts(1))
    assert all(one.state is State.OK for one in found.values())
    assert "success" not in found


def test_deliveries_that_nothing_holds_back_and_nobody_sends_are_wrong() -> None:
    facts = EndpointFacts(100)
    facts.add("shop ep_1", standing="enabled", down=False, waiting=7)
    assert found_of(facts)["overdue"].state is State.OK
    facts.overdue("shop ep_1")
    facts.overdue("shop ep_1")
    overdue = found_of(facts)["overdue"]
    assert overdue.state is State.WRONG
    assert overdue.words.startswith("endpoints with deliveries that should have been sent: 1,")
    assert "shop ep_1." in overdue.words
