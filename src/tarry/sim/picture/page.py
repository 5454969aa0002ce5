"""Build HTML safely: plain text is escaped, elements are not."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "\N{REPLACEMENT CHARACTER}")
"""Characters that HTML forbids, and their replacement."""


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str) -> Html:
    """Return an element with its content; the trailing underscore of an attribute is dropped.

    >>> tag("p", "1 < 2", class_="faint")
    '<p class="faint">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_clean(value))}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{written}>{joined(inside)}</{name}>")


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Join parts; each one is escaped unless it is HTML."""
    return Html(between.join(map(_html, parts)))


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = ""
) -> Html:
    """Return a table in a scrolling box; the first cell of each row is its header."""
    head = tag("tr", *(tag("th", cell, scope="col") for cell in heads))
    body = (
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in cells))
        for first, *cells in rows
    )
    inside = tag("thead", head), tag("tbody", joined(body, "\n"))
    # Not a <caption>: it would be as wide as the table, and would scroll out of sight with it.
    framed = box(tag("table", *inside, class_=kind, aria_label=caption), caption)
    return joined([tag("p", caption, class_="faint"), framed])


def box(inside: Html, label: str) -> Html:
    """Return a frame in which wide content scrolls, also by keyboard."""
    return tag("div", inside, class_="box", tabindex="0", role="group", aria_label=label)


def code(text: str, label: str) -> Html:
    """Return preformatted text."""
    return box(tag("pre", tag("code", text)), label)


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page without external resources."""
    style = files("tarry.sim.picture").joinpath("report.css").read_text(encoding="utf-8")
    head = (
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title),
        tag("style", Html(f"\n{style}")),
    )
    main = tag("main", "\n", joined(parts, "\n"), "\n")
    inside = tag("head", joined(head, "\n")), Html("\n"), tag("body", main)
    return f"<!doctype html>\n{tag('html', *inside, lang='en')}\n"


def _html(part: str) -> str:
    return part if isinstance(part, Html) else escape(_clean(part))


def _clean(text: str) -> str:
    # A lone surrogate cannot be written as UTF-8.
    return text.translate(CONTROLS).encode("utf-8", "replace").decode()
