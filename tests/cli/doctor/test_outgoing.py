import pytest

from tarry.cli.doctor.finding import State
from tarry.cli.doctor.outgoing import outgoing


@pytest.mark.parametrize(
    ("networks", "ports", "state", "words"),
    [
        ((), "443", State.OK, "private networks: none; ports: 443"),
        (("10.0.0.0/8",), "443", State.OK, "10.0.0.0/8"),
        (("0.0.0.0/0",), "443", State.ADVICE, "169.254.169.254"),
        (("10.0.0.0/99",), "443", State.WRONG, "10.0.0.0/99"),
        ((), "all", State.WRONG, "ports"),
    ],
)
def test_what_the_rules_let_through_is_told(
    networks: tuple[str, ...], ports: str, state: State, words: str
) -> None:
    found = outgoing(networks, ports)
    assert (found.state, words in found.words) == (state, True), found
