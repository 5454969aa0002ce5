from tarry.cli.doctor.finding import State, advice, ok, wrong


def test_a_finding_says_what_how_and_in_words() -> None:
    assert [make("disk", "so").state for make in (ok, advice, wrong)] == list(State)
    assert wrong("disk", "so")._asdict() == {"check": "disk", "state": "wrong", "words": "so"}
