"""Try mutants one by one: plant each into the loaded code and run the tests that reach it.

A trial is a child process, forked when all tests are collected. It puts the changed function in
the place of the right one, in memory, and runs tests until the first one fails. So no file is
written, and a trial takes no longer than its tests. What a test starts as a process of its own does
not have the change.
"""

import gc
import os
import resource
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import FunctionType

import pytest

from tests.mutation.marks import Marks
from tests.mutation.mutants import Mutant

FORK = get_context("fork")
MEMORY = 8 << 30
"""Bytes of addresses for one trial: some mistakes fill lists without end."""
PATIENCE = 10.0
"""How many seconds a test may take, besides ten times its computing time without a mistake."""
SECONDS = 2.0
"""How much computing the tests may need that judge one mistake, as long as nothing is wrong."""
TOLD_EVERY = 10.0
"""Seconds between two lines about how far it has come."""
Tell = Callable[[float], None]
"""Tells the parent how many seconds it takes at the most until it hears of the child again."""
Reached = dict[tuple[str, int], set[str]]
"""The ids of the tests that run a statement, by its file and first line."""


@dataclass(frozen=True)
class Package:
    """A file or folder of sources, and the tests that have to notice a mistake."""

    name: str
    source: Path
    tests: tuple[Path, ...]


@dataclass(frozen=True)
class Verdict:
    """What the tests made of a mutant: `noticed`, `timed out`, `survived` or `impossible`."""

    mutant: Mutant
    word: str
    by: str
    """The test that noticed it, or a remark."""


class Trials:
    """A pytest plugin. Instead of running the collected tests, it tries mutants with them."""

    def __init__(self, mutants: Sequence[tuple[Package, Mutant]], *, seconds: float) -> None:
        self.verdicts: dict[str, list[Verdict]] = defaultdict(list)
        self.unusable: list[str] = []
        self.interrupted = False
        self._mutants = mutants
        self._ends = time.monotonic() + seconds
        self._told_at = time.monotonic()
        self._failure: pytest.TestReport | None = None
        self._screen = os.fdopen(os.dup(sys.stderr.fileno()), "w")
        self._tests: dict[str, pytest.Item] = {}
        self._took: dict[str, float] = {}
        self._reached: Reached = {}
        self._functions: dict[tuple[str, int, str], list[FunctionType]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first failure of a test."""
        if report.failed and self._failure is None:
            self._failure = report

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Try all mutants, as long as there is time."""
        if session.testsfailed:
            return None  # some file could not be imported: pytest reports that
        self._tests = {item.nodeid: item for item in session.items}
        self._functions = _loaded_functions()
        try:
            self._learn()
            for number, (package, mutant) in enumerate(self._mutants):
                if time.monotonic() >= self._ends:
                    break
                self._tell(f"{number} of {len(self._mutants)} mutants tried")
                verdict = self._try(package, mutant)
                self.verdicts[package.name].append(verdict)
                if verdict.word == "survived":
                    self._tell(f"survived: {mutant} ({verdict.by})", at_once=True)
        except KeyboardInterrupt:
            self.interrupted = True
        return True

    def _learn(self) -> None:
        """Run all tests once without a mistake, and learn which statements each of them runs."""
        files = {mutant.file for _, mutant in self._mutants}
        answer = _in_a_child(lambda _tell: self._trace(files), None)
        if not isinstance(answer, tuple):
            raise pytest.UsageError(f"the run without a mistake {answer}")
        self._reached, self._took, self.unusable = answer

    def _trace(self, files: set[Path]) -> tuple[Reached, dict[str, float], list[str]]:
        marks = [Marks(file, self._functions) for file in sorted(files)]
        reached: Reached = {}
        took: dict[str, float] = {}
        failed: list[str] = []
        for item, following in _with_next([*self._tests.values()]):
            self._tell(f"{len(took)} of {len(self._tests)} tests run without a mistake")
            started = time.process_time()  # other work on the machine must not matter
            if self._failure_of(item, following):
                failed.append(item.nodeid)
            took[item.nodeid] = time.process_time() - started
            for mark in marks:
                for line in mark.reached():
                    reached.setdefault((str(mark.file), line), set()).add(item.nodeid)
        return reached, took, failed

    def _try(self, package: Package, mutant: Mutant) -> Verdict:
        chosen = list(self._choose(package, mutant))
        if not chosen:
            return Verdict(mutant, "survived", "no test runs this line")
        answer = _in_a_child(lambda tell: self._plant(mutant, chosen, tell), PATIENCE)
        if isinstance(answer, tuple):
            return Verdict(mutant, *answer)
        word = "timed out" if answer == "took too long" else "noticed"
        return Verdict(mutant, word, f"the tests {answer}")

    def _choose(self, package: Package, mutant: Mutant) -> Iterator[pytest.Item]:
        """Yield the tests of the package that run the changed statement.

        The tests of its own file come first, then others, the quickest first, while there is time.
        """
        names = self._reached.get((str(mutant.file), mutant.lines.start), set())
        tests = [self._tests[name] for name in names - {*self.unusable}]
        own = f"test_{mutant.file.name}"
        tests.sort(key=lambda item: (item.path.name != own, self._took[item.nodeid]))
        left = SECONDS
        for item in tests:
            if any(item.path.is_relative_to(place) for place in package.tests) and left > 0:
                left -= self._took[item.nodeid]
                yield item

    def _allowed(self, item: pytest.Item) -> float:
        return PATIENCE + 10 * self._took[item.nodeid]

    def _plant(self, mutant: Mutant, tests: Sequence[pytest.Item], tell: Tell) -> tuple[str, str]:
        """Put the mistake in place and run the tests; this happens in a child.

        The parent is told how long each test may take. Nothing in the child can say so for sure:
        an event loop goes on after most exceptions.
        """
        try:
            code = mutant.compile()
            for function in self._functions[mutant.key]:
                function.__code__ = code
        except (SyntaxError, ValueError) as error:  # for instance: it uses no `super` any more
            return "impossible", str(error)
        for item, following in _with_next(tests):
            tell(self._allowed(item))
            failure = self._failure_of(item, following)
            if failure:
                return "noticed", failure.nodeid
        return "survived", f"tests that run this line: {len(tests)}"

    def _failure_of(
        self, item: pytest.Item, following: pytest.Item | None
    ) -> pytest.TestReport | None:
        self._failure = None
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._failure

    def _tell(self, text: str, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._told_at >= TOLD_EVERY:
            self._told_at = now
            print(text, file=self._screen, flush=True)


def _loaded_functions() -> dict[tuple[str, int, str], list[FunctionType]]:
    """Find every function in memory by the file, first line and name of its code."""
    gc.unfreeze()  # the garbage collector does not list what it was told to leave alone
    functions: dict[tuple[str, int, str], list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType:
            code = thing.__code__
            functions[code.co_filename, code.co_firstlineno, code.co_name].append(thing)
    gc.freeze()
    return functions


def _with_next(tests: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with the one after it, whose fixtures it leaves in place."""
    return zip(tests, [*tests[1:], None], strict=True)


def _in_a_child(work: Callable[[Tell], object], limit: float | None) -> object:
    """Return what `work` returns in a forked child, or a text that says how the child ended.

    The child has this many seconds, and from then on as many as it says each time.
    """
    ours, theirs = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_run_quietly, args=(work, theirs))
    child.start()
    theirs.close()
    try:
        answer: object = limit
        while isinstance(answer, float | None):
            answer = ours.recv() if ours.poll(answer) else "took too long"
    except EOFError:
        answer = "ended the process"
    finally:
        child.kill()
        child.join()
        ours.close()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _run_quietly(work: Callable[[Tell], object], answers: Connection) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        answers.send(work(answers.send))
    except Exception:  # noqa: BLE001 - the parent raises it
        answers.send(RuntimeError(traceback.format_exc()))
