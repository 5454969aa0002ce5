import re
from html.parser import HTMLParser

from tarry.service.api.open import operations
from tarry.service.api.openapi.docs_page import docs_page
from tarry.service.api.openapi.document import document


class Read(HTMLParser):
    """The ids and the addresses of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("href", "src") and value:
                self.addresses.append(value)


def test_every_operation_has_its_entry_and_a_link_to_it() -> None:
    status, headers, body = docs_page(document(operations()))
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = Read(body.decode())
    assert page.ids == sorted(set(page.ids), key=page.ids.index)
    assert {operation.name for operation in operations()} == set(page.ids)
    assert {f"#{operation.name}" for operation in operations()} <= set(page.addresses)


def test_nothing_is_loaded_from_elsewhere() -> None:
    _, headers, body = docs_page(document(operations()))
    page = Read(body.decode())
    assert not [address for address in page.addresses if not address.startswith(("#", "/"))]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert len(re.findall(r"'sha256-[^']+'", headers["content-security-policy"])) == 2


def test_what_goes_in_and_out_is_shown_field_by_field() -> None:
    _, _, body = docs_page(document(operations()))
    text = body.decode()
    assert "throttleRate?: integer, 1 to 65535 or null" in text
    assert "ascending or descending" in text
