"""The paper's numbers, typed in once: against the paper's source, and a few by eye."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from lab.paper import printed
from lab.paper.printed import Printed

SIZES = {
    "nonrandom_main_table": (6, 3),
    "tab:n2000": (6, 2),
    "tab:sensitivity_step": (6, 1),
    "tab:sens_both": (6, 1),
    "tab:rand100": (6, 3),
}


def test_every_table_is_complete():
    assert {label: (len(t.rows), len(t.columns)) for label, t in printed.TABLES.items()} == SIZES
    for table in printed.TABLES.values():
        assert set(table.cells) == {(row, column) for row in table.rows for column in table.columns}
        for cell in table.cells.values():
            assert 0 <= cell.fcr <= 1
            assert 0 < cell.miw < 0.3
            assert 0 <= cell.fcr_error < 0.1
            assert 0 <= cell.miw_error <= 0.01


@pytest.mark.parametrize(
    ("table", "row", "column", "cell"),
    [
        (printed.MAIN, "S-SD", "MIMIC", (0.0, 0.0, 0.137, 0.008)),
        (printed.MAIN, "SM", "BIO", (0.82, 0.038, 0.037, 0.001)),
        (printed.N2000, "QNO", "FOREST", (0.32, 0.066, 0.107, 0.01)),
        (printed.STEPS_S_SD, "2", "FOREST", (0.21, 0.091, 0.082, 0.001)),
        (printed.STEPS_S_QNO, "5", "FOREST", (0.0, 0.0, 0.075, 0.0)),
        (printed.RANDOM, "Bootstrap", "FOREST", (0.6, 0.069, 0.005, 0.0)),
    ],
)
def test_some_numbers_by_eye(table, row, column, cell):
    assert table.cells[row, column] == Printed(*cell)


@pytest.mark.data
@pytest.mark.parametrize("label", SIZES)
def test_every_number_stands_in_the_source_of_the_paper(label):
    source = Path(os.environ["MMDBOUNDS_DATA"]).parent / "paper.tex"
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    text = source.read_text()
    (table,) = (
        part for part in re.split(r"\\begin\{(?:wrap)?table\}", text)[1:] if f"\\label{{{label}}}" in part
    )
    body = table[table.index(r"\toprule") : table.index(r"\bottomrule")]
    found = {}
    for line in body.split("\\\\\n"):
        cells = re.findall(r"([\d.]+)\s*\\pm\s*\(([\d.]+)", line)
        if cells:
            name = line.strip().removeprefix(r"\cmidrule").split("\n")[-1].split("&")[0]
            found[re.sub(r"\(Ours\)|\$", "", name).strip()] = [float(v) for pair in cells for v in pair]
    ours = {}
    for (row, _), cell in printed.TABLES[label].cells.items():
        ours.setdefault(row, []).extend((cell.fcr, cell.fcr_error, cell.miw, cell.miw_error))
    assert found == ours
