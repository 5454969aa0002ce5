from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from tarry.service.api.http.choices import choices


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Struct, rename="camel"):
    the_colour: Colour | None = None


class Whole(Struct, rename="camel"):
    name: str
    status: Literal[0, 2] | None = None
    parts: Annotated[list[Part], Meta(min_length=1)] | None = None


@pytest.mark.parametrize(
    ("kind", "path", "allowed"),
    [
        (Whole, ["status"], ["0", "2"]),
        (Whole, ["parts", "3", "theColour"], ["blue", "red"]),
        (list[Whole], ["0", "status"], ["0", "2"]),
        (Colour, [], ["blue", "red"]),
        (Whole, ["name"], []),
        (Whole, ["parts"], []),
        (Whole, ["nowhere", "at", "all"], []),
        (Whole, [], []),
    ],
)
def test_what_a_field_may_be_is_found_by_its_place(
    kind: Any,  # noqa: ANN401  a type
    path: list[str],
    allowed: list[str],
) -> None:
    assert sorted(choices(kind, path)) == allowed
