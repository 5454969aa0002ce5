"""Make text from elsewhere safe for a terminal: responses and payloads must not control it."""


def plain(text: str) -> str:
    r"""Text with nothing in it that would steer a terminal.

    >>> print(plain("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(
        letter if letter.isprintable() or letter == "\t" else ascii(letter)[1:-1] for letter in text
    )


def fits_a_header(text: str) -> bool:
    """Return whether a text can be sent as a key: printable ASCII, and not empty."""
    return text.isascii() and text.isprintable() and bool(text.strip())
