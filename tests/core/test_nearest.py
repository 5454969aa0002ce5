import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.nearest import nearest

KEYS = ("version", "attempts", "within", "jitter", "cap")


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        ("attempts", "attempts"),
        ("Attempts", "attempts"),
        ("atempts", "attempts"),
        ("attemptts", "attempts"),
        ("attempt", "attempts"),
        ("atmepts", "attempts"),
        ("tempts", "attempts"),
        ("empts", None),
        ("jiter", "jitter"),
        ("titter", "jitter"),
        ("capp", "cap"),
        ("cop", "cap"),
        ("cup", "cap"),
        ("xop", None),
        ("xxcap", None),
        ("xxxattempts", "attempts"),
        ("xxxxattempts", "attempts"),
        ("xxxxxattempts", None),
        ("c", None),
        ("", None),
        ("backoff", None),
    ],
)
def test_a_near_word_is_found_and_a_far_one_is_not(found: str, meant: str | None) -> None:
    assert nearest(found, KEYS) == meant


def test_of_two_near_words_the_nearer_is_meant() -> None:
    assert nearest("abcdeg", ["abcxyf", "abcdef", "abcdxx"]) == "abcdef"


@given(found=st.text(max_size=12), known=st.lists(st.text(max_size=12), min_size=1))
def test_a_guess_is_one_of_the_known_words(found: str, known: list[str]) -> None:
    assert nearest(found, known) in {*known, None}


@given(word=st.text("abcdef", min_size=3, max_size=9), data=st.data())
def test_a_word_with_a_letter_too_few_is_still_found(word: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(word) - 1))
    assert nearest(word[:place] + word[place + 1 :], [word]) == word
