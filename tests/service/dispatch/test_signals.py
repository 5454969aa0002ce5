"""Who has something to do is rung for, and nobody else."""

from tarry.service.dispatch.signals import Signals


def rung(signals: Signals) -> set[str]:
    return {name for name, bell in vars(signals).items() if bell.is_set()}


def test_at_first_none_rings() -> None:
    assert rung(Signals()) == set()


def test_what_is_put_on_the_desk_is_for_those_who_work_at_it() -> None:
    signals = Signals()
    signals.ring_for_desk()
    assert rung(signals) == {"feed", "settle", "tick"}


def test_what_is_new_in_the_store_is_for_those_who_look_there() -> None:
    signals = Signals()
    signals.ring_for_store()
    assert rung(signals) == {"upkeep", "wake"}
