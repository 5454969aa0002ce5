"""Run random steps on the memory store and on a real one, and compare every answer.

The suite checks case by case what a store must do. This finds orders of steps that no test covers.

    class MyMachine(StoreMachine):
        def open(self) -> Opened: ...

    TestMyStore = MyMachine.TestCase
"""

from hypothesis.stateful import initialize, rule

from tarry.service.store.kinds import Environment
from tarry.testing.samples import ENVIRONMENT
from tarry.testing.store_machine.admission import AdmissionSteps
from tarry.testing.store_machine.deliver import DeliverSteps
from tarry.testing.store_machine.people import Draft, batches
from tarry.testing.store_machine.state import WORKERS, Opened
from tarry.testing.store_machine.step import Step, any_step

__all__ = ["Opened", "StoreMachine"]


class StoreMachine(AdmissionSteps, DeliverSteps):
    """All steps: those of the dispatcher, of the HTTP API, and of people and programs."""

    @initialize(new=batches)
    def begin(self, new: list[Draft]) -> None:
        """Create two applications, endpoints for the first, and messages; lease all to a worker."""
        self.ask(lambda side: side.store.put(Environment(ENVIRONMENT)))
        self.put_an_application(uid=None)
        self.put_an_application(uid="one")
        self.put_an_endpoint(application_index=0, uid=None, wants=None, listens=None, sealed=False)
        self.put_an_endpoint(
            application_index=0, uid=None, wants=("a",), listens=None, sealed=False
        )
        self.lease(worker=WORKERS[0])
        self.add_messages(new)

    @rule(step=any_step())
    def do(self, step: Step) -> None:
        """Do one step."""
        name, arguments = step
        getattr(self, name)(**arguments)
