"""Every number that the paper prints in a table, when ours agree with them, and what was tried where not.

The figures of the paper show no numbers. A cell is FCR, its standard error, MIW, its standard error. The
labels of the tables are those of the paper's source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from lab.paper.presets import METHODS
from lab.paper.results import Line

CITATION = (
    "Ron Nafshi and Maggie Makar, Partial identification of kernel based two sample tests with mismeasured "
    "data, arXiv:2308.03570"
)

MIMIC, FOREST, BIO = "MIMIC", "FOREST", "BIO"
S_SD, S_QNO, QNO, SD, SM, BOOTSTRAP = METHODS


@dataclass(frozen=True)
class Printed:
    """What the paper prints for one method on one data set."""

    fcr: float
    fcr_error: float
    miw: float
    miw_error: float

    @property
    def possible_error(self) -> float:
        """The standard error of the rate as printed, or what it can be at most over 50 trials, if less."""
        return min(self.fcr_error, math.sqrt(self.fcr * (1 - self.fcr) / FEWEST_TRIALS))


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper."""

    label: str  # in the paper's source
    columns: tuple[str, ...]  # the data sets
    cells: dict[tuple[str, str], Printed]  # by row (a method, or a number of steps) and data set

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows, in the order of the paper."""
        return tuple(dict.fromkeys(row for row, _ in self.cells))


def _table(label: str, columns: tuple[str, ...], rows: dict[str, str]) -> PrintedTable:
    """Parse the rows: four numbers per data set."""
    cells = {
        (row, column): Printed(*map(float, cell.split()))
        for row, text in rows.items()
        for column, cell in zip(columns, text.split("|"), strict=True)
    }
    return PrintedTable(label, columns, cells)


MAIN = _table(
    "nonrandom_main_table",
    (MIMIC, FOREST, BIO),
    {
        S_SD: "0.0 0.0 0.137 0.008 | 0.0 0.0 0.088 0.003 | 0.1 0.03 0.075 0.001",
        S_QNO: "0.08 0.067 0.119 0.006 | 0.02 0.02 0.084 0.004 | 1.0 0.0 0.059 0.001",
        QNO: "0.58 0.069 0.13 0.006 | 0.62 0.069 0.033 0.006 | 1.0 0.0 0.037 0.001",
        SD: "0.64 0.068 0.082 0.01 | 0.9 0.042 0.027 0.005 | 0.13 0.034 0.069 0.001",
        SM: "0.66 0.067 0.08 0.01 | 0.9 0.042 0.026 0.004 | 0.82 0.038 0.037 0.001",
        BOOTSTRAP: "0.94 0.034 0.048 0.002 | 0.4 0.069 0.034 0.001 | 0.25 0.043 0.036 0.001",
    },
)

N2000 = _table(
    "tab:n2000",
    (MIMIC, FOREST),
    {
        S_SD: "0.0 0.0 0.251 0.008 | 0.0 0.0 0.128 0.007",
        S_QNO: "0.0 0.0 0.25 0.006 | 0.0 0.0 0.134 0.007",
        QNO: "0.0 0.0 0.227 0.006 | 0.32 0.066 0.107 0.01",
        SD: "0.02 0.02 0.23 0.009 | 0.46 0.07 0.087 0.009",
        SM: "0.02 0.02 0.217 0.008 | 0.46 0.07 0.081 0.008",
        BOOTSTRAP: "0.3 0.065 0.091 0.004 | 0.46 0.07 0.042 0.003",
    },
)

STEPS_S_SD = _table(
    "tab:sensitivity_step",
    (FOREST,),
    {
        "2": "0.21 0.091 0.082 0.001",
        "3": "0.13 0.034 0.079 0.001",
        "5": "0.0 0.0 0.088 0.001",
        "10": "0.0 0.0 0.08 0.001",
        "20": "0.0 0.0 0.091 0.001",
        "50": "0.0 0.0 0.091 0.001",
    },
)

STEPS_S_QNO = _table(
    "tab:sens_both",
    (FOREST,),
    {
        "2": "0.05 0.023 0.067 0.001",
        "3": "0.0 0.0 0.066 0.001",
        "5": "0.0 0.0 0.075 0.0",
        "10": "0.0 0.0 0.091 0.001",
        "20": "0.0 0.0 0.087 0.001",
        "50": "0.0 0.0 0.091 0.001",
    },
)

RANDOM = _table(
    "tab:rand100",
    (MIMIC, FOREST, BIO),
    {
        S_SD: "0.0 0.0 0.258 0.002 | 0.0 0.0 0.107 0.002 | 0.07 0.026 0.08 0.001",
        S_QNO: "0.0 0.0 0.258 0.002 | 0.0 0.0 0.114 0.002 | 1.0 0.0 0.056 0.001",
        QNO: "0.0 0.0 0.247 0.002 | 0.4 0.069 0.051 0.002 | 1.0 0.0 0.038 0.001",
        SD: "0.0 0.0 0.24 0.002 | 0.92 0.038 0.064 0.003 | 0.15 0.036 0.074 0.001",
        SM: "0.0 0.0 0.225 0.002 | 0.92 0.038 0.06 0.003 | 0.42 0.049 0.05 0.002",
        BOOTSTRAP: "1.0 0.0 0.02 0.0 | 0.6 0.069 0.005 0.0 | 0.85 0.036 0.036 0.001",
    },
)

TABLES = {table.label: table for table in (MAIN, N2000, STEPS_S_SD, STEPS_S_QNO, RANDOM)}

FEWEST_TRIALS = 50  # of any number that the paper prints, judging by its rates and standard errors
FCR_WITHIN = 0.05  # largest difference of rates that counts as agreement in any case
ERRORS_WITHIN = 2  # or this many standard errors of the difference
MIW_WITHIN = 0.15  # largest relative difference of widths that does
SLACK = 1e-9  # rounding error of the difference of two decimal numbers

Verdict = Literal["agrees", "FCR differs", "MIW differs", "both differ"]


def verdict(cell: Printed, line: Line) -> Verdict:
    """Return whether a line agrees with what the paper prints."""
    by_chance = ERRORS_WITHIN * math.hypot(cell.possible_error, line.fcr_error)
    rate = abs(line.fcr - cell.fcr) <= max(FCR_WITHIN, by_chance) + SLACK
    width = abs(line.miw - cell.miw) <= MIW_WITHIN * cell.miw + SLACK
    if rate and width:
        return "agrees"
    if rate or width:
        return "MIW differs" if rate else "FCR differs"
    return "both differ"


def difference(cell: Printed, line: Line) -> str:
    """Return in words how far a line is from the printed numbers."""
    return (
        f"FCR {cell.fcr} printed, {line.fcr:.2f} here; MIW {cell.miw} printed, {line.miw:.3f} here "
        f"({100 * (line.miw / cell.miw - 1):+.0f} %)"
    )


_STEPS = (
    "For S-SD the printed width at ten steps, 0.08, lies below those at five and at twenty, 0.088 and "
    "0.091, which no reading gives. For QNO the start, the stopping rule, and what becomes of free points "
    "between steps are not stated; tried: points that stay free and points that snap to rows, sums over n "
    "and means, starts at random rows and at the rows of S-SD."
)
_FOREST = (
    "About 2,400 joint readings were tried on FOREST: the contaminated group, the statistic, the ranking "
    "and the counts of S-SD and SD, the weight of SM, and the objective, the start and the snapping of "
    "QNO. This one explains the most pairs."
)
_BOOTSTRAP = (
    "The number of resamples is not stated and hardly matters. The stated quantiles (alpha = 1/6) give the "
    "printed widths on FOREST; the rates depend on the contaminated group."
)
_BIO = (
    "No single reading of BIO gives all of its numbers. Tried (`lab/studies/results/bio_reading.md`): normal "
    "scores, raw values, logarithms and standardised values; ALL and AML as the contaminated group; 47 + "
    "25 and 36 + 36 rows; U- and V-statistic, for bounds and truth; three rankings; three weights of the "
    "log-determinant; free points that converge, take one step or stay; both columns as printed and "
    "exchanged. None explains more than half of the pairs. The one that is used departs least from the "
    "text of the paper."
)


def note(column: str, row: str) -> str:
    """Return what was tried where a number of the paper is not matched."""
    if column == BIO:
        return _BIO
    if row not in METHODS:
        return _STEPS
    return _BOOTSTRAP if row == BOOTSTRAP else _FOREST
