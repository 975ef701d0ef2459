from __future__ import annotations

import datetime
import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.errors import DataError, IdentifierWarning, MmdBoundsError
from mmdbounds.tables import groups
from mmdbounds.tables.files import load_file
from mmdbounds.tables.scaling import standardise

Write = Callable[[str, str | bytes], Path]

PATIENTS = """\
patient,dx,age,smoker,site
007,MI,1,true,5
x1, healthy,2,false,5
x2,other,900,true,6
x3,MI ,3,true,5
x4,,901,false,7
x5,healthy,6,false,5
"""


def split(data: object, **options: object):
    return groups(data, "dx", **{"hidden": "MI", "among": "healthy", **options})


def test_rows_names_and_record(write: Write):
    path = write("patients.csv", PATIENTS)
    X, Y = split(path, id="patient", scale="none")
    assert (X.name, Y.name) == ("MI", "healthy")
    assert X.values.tolist() == [[1.0, 1.0], [3.0, 1.0]]
    assert Y.values.tolist() == [[2.0, 0.0], [6.0, 0.0]]
    assert X.ids.tolist() == ["007", "x3"]
    assert Y.ids.tolist() == ["x1", "x5"]
    assert X.file_rows.tolist() == [1, 4]
    assert Y.file_rows.tolist() == [2, 6]
    assert X.columns == Y.columns == ("age", "smoker")
    assert (
        X.record
        == Y.record
        == {
            "source": "patients.csv",
            "sha256": hashlib.sha256(PATIENTS.encode()).hexdigest(),
            "read_as": "CSV (comma)",
            "group_column": "dx",
            "hidden": "MI",
            "among": "healthy",
            "id_column": "patient",
            "excluded_columns": [],
            "columns": ["age", "smoker"],
            "kinds": {"age": "whole numbers", "smoker": "true or false"},
            "dropped_constant_columns": ["site"],
            "dropped_empty_columns": [],
            "scale": "none",
            "scaled_by_deviation": [],
            "missing": "refuse",
            "na": [],
            "encoding": None,
            "decimal": None,
            "dates": "refuse",
            "sheet": None,
            "header_row": None,
            "fold_labels": False,
            "removed_signs": {},
            "n_missing_cells": {},
            "dropped_date_columns": [],
            "columns_like_group": [],
            "n_filled_cells": {},
            "n_dropped_rows": [0, 0],
            "n_rows": 6,
            "n_hidden": 2,
            "n_among": 2,
            "n_other_groups": 1,
            "other_groups": {"other": 1},
            "n_missing_group": 1,
            "scaling": {},
        }
    )
    assert json.loads(json.dumps(X.record)) == X.record


def test_standard_scaling_by_hand(write: Write):
    # age 1, 2, 3, 6: mean 3, squared deviations 4 + 1 + 0 + 9 = 14, population sd sqrt(14 / 4);
    # smoker 1, 0, 1, 0: mean 1/2, sd 1/2. The rows 900 and 901 of no group do not count.
    X, Y = split(write("patients.csv", PATIENTS), id="patient")
    sd = np.sqrt(3.5)
    np.testing.assert_allclose(X.values, [[-2 / sd, 1.0], [0.0, 1.0]], rtol=1e-15)
    np.testing.assert_allclose(Y.values, [[-1 / sd, -1.0], [3 / sd, -1.0]], rtol=1e-15)
    assert X.record["scale"] == "standard"
    assert X.values.flags.c_contiguous
    assert not X.values.flags.writeable


@pytest.mark.full
def test_parquet_and_frames_give_the_same_groups(write: Write, tmp_path: Path):
    import polars as pl

    csv = write("patients.csv", PATIENTS)
    frame = pl.read_csv(csv, schema_overrides={"patient": pl.String})
    frame.write_parquet(tmp_path / "patients.parquet")
    first = split(csv, id="patient")
    for other in (split(tmp_path / "patients.parquet", id="patient"), split(frame, id="patient")):
        for mine, its in zip(first, other, strict=True):
            np.testing.assert_array_equal(mine.values, its.values)
            assert mine.ids.tolist() == its.ids.tolist()
            assert mine.columns == its.columns
            what = ("source", "sha256", "read_as")
            assert {k: v for k, v in mine.record.items() if k not in what} == {
                k: v for k, v in its.record.items() if k not in what
            }
    assert split(tmp_path / "patients.parquet", id="patient")[1].file_rows.tolist() == [2, 6]
    assert split(frame, id="patient")[0].file_rows is None
    assert split(frame, id="patient")[0].record["source"] is None


@pytest.mark.parametrize(
    ("cells", "hidden", "among"),
    [
        (["1", "2"], 1, 2.0),
        (["1.0", "2.0"], "1", "2"),
        (["True", "False"], True, "false"),
        (["true", "false"], "True", False),
        ([" 1 ", '" 2"'], "1.0", 2),
    ],
)
def test_group_values_match_as_printed(write: Write, cells: list, hidden: object, among: object):
    path = write("t.csv", f"dx,a\n{cells[0]},5\n{cells[1]},6\n{cells[0]},7\n")
    X, Y = split(path, hidden=hidden, among=among, scale="none")
    assert (X.values.tolist(), Y.values.tolist()) == ([[5.0], [7.0]], [[6.0]])
    assert X.name == f"dx = {hidden}"


@pytest.mark.parametrize("cells", [[1, 2, 1], [1.0, 2.0, 1.0], ["1", " 2", "1.0"]])
def test_group_values_of_a_frame(cells: list):
    X, Y = split({"dx": cells, "a": [5, 6, 7]}, hidden="1", among=2, scale="none")
    assert (X.values.tolist(), Y.values.tolist()) == ([[5.0], [7.0]], [[6.0]])


def test_columns_and_exclude():
    frame = {"a": [1, 2], "b": [3, 4], "dx": ["MI", "healthy"], "c": [5, 7]}
    assert split(frame)[0].columns == ("a", "b", "c")
    assert split(frame, columns=["c", "a"])[0].columns == ("c", "a")
    assert split(frame, columns="b")[0].columns == ("b",)
    assert split(frame, exclude="b")[0].columns == ("a", "c")
    assert split(frame, exclude=("a", "dx"))[0].columns == ("b", "c")
    assert split(frame, id="a", exclude=["a"])[0].ids.tolist() == ["1"]


def table(**columns: list):
    """Make a table of three rows of each group."""
    return {"dx": ["MI", "healthy"] * 3, **columns}


UP = [1, 2, 3, 4, 5, 6]
OK = [3, 1, 4, 1, 5, 9]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            {"age": OK},
            {"columns": ["aeg"]},
            r"no column 'aeg', named in `columns=`\. Did you m",
        ),
        (
            {"age": OK},
            {"exclude": "Age"},
            r"no column 'Age', named in `exclude=`\. Did you mean 'a",
        ),
        (
            {"age": OK},
            {"id": "z"},
            r"no column 'z', named in `id=`\. The columns are 'dx', 'age'\.$",
        ),
        (
            {"age": OK},
            {"id": "dx"},
            r"`group` and `id` must be different columns; got 'dx' for both",
        ),
        (
            {"age": OK},
            {"columns": ["dx"]},
            r"`columns` names 'dx', which is the group column\.",
        ),
        ({"age": OK, "i": OK}, {"columns": ["i"], "id": "i"}, r"names 'i', which is the id column\."),
        ({"age": OK}, {"columns": ["age"], "exclude": ["age"]}, r"names 'age', which is also in `exclude=`"),
        ({"age": OK}, {"columns": ["age", "age"]}, r"names 'age', which is listed twice\."),
        (
            {"age": OK},
            {"columns": 3},
            r"`columns` must be a text or a list of texts; got int",
        ),
        (
            {"age": OK},
            {"exclude": {"age": 1}},
            r"`exclude` must be a text .*; got dict",
        ),
        ({"age": OK}, {"exclude": ["age"]}, r"^no feature columns are left\. Check `columns=`"),
        ({}, {}, r"^no feature columns are left"),
        (
            {"age": OK},
            {"scale": "Standard"},
            r"`scale` must be one of 'standard', 'robust', 'rank', 'none'; got 'Standard'\.",
        ),
        (
            {"age": OK},
            {"scale": None},
            r"must be one of 'standard', .*, 'none'; got None\. Did you mean 'none'\?$",
        ),
        (
            {"age": OK},
            {"hidden": "M I"},
            r"column 'dx' has no group 'M I'.* Did you mean 'MI'\? The groups are 'MI' \(3 rows\),",
        ),
        ({"age": OK}, {"among": "MI"}, r"must differ; got 'MI' for both"),
        (
            {"c": [1] * 6, "d": [2.5] * 6},
            {},
            r"^every feature column is constant over the rows .*: 'c', 'd'\.$",
        ),
        ({"c": [1] * 6}, {"scale": "none"}, r"every feature column is constant"),
        (
            {"name": list("secrtx"), "age": OK},
            {},
            (
                r"^1 column cannot be compared: 'name' \(text, different in every row\)\. If 'name' names "
                r"the rows, set `id=` to it\. Leave columns out with `exclude=`\.$"
            ),
        ),
        (
            {"name": list("secrtx"), "id": OK},
            {"id": "id"},
            r"'name' \(text, different in every row\)\. Leave columns out with `exclude=`\.$",
        ),
        (
            {"d": [datetime.date(2020, 1, 1)] * 6},
            {},
            r"'d' \(dates or times\).* or set `dates=` to 'days' to count days, or to 'drop'",
        ),
        (
            {"d": ["2020-01-01", "2020-01-02 10:00"] * 3},
            {},
            r"'d' \(text, dates\)\. .*set `dates=` to 'days'",
        ),
        ({"d": ["1.2.2020", "31/12/99"] * 3}, {}, r"'d' \(text, dates\)"),
        ({"d": ["1,5", "2.5"] * 3}, {}, r"'d' \(numbers with commas\)\. .*write decimals with a point"),
        ({"d": ["1,234", "2"] * 3}, {}, r"'d' \(numbers with commas\)\. .*set `decimal=` to 'point' if 1,2"),
        (
            {"d": ["1", "2", "3", "secret", "4", "5"]},
            {},
            r"'d' \(numbers and text, 1 word: '.+'\)\. Name words for missing cells with `na=`, or leave col",
        ),
        ({"l": [[1]] * 6}, {}, r"'l' \(type list\)"),
        (
            {f"t{i}": ["1.1.2020"] * 6 for i in range(7)},
            {},
            r"^7 columns cannot be compared: 't0' .*'t4' \(text, dates\) and 2 more\.",
        ),
        (
            {"age": [1, None, 3, 4, None, 6], "bmi": [1.0, 2.0, float("inf"), 4.0, 5.0, 6.0], "x": OK},
            {},
            (
                r"^`data` has missing or infinite values in 2 of 3 columns: 'age' \(2 rows\), 'bmi' \(1 "
                r"row\)\. Set `missing=` to 'drop' to leave such rows out or to 'impute' to "
                r"fill the cells, or leave columns out with `exclude=`\.$"
            ),
        ),
        ({"gone": [None] * 6, "x": OK}, {}, r"in 1 of 2 columns: 'gone' \(6 rows\)"),
        ({"a\nb": ["1.1.2020"] * 6}, {}, r"'a\\nb' \(text, dates\)"),
    ],
)
def test_what_is_refused(columns: dict, options: dict, message: str):
    with pytest.raises(MmdBoundsError, match=message) as caught:
        split(table(**columns), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            [[1, 2]],
            r"must be a DataFrame or the name of a CSV, Excel, Parquet, Arrow or JSON lines file; got list\.",
        ),
        (np.eye(2), r"got ndarray\. Pass arrays to `mmd_bounds\(X, Y, \.\.\.\)` directly"),
        ("nowhere.csv", r"there is no file 'nowhere\.csv'"),
    ],
)
def test_data_that_is_no_table(data: object, message: str):
    with pytest.raises(DataError, match=message):
        split(data)


@pytest.mark.full
def test_frames_that_are_no_tables():
    import polars as pl

    with pytest.raises(DataError, match=r"`data` has no rows\."):
        split(pl.DataFrame(table(a=OK)).clear())
    with pytest.raises(DataError, match=r"`data` is a lazy LazyFrame"):
        split(pl.LazyFrame(table(a=OK)))
    with pytest.raises(DataError, match=r"there is no column 'dx', named in `group=`\. Did you mean 'DX'"):
        split(pl.DataFrame({"DX": ["MI"], "a": [1]}))
    with pytest.raises(DataError, match=r"column 'dx' has only one group, 'MI' \(2 rows\)"):
        split(pl.DataFrame({"dx": ["MI", "MI"], "a": [1, 2]}))


def test_missing_values_count_over_the_two_groups_only(write: Write):
    csv = "dx,a,b\nMI,1,NA\nhealthy,2,1\nother,NA,NA\n,,\nMI,3,2\n"
    with pytest.raises(
        DataError, match=r"^'t\.csv' has missing or infinite values in 1 of 2 columns: 'b' \(1 row\)\."
    ):
        split(write("t.csv", csv))
    assert split(write("t.csv", csv), exclude="b")[0].record["n_missing_group"] == 1


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"count": UP, "x": OK}, "column 'count' looks"),
        ({"down": UP[::-1], "x": OK}, "column 'down' looks"),
        ({"patient_id": OK, "x": OK}, "column 'patient_id' looks"),
        ({"MRN": [float(v) for v in OK], "x": OK}, "column 'MRN' looks"),
        ({"count": UP, "mrn": OK}, "columns 'count', 'mrn' look"),
    ],
)
def test_identifiers_are_warned_about(columns: dict, named: str):
    with pytest.warns(IdentifierWarning, match=named) as caught:
        X, _ = split(table(**columns))
    assert len(caught) == 1
    assert "`id=`" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert X.columns == tuple(columns)


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"gene": OK, "ID1": OK, "age": [40, 41, 43, 44, 45, 45]}, {}),
        ({"count": UP, "x": OK}, {"columns": ["count", "x"]}),
        ({"count": UP, "x": OK}, {"exclude": ["count"]}),
        ({"count": UP, "x": OK}, {"id": "count"}),
        ({"subject": [0, 1, 1, 0, 1, 0], "x": OK}, {}),
        ({"patient_id": [7] * 6, "x": OK}, {}),  # constant, so not used
        ({"time": [float(v) for v in UP], "x": OK}, {}),
        ({"mrn": [v + 0.5 for v in OK], "x": OK}, {}),
    ],
)
def test_measurements_pass_in_silence(columns: dict, options: dict):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, _ = split(table(**columns), **options)
    assert "x" in X.columns or "gene" in X.columns


def test_identifier_is_judged_by_the_whole_file(write: Write):
    # Within the two groups the column does not count up: the rows in between are of other groups.
    rows = "".join(
        f"{dx},{i},{i % 3}\n" for i, dx in enumerate(["MI", "healthy", "o", "o", "MI", "o", "healthy"])
    )
    with pytest.warns(IdentifierWarning, match="'n'"):
        split(write("t.csv", "dx,n,x\n" + rows))


def test_a_column_called_none_is_a_number_like_others(write: Write):
    X, _ = split(write("t.csv", "dx,None\nMI,1\nhealthy,2\n"), scale="none")
    assert X.values.tolist() == [[1.0]]


def test_ids_as_text():
    frame = table(x=OK, who=[1.0, 2.0, None, 4.5, 5.0, 6.0])
    X, Y = split(frame, id="who")
    assert X.ids.tolist() == ["1", "", "5"]
    assert Y.ids.tolist() == ["2", "4.5", "6"]


def test_scaling_of_huge_and_tiny_numbers():
    column = np.array([[1.0], [2.0], [3.0], [6.0]])
    wanted = standardise(column)
    with np.errstate(all="raise"):
        for factor in (2.0**-1000, 2.0**1021):
            np.testing.assert_array_equal(standardise(column * factor), wanted)
        np.testing.assert_array_equal(standardise(np.array([[-1.7e308], [1.7e308]])), [[-1.0], [1.0]])
        np.testing.assert_allclose(standardise(column + 1e9), wanted, rtol=1e-6)


NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


@settings(deadline=None, derandomize=True)
@given(st.data())
def test_scaling_looks_at_neither_labels_nor_order(data: st.DataObject):
    n = data.draw(st.integers(3, 12))
    values = data.draw(st.lists(NUMBERS, min_size=n, max_size=n).filter(lambda v: len(set(v)) > 1))
    labels = [
        ["MI", "healthy", *data.draw(st.permutations(["MI", "healthy"] * n))[: n - 2]] for _ in range(2)
    ]
    order = data.draw(st.permutations(range(n)))

    def by_row(label: list, order: object) -> dict:
        columns = {"dx": label, "a": values, "row": list(range(n))}
        frame = {name: [cells[i] for i in order] for name, cells in columns.items()}
        return {
            name: value
            for group in split(frame, id="row")
            for name, value in zip(group.ids.tolist(), group.values[:, 0].tolist(), strict=True)
        }

    first = by_row(labels[0], range(n))
    assert len(first) == n
    assert by_row(labels[1], range(n)) == first
    assert by_row(labels[0], order) == first


def test_swapping_the_groups_swaps_the_rows(write: Write):
    path = write("patients.csv", PATIENTS)
    X, Y = split(path, id="patient")
    Y2, X2 = split(path, id="patient", hidden="healthy", among="MI")
    np.testing.assert_array_equal(X.values, X2.values)
    np.testing.assert_array_equal(Y.values, Y2.values)
    assert X.ids.tolist() == X2.ids.tolist()


@pytest.mark.full
def test_pandas_rows_are_named_by_the_index():
    import pandas as pd

    frame = pd.DataFrame({"dx": ["MI", "healthy", None, "MI"], "a": [1, 2, 3, 4], 5: [1, 0, 0, 0]})
    frame.index = ["p1", "p2", "p3", "p4"]
    X, Y = split(frame[frame["a"] != 1], scale="none", exclude=[5])
    assert (X.ids.tolist(), Y.ids.tolist()) == (["p4"], ["p2"])
    assert X.values.tolist() == [[4.0]]
    assert X.record["n_missing_group"] == 1
    X, Y = split(frame, id="5", scale="none")
    assert (X.ids.tolist(), Y.ids.tolist()) == (["1", "0"], ["0"])
    assert X.file_rows is None


@pytest.mark.full
@pytest.mark.parametrize(
    "dtype", ["category", "object", "str", "int64", "Int64", "float64", "int64[pyarrow]"]
)
def test_pandas_group_columns(dtype: str):
    import pandas as pd

    frame = pd.DataFrame({"dx": pd.Series([1, 2, 1]).astype(dtype), "a": [5, 6, 7]})
    X, Y = split(frame, hidden="1", among=2.0, scale="none")
    assert (X.values.tolist(), Y.values.tolist()) == ([[5.0], [7.0]], [[6.0]])


@pytest.mark.full
def test_pandas_booleans_and_categories():
    import pandas as pd

    frame = pd.DataFrame({"dx": pd.array([True, False, None, True], dtype="boolean"), "a": [5, 6, 7, 8]})
    X, Y = split(frame, hidden="true", among=False, scale="none")
    assert (X.values.tolist(), Y.values.tolist()) == ([[5.0], [8.0]], [[6.0]])
    frame = frame.assign(
        c=pd.Categorical(["u", "v", "u", "v"]), d=["2020-01-01"] * 4, e=["1,5", "2.5", None, "2"]
    )
    with pytest.raises(DataError, match=r"'d' \(text, dates\), 'e' \(numbers with commas\)\."):
        split(frame, hidden="true", among=False)
    X, _ = split(frame, hidden="true", among=False, exclude=["d", "e"])
    assert X.columns == ("a", "c=u", "c=v")


@pytest.mark.full
def test_pyarrow_tables_give_the_same_groups(write: Write):
    import pyarrow

    path = write("patients.csv", PATIENTS)
    columns = {name: cells.given() for name, cells in load_file(path, text=["patient"]).columns.items()}
    arrow = pyarrow.table(columns)
    for mine, its in zip(split(path, id="patient"), split(arrow, id="patient"), strict=True):
        np.testing.assert_array_equal(mine.values, its.values)
        assert mine.ids.tolist() == its.ids.tolist()
    dictionary = arrow.set_column(1, "dx", arrow.column("dx").dictionary_encode())
    assert split(dictionary, id="patient")[0].record["n_missing_group"] == 1


def test_mapping_of_columns():
    data = {
        "name": ["a", "b", "c", "d"],
        "dx": np.array(["MI", "healthy", "MI", "healthy"]),
        "x": [1, 2.5, 3, 4],
    }
    X, Y = split({**data, 7: (True, False, False, True)}, id="name", scale="none")
    assert X.values.tolist() == [[1.0, 1.0], [3.0, 0.0]]
    assert Y.values.tolist() == [[2.5, 0.0], [4.0, 1.0]]
    assert (X.ids.tolist(), Y.ids.tolist()) == (["a", "c"], ["b", "d"])
    assert X.columns == ("x", "7")
    assert X.file_rows is None
    assert X.record["source"] is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, r"^`data` has no rows\.$"),
        ({"dx": [], "x": []}, r"^`data` has no rows\.$"),
        (
            {"dx": ["MI", "healthy"], "x": [1.0]},
            r"^the columns of `data` must have the same number of rows; 'dx' has 2, 'x' has 1\.$",
        ),
        ({"x": 1.0}, r"^column 'x' of `data` must be a list or a 1-D array; got float\.$"),
        ({"x": "abc"}, r"^column 'x' of `data` must be a list or a 1-D array; got str\.$"),
        (
            {"x": np.ones((2, 2))},
            r"^column 'x' of `data` must be a list or a 1-D array; got shape \(2, 2\)\.$",
        ),
        (
            {"x": [1, "secret"]},
            r"^column 'x' of `data` mixes values of different types\. Give it one type\.$",
        ),
        ({1: [1], "1": [2]}, r"^`data` has more than one column called '1'\."),
    ],
)
def test_mapping_that_is_no_table(data: object, message: str):
    with pytest.raises(DataError, match=message):
        split(data)


def test_only_groups_takes_a_mapping():
    from mmdbounds.tables import as_group

    with pytest.raises(DataError, match=r"`X` must be"):
        as_group({"x": [1.0, 2.0]}, "X")


def test_labels_in_other_spellings_join_their_group_if_asked_to():
    table = {
        "dx": ["MI", " mi", "MI", "healthy", "Healthy", "healthy", "?"],
        "a": [1.0, 2.0, 4.0, 5.0, 7.0, 9.0, 0.0],
        "looked up": [None, "Mi", None, "HEALTHY", "mI", None, None],
    }
    with pytest.raises(DataError, match=r"'MI' .*'mi' .*; and 'healthy' .* differ only in case or blanks"):
        split(table, exclude="looked up")
    X, Y = split(table, scale="none", verified="looked up", fold_labels=True)
    assert X.values.ravel().tolist() == [1.0, 2.0, 4.0, 7.0]
    assert X.verified.tolist() == ["", "confirmed", "", "refiled"]
    assert Y.values.ravel().tolist() == [5.0, 9.0]
    assert (X.record["other_groups"], X.record["fold_labels"]) == ({"?": 1}, True)
