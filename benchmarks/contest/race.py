"""The timed tables. All of them are run together, so that their figures can be compared."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from contest import contestants as field_of
from contest import stopwatch
from contest.contestants import Contestant
from contest.entry import Entry, Gate, Kind
from contest.report import Column, Table
from contest.stopwatch import Case, Timer
from contest.work import FAILING_ATTEMPTS, Function

KINDS: tuple[Kind, ...] = ("sync", "async")
LOOP, BARE, HAND_BREAKER = field_of.LOOP.name, field_of.BARE.name, field_of.HAND_BREAKER.name


@dataclass(frozen=True)
class Discipline:
    """One column of a table: what is timed, and how."""

    column: Column
    kind: Kind
    admit: Callable[[Contestant, Kind], Entry]
    fails: bool = False
    attempts: int = 1
    around: Callable[[], AbstractContextManager[None]] = nullcontext


@dataclass
class Race:
    """Tables and the cases that will fill them."""

    gate: Gate
    cases: list[Case] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)

    def add(
        self, title: str, disciplines: Sequence[Discipline], entrants: Sequence[Contestant]
    ) -> Table:
        """Let the contestants take part; for one that cannot, the table says why."""
        table = Table(title, [discipline.column for discipline in disciplines])
        self.tables[title] = table
        for contestant in entrants:
            for discipline in disciplines:
                entry, key = discipline.admit(contestant, discipline.kind), discipline.column.key
                if isinstance(entry, str):
                    table.put(contestant.name, key, entry)
                    continue
                table.put(contestant.name, key, None)
                place, timer = (title, contestant.name, key), self._timer(discipline, entry)
                self.cases.append(Case(place, timer, discipline.attempts, discipline.around))
        return table

    def run(self, rounds: int, progress: stopwatch.Progress) -> None:
        """Time all cases and fill the tables."""
        for (title, row, column), least in stopwatch.least(self.cases, rounds, progress).items():
            self.tables[title].put(row, column, least)

    def _timer(self, discipline: Discipline, entry: Function) -> Timer:
        if discipline.kind == "sync":
            return (stopwatch.failing_calls if discipline.fails else stopwatch.calls)(entry)
        timed = stopwatch.failing_awaits if discipline.fails else stopwatch.awaits
        return timed(entry, self.gate.loop)


def add_succeeding(race: Race) -> Table:
    """A call that works at the first attempt: what every call pays."""
    disciplines = [
        Discipline(Column(kind, kind, times_row=LOOP), kind, race.gate.succeeding) for kind in KINDS
    ]
    entrants = (field_of.BARE, *field_of.RETRIES, field_of.DISABLED)
    return race.add("Succeeding call, ns", disciplines, entrants)


def add_failing(race: Race) -> Table:
    """An attempt that fails, with no wait after it."""
    gate = race.gate
    ways = (("own", stopwatch.sleepless, gate.failing), ("shipped", nullcontext, gate.sleeping))
    disciplines = [
        Discipline(
            Column(f"{kind} {way}", f"{kind} {way}", times_row=LOOP),
            kind,
            admit,
            fails=True,
            attempts=FAILING_ATTEMPTS,
            around=around,
        )
        for kind in KINDS
        for way, around, admit in ways
    ]
    return race.add("Failing attempt, ns", disciplines, field_of.FAILING)


def add_guarded(race: Race) -> Table:
    """A call that works, with breaker, budget and deadline around it."""
    disciplines = [
        Discipline(Column(kind, kind, times_row=LOOP, over_row=BARE), kind, race.gate.succeeding)
        for kind in KINDS
    ]
    entrants = (field_of.BARE, field_of.LOOP, *field_of.GUARDED)
    return race.add("Everything on, ns", disciplines, entrants)


def add_breakers(race: Race) -> Table:
    """A breaker alone: letting calls through, and refusing them."""
    gate = race.gate
    through = [
        Discipline(Column(kind, kind, times_row=HAND_BREAKER), kind, gate.succeeding)
        for kind in KINDS
    ]
    refused = [
        Discipline(
            Column(f"{kind} rejected", f"{kind} rejected", times_row=HAND_BREAKER),
            kind,
            gate.rejected,
            fails=True,
        )
        for kind in KINDS
    ]
    entrants = (field_of.HAND_BREAKER, *field_of.BREAKERS)
    return race.add("Breaker alone, ns", [*through, *refused], entrants)
