"""The memory store has all that a store must have."""

import inspect

from tarry.service.store.contract import Store
from tarry.service.store.memory import MemoryStore


def test_the_memory_store_is_a_store() -> None:
    store: Store = MemoryStore()
    methods = {name for name, _ in inspect.getmembers(Store, inspect.isfunction) if name[0] != "_"}
    assert len(methods) > 40
    assert methods <= set(dir(store))


def test_no_two_parts_of_it_have_a_method_of_the_same_name() -> None:
    names = [
        name
        for part in MemoryStore.__bases__
        for name in vars(part)
        if inspect.isfunction(vars(part)[name]) and not name.startswith("__")
    ]
    assert sorted(names) == sorted(set(names))


def test_two_stores_share_nothing() -> None:
    first, second = MemoryStore(), MemoryStore()
    assert all(
        value is not vars(second)[name] for name, value in vars(first).items() if value is not None
    )
