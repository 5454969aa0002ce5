"""What `import tarry` shows is exactly what it promises."""

from types import ModuleType

import pytest

import tarry


def test_the_promised_names_are_the_visible_ones() -> None:
    visible = [
        name
        for name, value in vars(tarry).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    ]
    assert sorted(tarry.__all__) == sorted(visible)


@pytest.mark.parametrize("name", tarry.__all__)
def test_every_promised_name_says_what_it_is(name: str) -> None:
    text = getattr(tarry, name).__doc__
    assert text
    assert not text.startswith(f"{name}("), "a dataclass makes up this text when it has none"
