"""All rules together."""

from collections.abc import Sequence

from tests.simulation.checker.attempts import attempts
from tests.simulation.checker.duplicates import duplicates
from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.holds import holds
from tests.simulation.checker.kept import kept
from tests.simulation.checker.limits import limits
from tests.simulation.checker.liveness import liveness
from tests.simulation.checker.order import order
from tests.simulation.checker.ownership import ownership
from tests.simulation.checker.rest import crashes, rest, stalls
from tests.simulation.checker.sent import sent
from tests.simulation.checker.truth import neighbours, truth
from tests.simulation.checker.wishes import wishes
from tests.simulation.log import Ending, Entry

RULES = (
    kept,
    sent,
    duplicates,
    ownership,
    attempts,
    order,
    limits,
    holds,
    liveness,
    wishes,
    truth,
    neighbours,
    rest,
    crashes,
    stalls,
)


def violations(entries: Sequence[Entry], ending: Ending) -> list[Violation]:
    """Return every promise that was not kept, the first one first."""
    facts = Facts(entries, ending)
    found = [violation for rule in RULES for violation in rule(facts)]
    return sorted(found, key=lambda violation: violation.at)
