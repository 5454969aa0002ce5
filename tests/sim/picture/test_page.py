from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.sim.picture.page import Html, box, code, joined, page, table, tag


class Reader(HTMLParser):
    """What a browser would make of it: the elements with their attributes, and the words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


PRINTABLE = st.text(st.characters(exclude_categories=["Cc", "Cs"]))


@given(PRINTABLE, PRINTABLE)
def test_no_text_becomes_an_element_and_all_of_it_is_read(inside: str, value: str) -> None:
    read = Reader(tag("p", inside, title=value))
    assert read.found == [("p", {"title": value})]
    assert "".join(read.words) == inside


def test_what_is_html_already_stays_html() -> None:
    assert tag("p", tag("b", "1 < 2"), " & more") == "<p><b>1 &lt; 2</b> &amp; more</p>"
    assert joined(["<", Html("<br>")], ", ") == "&lt;, <br>"


def test_attributes_may_be_words_of_python_and_have_dashes() -> None:
    assert tag("p", class_="a", aria_label='"b"') == '<p class="a" aria-label="&quot;b&quot;"></p>'


@pytest.mark.parametrize("sign", ["\x00", "\x08", "\x1b", "\x7f"])
def test_signs_that_html_forbids_are_replaced(sign: str) -> None:
    assert tag("p", f"a{sign}b", title=sign) == '<p title="\ufffd">a\ufffdb</p>'


def test_half_a_sign_can_be_written_too() -> None:
    assert tag("p", "\ud800").encode() == b"<p>?</p>"


def test_lines_and_tabs_stay() -> None:
    read = Reader(code("a\n\tb", "Two lines"))
    assert "".join(read.words) == "a\n\tb"
    assert [name for name, _ in read.found] == ["div", "pre", "code"]


def test_a_table_names_its_rows_and_columns_and_scrolls_in_its_box() -> None:
    read = Reader(table("Sizes", ["Thing", "Size"], [["a", "1"], ["b", "2"]], "numbers"))
    scopes = [attributes["scope"] for name, attributes in read.found if name == "th"]
    assert scopes == ["col", "col", "row", "row"]
    assert [word.strip() for word in read.words if word.strip()] == [
        *("Sizes", "Thing", "Size"),
        *("a", "1", "b", "2"),
    ]
    frames = [attributes for name, attributes in read.found if name == "div"]
    assert frames == [
        {"class": "box", "tabindex": "0", "role": "group", "aria-label": "Sizes"},
    ]


def test_a_box_can_be_reached_and_named() -> None:
    (_, attributes), _ = Reader(box(tag("pre", "x"), "The file")).found
    assert attributes["tabindex"] == "0"
    assert attributes["aria-label"] == "The file"


def test_a_page_brings_its_style_and_needs_nothing_else() -> None:
    text = page("A < B", [tag("h1", "A"), tag("p", "B")])
    assert text.startswith('<!doctype html>\n<html lang="en">')
    read = Reader(text)
    names = [name for name, _ in read.found]
    assert names == ["html", "head", "meta", "meta", "title", "style", "body", "main", "h1", "p"]
    assert "A < B" in read.words
    for wanted in ("prefers-color-scheme: dark", "@media print", "overflow-x: auto"):
        assert wanted in text
    assert "url(" not in text
    assert "@import" not in text
