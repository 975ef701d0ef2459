"""What becomes of each kind of column: by hand, against a naive definition, and the laws."""

from __future__ import annotations

import datetime
import itertools
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.tables import groups
from mmdbounds.tables.columns import MAX_CATEGORIES
from mmdbounds.tables.scaling import TABLE_SCALES, by_quartiles, by_rank, category_weight

DX = ["MI", "healthy"] * 3
OK = [3, 1, 4, 1, 5, 9]


def split(data: object, **options: object):
    return groups(data, "dx", **{"hidden": "MI", "among": "healthy", **options})


def table(**columns: list):
    return {"dx": ["MI", "healthy"] * (len(next(iter(columns.values()))) // 2), **columns}


def pooled(data: object, **options: object) -> np.ndarray:
    """The rows in the order of the table, MI and healthy in turn."""
    X, Y = split(data, **options)
    return np.stack([X.values, Y.values], axis=1).reshape(-1, X.shape[1])


def mean_square(values: np.ndarray) -> float:
    """Mean squared distance over all ordered pairs of rows."""
    return float(np.mean([np.sum((a - b) ** 2) for a, b in itertools.product(values, values)]))


def test_categories_by_hand():
    # f, f, m, x, f, m: shares 1/2, 1/3, 1/6; two rows differ with probability 1 - 1/4 - 1/9 - 1/36 = 11/18.
    Z = pooled(table(sex=["f", "f", "m", "x", "f", "m"]))
    weight = np.sqrt(18 / 11)
    np.testing.assert_allclose(Z[0], np.array([1 - 1 / 2, -1 / 3, -1 / 6]) * weight, rtol=1e-14)
    np.testing.assert_allclose(Z[3], np.array([-1 / 2, -1 / 3, 1 - 1 / 6]) * weight, rtol=1e-14)
    np.testing.assert_allclose(np.sum((Z[0] - Z[2]) ** 2), 2 * 18 / 11, rtol=1e-14)
    np.testing.assert_allclose(mean_square(Z), 2, rtol=1e-14)
    X, _ = split(table(sex=["f", "f", "m", "x", "f", "m"], age=OK))
    assert X.columns == ("sex=f", "sex=m", "sex=x", "age")
    assert X.record["columns"] == ["sex", "age"]
    assert X.record["kinds"] == {"sex": "3 categories", "age": "whole numbers"}


def test_unscaled_categories_are_0_and_1():
    assert pooled(table(sex=list("fmfmff")), scale="none").tolist() == [
        [float(c == "f"), float(c == "m")] for c in "fmfmff"
    ]


@pytest.mark.parametrize("scale", ["standard", "rank", "robust"])
def test_two_categories_weigh_as_much_as_0_and_1(scale: str):
    truth = [True, False, False, True, False, False]
    distances = [
        np.linalg.norm(Z[:, None] - Z[None], axis=2)
        for Z in (
            pooled(table(c=["yes" if t else "no" for t in truth]), scale=scale),
            pooled(table(c=truth), scale=scale),
            pooled(table(c=[float(t) for t in truth]), scale="standard"),
        )
    ]
    np.testing.assert_allclose(distances[0], distances[1], rtol=1e-14)
    np.testing.assert_allclose(distances[0], distances[2], rtol=1e-14)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sampled_from("abcde"), min_size=2, max_size=30).filter(lambda v: len(set(v)) > 1))
def test_every_column_counts_for_a_mean_square_of_two(cells: list):
    counts = np.array([cells.count(c) for c in sorted(set(cells))])
    indicators = np.array([[float(c == each) for each in sorted(set(cells))] for c in cells])
    np.testing.assert_allclose(mean_square(indicators * category_weight(counts)), 2, rtol=1e-12)
    numbers = np.array([[float(ord(c))] for c in cells])
    np.testing.assert_allclose(mean_square(by_rank(numbers[:, 0]).values[:, None]), 2, rtol=1e-12)


def test_robust_scaling_by_hand():
    # 0, 1, 2, 3, 100: quartiles 1 and 3, median 2; the outlier moves nothing but itself.
    factor = 2 * statistics.NormalDist().inv_cdf(0.75) / 2
    np.testing.assert_allclose(
        by_quartiles(np.array([0.0, 1.0, 2.0, 3.0, 100.0])).values,
        np.array([-2, -1, 0, 1, 98]) * factor,
        rtol=1e-14,
    )
    X, Y = split(table(a=OK, zero=[0, 0, 0, 0, 0, 7]), scale="robust")
    assert X.record["scaled_by_deviation"] == ["zero"]
    deviation = np.std([0, 0, 0, 0, 0, 7])
    np.testing.assert_allclose(Y.values[2, 1], (7 - 7 / 6) / deviation, rtol=1e-14)


def test_ranks_by_hand():
    # 3, 1, 4, 1, 5, 9 rank 3, 1.5, 4, 1.5, 5, 6.
    ranks = np.array([3, 1.5, 4, 1.5, 5, 6])
    np.testing.assert_allclose(
        pooled(table(a=OK), scale="rank")[:, 0], (ranks - 3.5) / np.std(ranks), rtol=1e-14
    )
    np.testing.assert_array_equal(
        pooled(table(a=OK), scale="rank"), pooled(table(a=[10.0**v for v in OK]), scale="rank")
    )


@pytest.mark.parametrize("scale", TABLE_SCALES)
def test_huge_numbers_on_every_scale(scale: str):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        Z = pooled(table(a=[-1.7e308, 1.7e308, 1e300, 0.0, 5e-324, 1.0]), scale=scale)
    assert np.isfinite(Z).all()


CELLS = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]))
NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_subnormal=False))


@settings(deadline=None, derandomize=True)
@given(st.data(), st.sampled_from(TABLE_SCALES), st.sampled_from(["drop", "impute"]))
def test_nothing_looks_at_labels_or_order(data: st.DataObject, scale: str, missing: str):
    n = data.draw(st.integers(4, 10))
    columns = {
        "text": data.draw(st.lists(CELLS, min_size=n, max_size=n)),
        "a": data.draw(st.lists(NUMBERS, min_size=n, max_size=n)),
        "b": list(range(n)),
        "row": [f"r{i}" for i in range(n)],
    }
    labels = [data.draw(st.permutations(DX * n))[:n] for _ in range(2)]
    order = data.draw(st.permutations(range(n)))

    def by_row(label: list, order: object) -> dict | None:
        frame = {name: [cells[i] for i in order] for name, cells in {"dx": label, **columns}.items()}
        try:
            both = split(frame, id="row", scale=scale, missing=missing, columns=["text", "a", "b"])
        except DataError:
            return None  # a group may be empty, or all of its rows incomplete
        return {
            name: row
            for group in both
            for name, row in zip(group.ids.tolist(), group.values.tolist(), strict=True)
        }

    results = [by_row(labels[0], range(n)), by_row(labels[1], range(n)), by_row(labels[0], order)]
    assert results[0] == results[2]
    if results[0] is not None and results[1] is not None:
        assert results[0] == results[1]


def test_categories_are_those_of_the_two_groups():
    frame = {"dx": [*DX, "other"], "c": [*"uvuvuv", "w"], "d": [*"uvuvuv", "1.1.2020"]}
    assert split(frame)[0].columns == ("c=u", "c=v", "d=u", "d=v")
    many = {"dx": [*DX, *["other"] * 90], "c": [*"uvuvuv", *map(str, range(90))]}
    assert split(many)[0].columns == ("c=u", "c=v")


def test_categories_match_as_printed():
    assert split(table(c=["Köln", " Köln", "Ko\u0308ln ", "Bonn", "Bonn", "bonn"]))[0].columns == (
        *("c=Bonn", "c=Köln", "c=bonn"),
    )


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            [f"v{i}" for i in range(51)] * 2,
            r"'c' \(text, 51 different values\)\. .*, or make categories of at most 50",
        ),
        (["2020-01-01", "2020-02-01"] * 3, r"'c' \(text, dates\)"),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 3, r"'c' \(dates or times\)"),
        (["10", "20", "30", "unknown"] * 3, r"'c' \(numbers and text, 1 word: '.+'\)\. .*`na=`"),
        (["1.5", "2,5"] * 3, r"'c' \(numbers with commas\)"),
    ],
)
def test_what_is_no_category(cells: list, message: str):
    with pytest.raises(DataError, match=message):
        split(table(c=cells, a=[v % 3 for v in range(len(cells))]))
    assert split(table(c=cells, a=[v % 3 for v in range(len(cells))]), exclude="c")[0].columns == ("a",)


def test_fifty_values_are_a_category():
    cells = [f"v{i}" for i in range(MAX_CATEGORIES)] * 2
    assert split(table(c=cells), columns="c")[0].shape[1] == MAX_CATEGORIES


@pytest.mark.full
def test_a_declared_category_may_hold_numbers():
    import polars as pl

    cells = ["1", "2", "10", "1", "2", "10"]
    frame = pl.DataFrame(table(c=cells)).with_columns(pl.col("c").cast(pl.Categorical))
    assert split(frame)[0].columns == ("c=1", "c=10", "c=2")
    many = pl.DataFrame(table(c=[str(i) for i in range(60)])).with_columns(pl.col("c").cast(pl.Categorical))
    with pytest.raises(DataError, match=r"'c' \(60 categories\)"):
        split(many)


@pytest.mark.full
def test_pandas_categories_of_numbers():
    import pandas as pd

    frame = pd.DataFrame({"dx": DX, "stage": pd.Categorical([1, 2, 3, 1, 2, None])})
    X, _ = split(frame, missing="drop")
    assert X.columns == ("stage=1", "stage=2", "stage=3")
    assert X.record["n_dropped_rows"] == [0, 1]


def test_constant_categories_are_left_out():
    X, _ = split(table(c=["u"] * 6, t=[True] * 6, a=OK))
    assert X.columns == ("a",)
    assert X.record["dropped_constant_columns"] == ["c", "t"]


GAPS = {
    "a": [1.0, 2.0, None, 4.0, 5.0, 100.0],
    "t": [True, None, True, False, True, False],
    "c": ["u", "v", "v", "NA", "u", " "],
}


def test_missing_cells_are_counted_by_column():
    with pytest.raises(
        DataError,
        match=r"infinite values in 3 of 3 columns: 'a' \(1 row\), 't' \(1 row\), 'c' \(2 rows\)\. Set `mis",
    ):
        split(table(**GAPS))


def test_dropping_keeps_numbers_and_names_of_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "dx,id,a,c\nMI,p1,1,u\nother,p2,,\nMI,p3,,v\nhealthy,p4,4,u\nhealthy,p5,5,v\nhealthy,p6,7,NA\n"
    )
    X, Y = split(path, id="id", missing="drop", scale="none")
    assert (X.file_rows.tolist(), Y.file_rows.tolist()) == ([1], [4, 5])
    assert (X.ids.tolist(), Y.ids.tolist()) == (["p1"], ["p4", "p5"])
    assert X.values.tolist() == [[1.0, 1.0, 0.0]]
    assert Y.values.tolist() == [[4.0, 1.0, 0.0], [5.0, 0.0, 1.0]]
    wanted = {"n_rows": 6, "n_hidden": 1, "n_among": 2, "n_dropped_rows": [1, 1], "n_other_groups": 1}
    assert {key: X.record[key] for key in wanted} == wanted
    with pytest.raises(
        DataError,
        match=r"^every row of 'MI' has a missing cell, so no row is left\. Set `missing=` to 'impute', or",
    ):
        split(table(a=[None, 1.0, None, 2.0, None, 3.0]), missing="drop")


def test_imputing_by_hand():
    # Median of 1, 2, 4, 5, 100 is 4; true three times, false twice; u and v twice each: the first wins.
    Z = pooled(table(**GAPS), missing="impute", scale="none")
    assert Z[:, 0].tolist() == [1.0, 2.0, 4.0, 4.0, 5.0, 100.0]
    assert Z[:, 1].tolist() == [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]
    assert Z[:, 2].tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    X, _ = split(table(**GAPS), missing="impute")
    assert X.record["n_filled_cells"] == {"a": 1, "t": 1, "c": 2}
    even = pooled(table(a=[1.7e308, 1.6e308, None, 5.0, 1.7e308, 2.0]), missing="impute", scale="none")
    assert even[2, 0] == 1.6e308


def test_empty_columns_are_left_out_where_gaps_are_allowed():
    for missing in ("drop", "impute"):
        X, _ = split(table(a=OK, gone=[None] * 6, blank=[" ", ""] * 3), missing=missing)
        assert X.columns == ("a",)
        assert X.record["dropped_empty_columns"] == ["gone", "blank"]
        assert X.record["n_dropped_rows"] == [0, 0]
    with pytest.raises(DataError, match=r"has no value in any feature column"):
        split(table(gone=[None] * 6), missing="drop")


def test_infinite_values_are_never_dropped_or_filled():
    for missing in ("drop", "impute"):
        with pytest.raises(
            DataError, match=r"^`data` has infinite values in 1 of 2 columns: 'b' \(1 row\)\. Leave such"
        ):
            split(
                table(a=[None, 1.0, 2.0, 3.0, 4.0, 5.0], b=[1.0, 2.0, float("-inf"), 4.0, 5.0, 6.0]),
                missing=missing,
            )


def test_words_and_numbers_for_missing_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("dx,a,b,c\nMI,-99,?,x\nhealthy,2,2.5,?\nMI,3,-99.0,x\nhealthy,4,4,y\nhealthy,5,6,x\n")
    X, Y = split(path, na=["-99", "?"], missing="impute", scale="none")
    assert X.record["kinds"] == {"a": "whole numbers", "b": "numbers", "c": "2 categories"}
    assert X.values[:, :2].tolist() == [[3.5, 4.0], [3.0, 4.0]]
    assert X.record["n_filled_cells"] == {"a": 1, "b": 2, "c": 1}
    assert X.record["na"] == ["-99", "?"]
    assert Y.values[0, 2:].tolist() == [1.0, 0.0]
    with pytest.raises(DataError, match=r"'b' \(numbers and text, 1 word: '.+'\)"):
        split(path, na="-99", missing="impute")
    # The group column and booleans mean what they say.
    X, _ = split(table(a=OK, t=[True, False] * 3), na=["MI", "1"], missing="impute")
    assert len(X) == 3
    assert "t" not in X.record["n_filled_cells"]


def test_none_is_a_category_and_no_number(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("dx,drinks,dose\nMI,none,1\nhealthy,some,none\nMI,none,2\nhealthy,much,3\n")
    X, _ = split(path, missing="impute")
    assert X.columns == ("drinks=much", "drinks=none", "drinks=some", "dose")
    assert X.record["n_filled_cells"] == {"dose": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"missing": "Drop"},
            r"`missing` must be one of 'refuse', 'drop', 'impute'; got 'Drop'\. Did you m",
        ),
        ({"missing": None}, r"must be one of 'refuse', 'drop', 'impute'; got None\.$"),
        ({"na": 3}, r"`na` must be"),
    ],
)
def test_options_that_are_wrong(options: dict, message: str):
    with pytest.raises(MmdBoundsError, match=message):
        split(table(a=OK), **options)


@pytest.mark.parametrize("scale", TABLE_SCALES)
def test_a_category_that_only_dropped_rows_had_is_no_column(scale: str):
    cells = ["n", "s", "s", "n", "west", "n", "n", "s"]
    ages = [1.0, 2.0, 5.0, 4.0, None, 7.0, 8.0, 6.0]
    X, Y = split(table(age=ages, site=cells), missing="drop", scale=scale)
    assert X.columns == ("age", "site=n", "site=s")
    assert X.record["kinds"]["site"] == "2 categories"
    left = [(age, cell) for age, cell in zip(ages, cells, strict=True) if age is not None]
    assert len(X) + len(Y) == len(left)
    both = np.concatenate([X.values, Y.values])
    assert (both.max(axis=0) > both.min(axis=0)).all()
    dx = ["MI", "healthy", "MI", "healthy", "healthy", "MI", "healthy"]
    without = {"dx": dx, "age": [a for a, _ in left], "site": [s for _, s in left]}
    for found, wanted in zip((X, Y), split(without, scale=scale), strict=True):
        np.testing.assert_array_equal(found.values, wanted.values)
