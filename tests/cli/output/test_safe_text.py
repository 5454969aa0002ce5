import pytest

from tarry.cli.output.safe_text import fits_a_header, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("é 漢\t", "é 漢\t"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("\u202eright to left", "\\u202eright to left"),
        ("\x9b2J", "\\x9b2J"),
    ],
)
def test_nothing_steers_the_terminal(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_key_is_printable_ascii_and_not_nothing() -> None:
    assert fits_a_header("let me in")
    assert not any(map(fits_a_header, ["", " ", "a\nb", "schlüssel", "\x7f"]))
