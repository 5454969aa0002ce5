"""Steps in any order, done to the memory store and to a real one: every answer must be the same.

The suite says what a store must do, case by case; this finds the orders nobody thought of.

    class MyMachine(StoreMachine):
        def open(self) -> Opened: ...

    TestMyStore = MyMachine.TestCase
"""

from hypothesis.stateful import initialize, rule

from tarry.testing.samples import ENVIRONMENT
from tarry.testing.store_machine.deliver import DeliverSteps
from tarry.testing.store_machine.people import Draft, batches
from tarry.testing.store_machine.state import WORKERS, Opened
from tarry.testing.store_machine.step import Step, any_step

__all__ = ["Opened", "StoreMachine"]


class StoreMachine(DeliverSteps):
    """All steps, those of the dispatcher and those of people and programs."""

    @initialize(new=batches)
    def begin(self, new: list[Draft]) -> None:
        """Two applications, the first with endpoints, some messages, and a worker that has all."""
        self.ask(lambda side: side.store.put_environment(ENVIRONMENT))
        self.put_an_application(uid=None)
        self.put_an_application(uid="one")
        self.put_an_endpoint(of=0, uid=None, wants=None, listens=None, sealed=False)
        self.put_an_endpoint(of=0, uid=None, wants=("a",), listens=None, sealed=False)
        self.lease(worker=WORKERS[0])
        self.add_messages(new)

    @rule(step=any_step())
    def do(self, step: Step) -> None:
        """One step, whichever."""
        name, arguments = step
        getattr(self, name)(**arguments)
