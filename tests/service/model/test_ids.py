"""Ids sort by the time they were made, and tell it."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.ids import (
    ALPHABET,
    LENGTH,
    MESSAGE,
    made_at,
    make,
    moment,
    well_formed,
)

instants = st.floats(0, 7_000_000_000)  # until 2191
chances = st.binary(min_size=19, max_size=19)


def test_the_alphabet_sorts_as_bytes_do() -> None:
    assert list(ALPHABET) == sorted(string.digits + string.ascii_letters)


@given(now=instants, entropy=chances)
def test_an_id_is_a_prefix_and_twenty_seven_letters(now: float, entropy: bytes) -> None:
    known = make(MESSAGE, now=now, entropy=entropy)
    assert known.startswith("msg_")
    assert len(known) == len("msg_") + LENGTH == 31
    assert set(known[4:]) <= set(ALPHABET)


@given(one=instants, other=instants, entropy=st.tuples(chances, chances))
def test_ids_of_a_later_millisecond_sort_behind(
    one: float, other: float, entropy: tuple[bytes, bytes]
) -> None:
    first, second = sorted((one, other))
    if int(first * 1000) < int(second * 1000):
        assert make("", now=first, entropy=entropy[0]) < make("", now=second, entropy=entropy[1])


@given(now=instants, entropy=chances)
def test_an_id_tells_when_it_was_made(now: float, entropy: bytes) -> None:
    assert made_at(make("ep_", now=now, entropy=entropy)) == pytest.approx(now, abs=0.001)


@given(now=instants)
def test_the_moment_is_no_later_than_ids_made_then(now: float) -> None:
    assert moment(now) <= make("", now=now, entropy=bytes(19))


def test_times_before_1970_count_as_1970() -> None:
    assert moment(-5.0) == moment(0.0) == "00000000"


def test_different_chance_makes_different_ids() -> None:
    made = {make("", now=1.0, entropy=bytes([byte]) * 19) for byte in range(62)}
    assert len(made) == 62


def test_every_letter_is_about_as_likely() -> None:
    letters = "".join(
        make("", now=0.0, entropy=bytes(range(start, start + 16)) + bytes(3))[8:24]
        for start in range(0, 256, 16)
    )
    counts = [letters.count(letter) for letter in ALPHABET]
    assert (min(counts), max(counts)) == (4, 5)


@pytest.mark.parametrize(
    "known",
    ["", "msg_", "order.1", "msg_é", "app_" + "0" * 27, "msg_" + "0" * 28, "msg_" + "é" * 27],
)
def test_only_what_is_made_here_is_well_formed(known: str) -> None:
    assert not well_formed(known, "msg_")
    assert not well_formed("msg_" + "0" * 27 + "\n", "msg_")
    assert well_formed(make(MESSAGE, now=1.0, entropy=bytes(range(19))), "msg_")
