from tarry.sim.picture.palette import COLOURS, stroke


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return float(0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2)


def test_no_two_of_many_policies_look_alike() -> None:
    assert len({stroke(number) for number in range(56)}) == 56


def test_without_colour_eight_policies_still_differ_by_dashes_or_marker() -> None:
    assert len({stroke(number)[1:] for number in range(8)}) == 8


def test_every_colour_stands_out_from_white_paper() -> None:
    for colour in COLOURS:
        assert 1.05 / (lightness(colour) + 0.05) > 2, colour


def test_the_first_policy_has_a_plain_line() -> None:
    assert stroke(0).dashes == ()
