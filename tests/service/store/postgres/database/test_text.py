import pytest

from tarry.errors import StoreError
from tarry.service.store.postgres.database.text import refuse_nul


def test_a_nul_is_refused_and_shown() -> None:
    with pytest.raises(StoreError, match=r"NUL.*'in\\x00voice'"):
        refuse_nul("fine", None, "in\0voice")


def test_every_other_character_may_pass() -> None:
    refuse_nul("", None, "\x01\N{SNOWMAN}\U0010ffff")
