"""Steps in any order, done to the memory store and to a real one: every answer must be the same.

The suite says what a store must do, case by case; this finds the orders nobody thought of.

    class MyMachine(StoreMachine):
        def open(self) -> Opened: ...

    TestMyStore = MyMachine.TestCase
"""

from tarry.testing.store_machine.deliver import DeliverSteps
from tarry.testing.store_machine.people import PeopleSteps
from tarry.testing.store_machine.state import Opened

__all__ = ["Opened", "StoreMachine"]


class StoreMachine(DeliverSteps, PeopleSteps):
    """All steps, those of the dispatcher and those of people and programs."""
