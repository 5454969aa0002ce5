"""What tarry promises, held against what was found."""

from collections.abc import Iterable
from dataclasses import dataclass

from contest.contestants import QUOTA, RATIO, TARRY, UNSCOPED
from contest.fresh import HEAVY
from contest.report import Table, Target

SUCCEEDING, SUCCEEDING_UNSCOPED = 2.0, 1.5
FAILING_NS = 2_000.0
GUARDED_NS = 1_000.0
IMPORTING = 0.8


@dataclass(frozen=True)
class Results:
    """The tables that something is promised about."""

    succeeding: Table
    failing: Table
    guarded: Table
    importing: Table

    def targets(self) -> list[Target]:
        """Every promise, judged; the verdicts are noted in the tables too."""
        return [
            *_times(self.succeeding, TARRY.name, SUCCEEDING),
            *_times(self.succeeding, UNSCOPED.name, SUCCEEDING_UNSCOPED),
            *_own_cost(self.failing, TARRY.name),
            *_over(self.guarded, QUOTA.name),
            *_over(self.guarded, RATIO.name),
            *_import(self.importing, TARRY.name),
        ]


def _times(table: Table, row: str, limit: float) -> list[Target]:
    found = {column.key: table.ratio(row, column) for column in table.columns}
    return _judged(table, row, found, limit, "x loop")


def _own_cost(table: Table, row: str) -> list[Target]:
    own = [column.key for column in table.columns if column.key.endswith("own")]
    found = {key: table.number(row, key) for key in own}
    return _judged(table, row, found, FAILING_NS, "ns")


def _over(table: Table, row: str) -> list[Target]:
    found = {column.key: table.excess(row, column) for column in table.columns}
    return _judged(table, row, found, GUARDED_NS, "ns over bare")


def _import(table: Table, row: str) -> list[Target]:
    cpu, _, _, brings = table.columns
    heavy = table.rows[row].get(brings.key)
    count = None if heavy is None else float(len(str(heavy).split(", ")) if heavy else 0)
    return [
        *_judged(table, row, {"CPU": table.ratio(row, cpu)}, IMPORTING, "x tenacity"),
        *_judged(table, row, {"modules": count}, 0.0, f"of {', '.join(HEAVY)}"),
    ]


def _judged(
    table: Table, row: str, found: dict[str, float | None], limit: float, unit: str
) -> list[Target]:
    """One target for each figure; the table says in its row how they came out."""
    targets = {
        key: Target(f"{table.title.partition(',')[0]}: {row}: {key}", limit, unit, figure)
        for key, figure in found.items()
    }
    verdicts = _told((key, target.verdict) for key, target in targets.items())
    table.targets.setdefault(row, []).append(f"{limit:g} {unit}: {verdicts}")
    return list(targets.values())


def _told(verdicts: Iterable[tuple[str, str]]) -> str:
    """One word if all came out alike."""
    by_key = dict(verdicts)
    if len(set(by_key.values())) == 1:
        return next(iter(by_key.values()))
    return ", ".join(f"{key} {verdict}" for key, verdict in by_key.items())
