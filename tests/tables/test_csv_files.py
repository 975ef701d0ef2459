"""CSV: how long reading takes in columns, and what is left alone."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from mmdbounds.errors import DataError
from mmdbounds.tables import csv_columns, groups
from mmdbounds.tables.files import load_file


def read(text: str) -> dict[str, list]:
    return {name: cells.given() for name, cells in load_file(io.BytesIO(text.encode())).columns.items()}


def test_the_limit_of_the_csv_module_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    def refuse(*new: int) -> int:
        if new:
            pytest.fail("the limit of the whole process was changed")
        return limit()

    limit = csv.field_size_limit
    rows = ["g,x,note", 'A,1,""', 'B,2,"' + "n" * (limit() + 1) + '"']
    monkeypatch.setattr(csv, "field_size_limit", refuse)
    with pytest.raises(DataError, match=r"a cell of more than 131,072 characters in row 2 below the header"):
        groups(io.BytesIO("\n".join(rows).encode()), "g", hidden="A", among="B", exclude="note")


@pytest.mark.parametrize("late", ["x", "", "NA", "1,234,567", "1_000", "nan", "9007199254740993", "true"])
@pytest.mark.parametrize("quoted", [False, True])
def test_blocks_give_what_one_block_gives(monkeypatch: pytest.MonkeyPatch, late: str, quoted: bool):
    """A column may turn out to be text, or to have a gap, in any block."""
    rng = np.random.default_rng(0)
    cells = [[str(cell) for cell in row] for row in rng.integers(0, 99, size=(40, 3)).tolist()]
    cells[31][1] = late
    cells[33][2] = "2.75"
    mark = '"' if quoted or "," in late else ""
    text = "\n".join(["a,b,c", *(",".join(f"{mark}{cell}{mark}" for cell in row) for row in cells)])
    wanted = read(text)
    monkeypatch.setattr(csv_columns, "BLOCK_CELLS", 12)
    assert repr(read(text)) == repr(wanted)
    assert wanted["c"] == [float(row[2]) for row in cells]


def test_a_column_costs_the_same_beside_many(monkeypatch: pytest.MonkeyPatch):
    """Reading parses all columns of plain numbers of a block in one call."""

    def asked(n_columns: int) -> int:
        calls[0] = 0
        lines = [["g", *(f"c{j}" for j in range(n_columns))]]
        lines += [[g, *(f"{i * (j + 1) % 7}.5" for j in range(n_columns))] for i, g in enumerate("AABBAB")]
        read("\n".join(map(",".join, lines)))
        return calls[0]

    calls, kept = [0], np.loadtxt

    def counting(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        return kept(*arguments, **options)

    monkeypatch.setattr(np, "loadtxt", counting)
    assert asked(200) == asked(20)
