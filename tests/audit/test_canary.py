"""The search finds each marker in each place where it must not be, in any form."""

from base64 import b64encode
from dataclasses import replace

import pytest

from tests.audit.canary import SHOWN_ON_PURPOSE, Markers, check_canary
from tests.audit.check import State

CREATED = ("created_key", "portal_token")
MARKERS = replace(Markers.new(), **{name: f"tarry_{name}_123456" for name in CREATED})
PLACES = ("log", "metrics", "pages", "errors", "database", "core file", "command line")
KINDS = MARKERS.by_kind()


def as_it_should_be() -> dict[str, bytes]:
    places = dict.fromkeys(PLACES, b"nothing")
    for kind, shown in SHOWN_ON_PURPOSE.items():
        for place in shown:
            places[place] = places.get(place, b"") + KINDS[kind].encode()
    return places


def test_markers_where_they_have_to_be_pass() -> None:
    found = check_canary(MARKERS, as_it_should_be())
    assert (found.state, found.problems) == (State.OK, ())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_marker_elsewhere_fails(kind: str, place: str) -> None:
    places = as_it_should_be()
    places[place] += f"2026-01-01 INFO {KINDS[kind]} was used".encode()
    expected = () if place in SHOWN_ON_PURPOSE.get(kind, ()) else (f"the {kind} is in: {place}",)
    assert check_canary(MARKERS, places).problems == expected


@pytest.mark.parametrize("skip", range(3))
def test_a_marker_inside_base64_or_hex_fails(skip: int) -> None:
    places = as_it_should_be()
    text = b"x" * skip + f"{MARKERS.api_key} and more".encode()
    places["log"] += b64encode(text)
    places["errors"] += MARKERS.payload.encode().hex().encode()
    expected = ("the api key is in: log", "the payload is in: errors")
    assert check_canary(MARKERS, places).problems == expected


def test_a_secret_without_its_prefix_fails() -> None:
    places = as_it_should_be()
    places["core file"] += MARKERS.signing_secret.removeprefix("whsec_").encode()
    assert check_canary(MARKERS, places).problems == ("the signing secret is in: core file",)


def test_a_marker_that_was_not_planted_fails() -> None:
    places = as_it_should_be() | {"database": b""}
    problem = "the payload is not in: database, so it was not planted"
    assert problem in check_canary(MARKERS, places).problems
    del places["database"]
    assert "database was not searched for the payload" in check_canary(MARKERS, places).problems


def test_an_empty_search_fails() -> None:
    assert check_canary(MARKERS, {}).problems == ("nothing was searched",)
