"""CSV: cells of any length, and time in proportion to the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.errors import DataError
from mmdbounds.tables import csv_files, groups


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(alphabet='ab,;"\n\r', min_size=1, max_size=14), st.sampled_from(",;\t"))
def test_long_cells_are_read_as_the_csv_module_reads_short_ones(text: str, separator: str):
    def found(records: Iterator) -> list | str:
        try:
            return list(records)
        except csv.Error:
            return "refused"

    expected = found(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    assert found(csv_files._long_records(text.encode(), separator, strict=True)) == expected


def test_the_limit_of_the_csv_module_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    def refuse(*new: int) -> int:
        if new:
            pytest.fail("the limit of the whole process was changed")
        return limit()

    limit = csv.field_size_limit
    before = limit()
    rows = ['g,x,note\nA,1,"' + "n" * (before + 1) + '"', 'B,2,""', 'A,3,"a ""b"", c"', "B,5,"]
    monkeypatch.setattr(csv, "field_size_limit", refuse)
    X, Y = groups(
        io.BytesIO("\n".join(rows).encode()), "g", hidden="A", among="B", exclude="note", scale="none"
    )
    assert (X.values.tolist(), Y.values.tolist()) == ([[1.0], [3.0]], [[2.0], [5.0]])
    ragged = "\n".join([*rows, "A,7"])
    with pytest.raises(
        DataError, match=r"is ragged: row 5 below the header has 2 fields, but the header has 3"
    ):
        groups(io.BytesIO(ragged.encode()), "g", hidden="A", among="B", exclude="note")
    with pytest.raises(DataError, match=r"cannot be read as CSV"):
        groups(io.BytesIO(f'{ragged},"n'.encode()), "g", hidden="A", among="B", exclude="note")


@pytest.mark.parametrize("missing", ["", "NA"])
def test_no_step_of_reading_looks_at_all_columns_for_each(monkeypatch: pytest.MonkeyPatch, missing: str):
    """Asking a DataFrame for its schema or names takes as long as it has columns."""

    def asked(n_columns: int) -> int:
        lines = [["g", *(f"c{j}" for j in range(n_columns))]]
        lines += [[g, *(f"{i * (j + 1) % 7}.5" for j in range(n_columns))] for i, g in enumerate("AABBAB")]
        if missing:
            lines += [["A", *[missing] * n_columns]]
        file = io.BytesIO("\n".join(map(",".join, lines)).encode())
        count[0] = 0
        groups(file, "g", hidden="A", among="B", missing="impute")
        return count[0]

    count = [0]
    for name in ("schema", "columns", "dtypes"):
        kept = getattr(pl.DataFrame, name)

        def counting(frame: pl.DataFrame, kept: Any = kept) -> Any:
            count[0] += 1
            return kept.fget(frame)

        monkeypatch.setattr(pl.DataFrame, name, property(counting, kept.fset))
    assert asked(200) < asked(20) + 20
