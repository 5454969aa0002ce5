from tarry.core.outcome import Kind
from tarry.testing.zoo.behaviour import Family
from tarry.testing.zoo.line import Line


def test_a_family_keeps_its_members_in_order() -> None:
    family = Family()

    @family.add("shy", "says nothing", Kind.TIMEOUT, unheard=True)
    async def shy(line: Line) -> None:
        await line.hang()

    family.says("loud", "shouts", 200, Kind.PROTOCOL, answer=b"HELLO", cut=True)
    first, second = family
    assert (first.name, first.unheard, first.cut) == ("shy", True, False)
    assert first.endings == {Kind.TIMEOUT}
    assert first.play is shy
    assert (second.name, second.does, second.cut) == ("loud", "shouts", True)
    assert second.endings == {200, Kind.PROTOCOL}
