"""The topic `endpoints` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory import catalogue
from tarry.testing.store_contract.endpoints import EndpointsContract

Try = Callable[..., None]


def test_a_store_that_gives_a_uid_twice_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(EndpointsContract, "test_a_uid_of_an_endpoint_is_given_once_in_an_application")
    monkeypatch.setattr(catalogue, "_check_uid", lambda *_: None)
    with pytest.raises(pytest.fail.Exception):
        try_on(EndpointsContract, "test_a_uid_of_an_endpoint_is_given_once_in_an_application")
