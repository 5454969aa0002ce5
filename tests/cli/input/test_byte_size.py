import click
import pytest

from tarry.cli.input.byte_size import ByteSize


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("0", 0),
        (1_000, 1_000),
        ("12 B", 12),
        ("3kB", 3_000),
        ("256MB", 256_000_000),
        (" 256 mb ", 256_000_000),
        ("1.5GB", 1_500_000_000),
        ("2TB", 2_000_000_000_000),
    ],
)
def test_a_size_is_read_as_people_type_it(typed: object, read: int) -> None:
    assert ByteSize().convert(typed, None, None) == read


@pytest.mark.parametrize(
    "typed", ["", "MB", "-1", "1e9", "1,5GB", "1.5.2MB", "5 potatoes", "1%", "9" * 400]
)
def test_what_is_no_size_is_refused(typed: str) -> None:
    with pytest.raises(click.BadParameter, match="256MB or"):
        ByteSize().convert(typed, None, None)
