"""Text from elsewhere on a terminal: what receivers answer and senders write is not to steer it."""


def plain(text: str) -> str:
    r"""Text with nothing in it that would steer a terminal.

    >>> print(plain("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(
        letter if letter.isprintable() or letter == "\t" else ascii(letter)[1:-1] for letter in text
    )


def fits_a_header(text: str) -> bool:
    """Whether a text can be sent as a key: printable ASCII, and not nothing."""
    return text.isascii() and text.isprintable() and bool(text.strip())
