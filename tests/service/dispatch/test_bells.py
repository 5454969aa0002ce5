"""Who has something to do is rung for, and nobody else."""

from tarry.service.dispatch.bells import Bells


def rung(bells: Bells) -> set[str]:
    return {name for name, bell in vars(bells).items() if bell.is_set()}


def test_at_first_none_rings() -> None:
    assert rung(Bells()) == set()


def test_what_is_put_on_the_desk_is_for_those_who_work_at_it() -> None:
    bells = Bells()
    bells.ring_for_desk()
    assert rung(bells) == {"feed", "settle", "tick"}


def test_what_is_new_in_the_store_is_for_those_who_look_there() -> None:
    bells = Bells()
    bells.ring_for_store()
    assert rung(bells) == {"upkeep", "wake"}
