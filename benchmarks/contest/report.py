"""What was found, as text to read and as JSON to keep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Cell = float | str | None
"""A figure, or why there is none; None where the column does not apply."""

FINE = 10


@dataclass(frozen=True)
class Column:
    """A figure that every row has; also as a multiple of one row's, or as what goes beyond it."""

    key: str
    heading: str
    digits: int = 0
    times_row: str = ""
    over_row: str = ""

    @property
    def headings(self) -> list[str]:
        """What stands above the figure and above what is derived from it."""
        times = [f"x {_short(self.times_row)}"] if self.times_row else []
        over = [f"over {_short(self.over_row)}"] if self.over_row else []
        return [self.heading, *times, *over]


@dataclass
class Table:
    """One question: rows of contestants, columns of figures."""

    title: str
    columns: Sequence[Column]
    rows: dict[str, dict[str, Cell]] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)

    def put(self, row: str, column: str, cell: Cell) -> None:
        """Note one figure."""
        self.rows.setdefault(row, {})[column] = cell

    def number(self, row: str, column: str) -> float | None:
        """The figure, if there is one."""
        cell = self.rows.get(row, {}).get(column)
        return cell if isinstance(cell, float) else None

    def ratio(self, row: str, column: Column) -> float | None:
        """The figure as a multiple of that of the column's `times_row`."""
        found, base = self.number(row, column.key), self.number(column.times_row, column.key)
        return None if found is None or base is None else found / base

    def excess(self, row: str, column: Column) -> float | None:
        """The figure less that of the column's `over_row`."""
        found, base = self.number(row, column.key), self.number(column.over_row, column.key)
        return None if found is None or base is None else found - base

    def text(self) -> str:
        """The table, aligned."""
        head = [self.title, *(text for column in self.columns for text in column.headings)]
        lines = [[*head, "target" if self.targets else ""], *map(self._line, self.rows)]
        return aligned(lines)

    def data(self) -> dict[str, object]:
        """The table for JSON."""
        return {"title": self.title, "rows": [self._record(row) for row in self.rows]}

    def _line(self, row: str) -> list[str]:
        cells = [row]
        for column in self.columns:
            cells.append(_written(self.rows[row].get(column.key), column.digits))
            if column.times_row:
                cells.append(_ratio(self.ratio(row, column)))
            if column.over_row:
                cells.append(_written(self.excess(row, column), column.digits))
        return [*cells, ", ".join(self.targets.get(row, []))]

    def _record(self, row: str) -> dict[str, object]:
        record: dict[str, object] = {"name": row, **self.rows[row]}
        for column in self.columns:
            if column.times_row:
                record[f"{column.key} x {column.times_row}"] = self.ratio(row, column)
            if column.over_row:
                record[f"{column.key} over {column.over_row}"] = self.excess(row, column)
        return record


@dataclass(frozen=True)
class Target:
    """What tarry promises about a figure, and what was found (None if it was not measured)."""

    what: str
    limit: float
    unit: str
    found: float | None

    @property
    def verdict(self) -> str:
        """Whether the promise is kept."""
        if self.found is None:
            return "not measured"
        return "pass" if self.found <= self.limit else "MISS"

    def data(self) -> dict[str, object]:
        """The target for JSON."""
        facts = {"what": self.what, "at most": self.limit, "unit": self.unit, "found": self.found}
        return {**facts, "verdict": self.verdict}


def target_text(targets: Iterable[Target]) -> str:
    """The promises and what became of them."""
    lines = [
        [each.what, f"{each.limit:g} {each.unit}".strip(), _found(each), each.verdict]
        for each in targets
    ]
    return aligned([["Targets", "at most", "found", ""], *lines])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Names to the left, figures to the right, a rule under the headings."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    head, *body = [_row(line, widths) for line in lines]
    return "\n".join([head, "-" * max(map(len, (head, *body))), *body])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *figures = [
        cell.rjust(width) if place else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join([name, *figures]).rstrip()


def _short(row: str) -> str:
    """The last word of a row's name, or of 'bare call' the first."""
    return row.removesuffix(" call").rpartition(" ")[2]


def _found(target: Target) -> str:
    digits = 2 if target.limit < FINE else 0
    return "" if target.found is None else f"{target.found:,.{digits}f}"


def _written(cell: Cell, digits: int) -> str:
    if isinstance(cell, float):
        return f"{cell:,.{digits}f}"
    return "" if cell is None else cell


def _ratio(times: float | None) -> str:
    if times is None:
        return ""
    return f"{times:.2f}" if times < FINE else f"{times:,.0f}"
