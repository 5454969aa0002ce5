import pytest

from tarry.errors import SettingsError
from tarry.service.model.chain import MOST_DELIVERIES, check_chain


def test_a_chain_may_have_so_many_deliveries_and_no_more() -> None:
    for chain in (0, MOST_DELIVERIES - 1):
        check_chain(chain)
    for wrong in (-1, MOST_DELIVERIES, True, "1"):
        with pytest.raises(SettingsError) as caught:
            check_chain(wrong)  # type: ignore[arg-type]  # wrong ones
        assert caught.value.field == "chain"
