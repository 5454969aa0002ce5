"""Each loop has its signal, and news in the store are for those who look there."""

from tarry.service.dispatch.signals import Signals


def set_ones(signals: Signals) -> set[str]:
    return {name for name, signal in vars(signals).items() if signal.is_set()}


def test_at_first_none_is_set() -> None:
    assert set_ones(Signals()) == set()


def test_what_is_new_in_the_store_is_for_those_who_look_there() -> None:
    signals = Signals()
    signals.store_has_news()
    assert set_ones(signals) == {"upkeep", "load"}
