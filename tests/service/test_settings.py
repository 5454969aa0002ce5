import pytest

from tarry.service.model.settings import DELIVERY
from tarry.service.settings import Settings


def test_only_the_database_has_to_be_named() -> None:
    settings = Settings(db="memory:")
    assert (settings.policy, settings.allow_network, settings.proxy) == (DELIVERY, (), None)


def test_a_setting_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="no_such"):
        Settings(db="memory:", no_such=1)  # type: ignore[call-arg]  # that is the mistake


def test_settings_do_not_change() -> None:
    settings = Settings(db="memory:")
    with pytest.raises(AttributeError):
        settings.db = "other"  # type: ignore[misc]  # that is the mistake
