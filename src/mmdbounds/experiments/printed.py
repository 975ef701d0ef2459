"""Every number that the paper prints in a table, typed in once.

The figures of the paper carry no numbers, so they have none here. A cell is FCR, its standard error, MIW, its
standard error. The labels of the tables are those of the paper's source.
"""

from __future__ import annotations

from dataclasses import dataclass

from mmdbounds.evaluation.presets import METHODS

PAPER = (
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


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper.

    Attributes
    ----------
    label
        Its label in the paper's source.
    columns
        The data sets.
    cells
        What is printed, by row (a method, or a number of steps) and data set.
    """

    label: str
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], Printed]

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows, in the order of the paper."""
        return tuple(dict.fromkeys(row for row, _ in self.cells))


def _table(label: str, columns: tuple[str, ...], rows: dict[str, str]) -> PrintedTable:
    """Read the rows: four numbers for each data set."""
    cells = {}
    for row, text in rows.items():
        for column, cell in zip(columns, text.split("|"), strict=True):
            cells[row, column] = Printed(*map(float, cell.split()))
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
