"""Columns that determine the group or look like identifiers are named in a warning; others are not."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.cli.getting_started import TUMOURS
from mmdbounds.errors import DataError, GroupColumnWarning, MissingCodeWarning
from mmdbounds.tables import groups, suspicious_columns
from mmdbounds.tables.columns import Column
from mmdbounds.tables.suspicious_columns import (
    counts_through,
    group_columns,
    is_called_identifier,
    looks_like_identifier,
)

N = 60
RNG = np.random.default_rng(2)
IS_X = RNG.permutation(np.arange(N) < 25)
GROUP = np.where(IS_X, "MI", "healthy")


def split(**columns: Any) -> None:
    asked = {"group": "g", "hidden": "MI", "among": "healthy", **columns.pop("options", {})}
    groups({"g": GROUP, "age": RNG.normal(size=N), **columns}, **asked)


@pytest.mark.parametrize(
    "column",
    {
        "copied as a number": IS_X * 1.0,
        "copied as truth": IS_X,
        "copied as text": np.where(IS_X, "yes", "no"),
        "codes in no order": np.where(IS_X, RNG.choice([1, 5, 9], N), RNG.choice([2, 4, 7], N)),
        "categories in no order": np.where(IS_X, RNG.choice(["a", "d"], N), RNG.choice(["b", "c"], N)),
        "measured only in one group": np.where(IS_X, RNG.uniform(1, 9, N), 0.0),
    }.values(),
)
def test_a_column_that_determines_the_group_is_named(column: Any):
    with pytest.warns(
        GroupColumnWarning,
        match=r"^column 'code' alone determines the group of nearly every row\. .*exclude",
    ):
        split(code=column.tolist())
    split(code=column.tolist(), options={"columns": ["age", "code"]})
    split(code=column.tolist(), options={"exclude": "code"})


def test_missing_cells_can_determine_the_group():
    column = [None if x else float(v) for v, x in zip(RNG.normal(size=N), IS_X, strict=True)]
    with pytest.warns(GroupColumnWarning, match="^column 'infarct'"):
        split(infarct=column, options={"missing": "impute"})


def test_several_columns_are_named():
    with pytest.warns(
        GroupColumnWarning, match=r"^each of the columns 'a', 'b' alone determines .* leave them out"
    ):
        split(a=IS_X * 2.0, b=IS_X)


def test_columns_that_only_differ_are_none():
    rare = IS_X * 1.0
    rare[np.flatnonzero(IS_X)[0]] = 0.0  # 1 of 25: a balanced accuracy of 0.98
    split(shifted=RNG.normal(size=N) + 2 * IS_X, rare=rare)
    # Five rows of each are separated by one column in 126, by chance.
    few = {"g": ["a"] * 5 + ["b"] * 5, "x": [1.0, 2, 3, 4, 5, 16, 17, 18, 19, 20]}
    groups(few, "g", hidden="a", among="b")


def test_the_tumours_of_the_demonstration_are_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        groups(TUMOURS, "diagnosis", hidden="malignant", among="benign", id="patient")


def naive(column: list[float], is_x: np.ndarray) -> float:
    """The largest difference of shares over all sets of values."""
    values, best = sorted(set(map(str, column))), 0.0
    for size in range(len(values) + 1):
        for chosen in itertools.combinations(values, size):
            inside = np.array([str(cell) in chosen for cell in column])
            best = max(best, abs(inside[is_x].mean() - inside[~is_x].mean()))
    return best


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, float("nan")]), min_size=4, max_size=14), st.integers(1, 3)
)
def test_the_best_split_by_the_definition(column: list[float], n_x: int):
    is_x = np.arange(len(column)) < n_x
    found, _ = suspicious_columns._distances(np.array(column)[:, None], is_x, np.array([0]))
    # Sums of at most 14 shares, each rounded once.
    np.testing.assert_allclose(found, naive(column, is_x), rtol=0, atol=14 * 2**-52)


def test_of_many_rows_a_part_is_looked_at_first_and_all_decide(monkeypatch: pytest.MonkeyPatch):
    is_x = RNG.random(4000) < 0.4
    almost = np.where(RNG.random(4000) < 0.03, ~is_x, is_x) * 1.0  # a balanced accuracy of 0.97
    values = np.column_stack([RNG.normal(size=4000), is_x, almost])
    columns = [Column(name, "number") for name in ("noise", "copy", "almost")]
    whole = group_columns(values, columns, is_x)
    monkeypatch.setattr(suspicious_columns, "MOST_ROWS", 300)
    monkeypatch.setattr(suspicious_columns, "BLOCK", 700)
    assert group_columns(values, columns, is_x) == whole == ["copy"]


def test_random_labels_are_told_by_no_column():
    """However many columns there are, and however few rows: 2,000 columns of 8 + 8 rows, 40 times."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        columns = [Column(str(j), "number") for j in range(2000)]
        is_x = rng.permutation(np.arange(16) < 8)
        assert group_columns(rng.integers(0, 12, (16, 2000)) * 1.0, columns, is_x) == []


@pytest.mark.parametrize(
    "name",
    [
        *("id", "ID", "Id", "patient_id", "PatientID", "patientId", "patientid", "PATIENT ID", "patient.id"),
        *(
            "mrn",
            "MRN",
            "subject",
            "Subject_ID",
            "SUBJECT_ID",
            "record_id",
            "uuid",
            "case_number",
            "CaseNumber",
        ),
        *(
            "hadm_id",
            "id_patient",
            "patient no",
            "patient",
            "Unnamed: 0",
            "index",
            "row",
            "sample_nr",
            "rowid",
        ),
    ],
)
def test_names_of_identifiers(name: str):
    assert is_called_identifier(name)
    assert looks_like_identifier(name, np.array([7, 3, 9, 3]))
    assert not looks_like_identifier(name, np.array([0, 1, 0, 1]))


@pytest.mark.parametrize(
    "name",
    [
        *(
            "acid",
            "uric_acid",
            "AminoAcid",
            "lipid",
            "covid",
            "width",
            "idle",
            "ID1",
            "ID2",
            "ID3",
            "IDH1",
            "MIDN",
        ),
        *(
            "case",
            "number_of_patients",
            "n_visits",
            "age",
            "weight",
            "no",
            "NO2",
            "SUBJECTIVE",
            "x",
            "",
            "thyroid",
        ),
        *("fluid", "midpoint", "grid", "valid", "patients_seen", "record_length", "study_hours"),
    ],
)
def test_names_of_measurements(name: str):
    assert not is_called_identifier(name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(6), True),
        (range(1000, 1006), True),
        (range(6, 0, -1), True),
        (range(5), False),  # too few to tell
        (range(0, 18, 3), False),  # too few for steps other than one
        (range(0, 30, 3), True),
        ([1, 2, 4, 7, 8, 9, 12, 15, 16, 20], True),
        ([1, 2, 4, 4, 8, 9, 12, 15, 16, 20], False),
        ([1, 2, 4, 3, 8, 9, 12, 15, 16, 20], False),
    ],
)
def test_counting_up(values: object, expected: bool):
    assert counts_through(np.array(values)) is expected
    assert looks_like_identifier("gene", np.array(values, dtype=np.uint64)) is expected


AGES = [61, 55, 70, 48, 39, 44, 52, 66]


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        ([61, 55, 70, 48, 999, 44, 999, 66], "'c' \\(999\\)"),
        ([61, 55, 70, 48, -99, 44, 52, 66], "'c' \\(-99\\)"),
        ([1.5, 2.5, 3.5, 2.25, -9, 1.75, 99, 2], "'c' \\(-9, 99\\)"),
    ],
)
def test_numbers_that_stand_for_missing_cells_are_named_once(cells: list, codes: str):
    data = {"g": ["A", "B"] * 4, "c": cells, "age": AGES}
    with pytest.warns(
        MissingCodeWarning, match=f"in 1 column: {codes}\\. If so, name them in `na=`"
    ) as caught:
        groups(data, "g", hidden="A", among="B")
    assert len(caught) == 1


@pytest.mark.parametrize(
    "cells", [[61, 99, 70, 48, 39, 44, 52, 66], [-9, 5, -3, 8, 0, -7, 4, 2], [1, 99, 1, 99] * 2]
)
def test_numbers_among_others_are_none(cells: list):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        groups({"g": ["A", "B"] * 4, "c": cells, "age": AGES}, "g", hidden="A", among="B")


def test_columns_that_are_mostly_missing_are_not_filled_in():
    data = {"g": ["A", "B"] * 4, "age": AGES, "lab": [1.5, None, 2.5, None, None, None, 2, None]}
    with pytest.raises(
        DataError, match=r"^too many cells are missing .*: 'lab' \(5 of 8 rows\)\. Leave such"
    ):
        groups(data, "g", hidden="A", among="B", missing="impute")
    found = ["A", None, "A", None, None, "B", None, None]
    with pytest.raises(
        DataError, match=r"'chart' \(5 of 8 rows; it holds names of the groups: if of rows that we"
    ):
        groups({**data, "chart": found}, "g", hidden="A", among="B", missing="impute", exclude="lab")
    half = {**data, "lab": [1.5, None, 2.5, None, None, None, 2, 3]}
    X, _ = groups(half, "g", hidden="A", among="B", missing="impute")
    assert X.record["n_filled_cells"] == {"lab": 4}


def test_a_mostly_missing_column_may_determine_the_group():
    n = 40
    data = {
        "g": ["A"] * n + ["B"] * (2 * n),
        "age": list(range(n)) * 3,
        "date": [1.0, 2.0] * (n // 2) + [None] * 2 * n,
    }
    with pytest.raises(
        DataError, match=r"'date' \(80 of 120 rows, determines the group of nearly every row\)"
    ):
        groups(data, "g", hidden="A", among="B", missing="impute")
