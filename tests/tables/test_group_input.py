"""What is taken as X and Y; columns are matched by name, other columns or scales are refused, everywhere."""

from __future__ import annotations

import inspect
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError
from mmdbounds.tables import Group, as_group, as_groups, groups

RNG = np.random.default_rng(5)
X = RNG.normal(size=(12, 2)) * (1, 9) + (50, 20)
Y = RNG.normal(size=(16, 2)) * (1, 9) + (50, 20)
NAMES = ["age", "bmi"]
FIXED = {"kernel": mb.kernels.RBF(3.0)}


def of_both(made: Any) -> float:
    return mb.mmd2(made.X, made.Y, **FIXED)


CALLS = {
    "mmd2": lambda x, y: mb.mmd2(x, y, **FIXED),
    "mmd_bounds": lambda x, y: mb.mmd_bounds(x, y, 0.1, method="s-sd", **FIXED).interval,
    "robust_test": lambda x, y: tuple(mb.robust_test(x, y, 0.1, n_permutations=19, rng=0, **FIXED)),
    "several kernels": lambda x, y: (
        mb.robust_test(x, y, 0.1, kernel=[mb.kernels.RBF(3.0)], n_permutations=19, rng=0).statistic
    ),
    "sweep": lambda x, y: mb.sweep(x, y, n_permutations=19, rng=0, **FIXED).observed,
    "confidence_interval": lambda x, y: [
        (part.lower, part.upper)
        for part in mb.confidence_interval(x, y, 0.1, fixed_kernel=True, rng=0, **FIXED).parts
    ],
    "odds": lambda x, y: mb.mmd_bounds(x, y, mb.Contamination(0.1, odds=2), **FIXED).interval,
    "odds_sweep": lambda x, y: mb.odds_sweep(x, y, [0.1], [2], n_permutations=19, rng=0, **FIXED).observed,
    "audit": lambda x, y: mb.audit(x, y, n_permutations=19, **FIXED).breakdown_n_moved,
    "column_table": lambda x, y: [row.difference_upper for row in mb.column_table(x, y, 0.1).rows],
    "evaluate": lambda x, y: (
        mb.evaluate(x, y, 0.1, methods=["s-sd"], n_trials=2, rng=0, n_processes=1, progress=False, **FIXED)
        .methods[0]
        .mean_interval_width
    ),
    "simulate": lambda x, y: of_both(mb.simulate(x, y, 0.2, rng=0, **FIXED)),
    "one_row_each": lambda x, y: of_both(mb.one_row_each(x, y, range(12), range(20, 36), rng=0)),
}


def frame(values: np.ndarray, names: list[str] = NAMES) -> Any:
    import polars as pl

    return pl.DataFrame({name: values[:, j] for j, name in enumerate(names)})


def test_every_public_function_of_two_groups_is_here():
    takes_two = {
        name
        for room in (mb, mb.plotting)
        for name in room.__all__
        if inspect.isfunction(getattr(room, name))
        and set(inspect.signature(getattr(room, name)).parameters) & {"Y", "Y_clean"}
    }
    assert takes_two == set(CALLS) - {"odds", "several kernels"}


@pytest.mark.full
@pytest.mark.parametrize("name", CALLS)
def test_columns_in_another_order_are_put_in_order(name: str):
    call = CALLS[name]
    expected = call(X, Y)
    swapped = frame(Y)[["bmi", "age"]]
    assert call(frame(X), swapped) == expected
    by_position = call(X, np.ascontiguousarray(Y[:, ::-1]))
    assert by_position != expected  # the order matters, so the test can fail
    with pytest.raises(
        DataError, match=r"must have the same columns; only `X\w*` has 'bmi' and only `Y\w*` has 'BMI'"
    ):
        call(frame(X), frame(Y, ["age", "BMI"]))


@pytest.mark.full
def test_frames_of_all_libraries():
    import narwhals.stable.v1 as nw

    made = [
        lambda f: f,
        lambda f: f.to_pandas(),
        lambda f: f.to_arrow(),
        nw.from_native,
        lambda f: Group(f.to_numpy(), columns=tuple(f.columns)),
    ]
    expected = mb.mmd2(X, Y)
    for of_x, of_y in itertools.product(made, made):
        assert mb.mmd2(of_x(frame(X)), of_y(frame(Y)[["bmi", "age"]])) == expected


@pytest.mark.full
def test_an_array_meets_a_frame_by_position():
    assert mb.mmd2(frame(X), Y) == mb.mmd2(X, frame(Y)) == mb.mmd2(X, Y)
    with pytest.raises(DataError, match=r"must have the same columns; got 2 and 1\. Each must be an array"):
        mb.mmd2(frame(X), Y[:, :1])


@pytest.mark.full
def test_names_that_differ_are_listed():
    many = RNG.normal(size=(5, 9))
    names = [f"c{j}" for j in range(9)]
    with pytest.raises(
        DataError, match=r"; only `X` has 'c8'\. Rename them or leave them out\. To match columns"
    ):
        as_groups(frame(many, names), frame(many[:, :8], names[:8]))
    with pytest.raises(
        DataError, match=r"only `X` has 'c0', 'c1', 'c2', 'c3', 'c4' and 4 more and only `Y` has 'd0'"
    ):
        as_groups(frame(many, names), frame(many, [f"d{j}" for j in range(9)]))


def test_a_name_that_comes_twice_is_refused():
    with pytest.raises(
        DataError, match=r"^columns must have different names; got more than one 'age'\. Rename"
    ):
        Group(X, columns=("age", "age"))
    table = {"g": ["a", "a", "b", "b"], "s": ["u", "v", "u", "v"], "s=u": [1.0, 2.0, 3.0, 5.0]}
    with pytest.raises(DataError, match=r"more than one 's=u'"):
        groups(table, "g", hidden="a", among="b")


TABLE = {
    "g": ["a"] * 12 + ["b"] * 16,
    "age": np.concatenate([X, Y])[:, 0],
    "bmi": np.concatenate([X, Y])[:, 1],
    "site": ["n", "s"] * 14,
    "old": [True, False, False, True] * 7,
}


@pytest.mark.parametrize("scale", ["standard", "robust", "rank"])
def test_groups_of_two_calls_are_compared_only_if_scaled_alike(scale: str):
    asked = {"group": "g", "hidden": "a", "among": "b", "scale": scale}
    x, y = groups(TABLE, **asked)
    again_y, again_x = groups(TABLE, **{**asked, "hidden": "b", "among": "a"})
    assert mb.mmd2(x, again_y) == mb.mmd2(again_x, y) == mb.mmd2(x, y)
    other = {**TABLE, "bmi": TABLE["bmi"] * np.linspace(1, 1.01, 28)}
    _, other_y = groups(other, **asked)
    with pytest.raises(
        DataError,
        match=r"^`X` and `Y` were scaled over different rows in 1 column: 'bmi'\. Call `groups` once, on",
    ):
        mb.mmd2(x, other_y)
    _, plain_y = groups(TABLE, **{**asked, "scale": "none"})
    with pytest.raises(
        DataError, match=r"^`X` was scaled by `groups` and `Y` was not, in 5 columns: 'age', 'bmi'"
    ):
        mb.mmd2(x, plain_y)
    with pytest.raises(
        DataError, match=r"^`Y` was scaled by `groups` and `X` was not, in 5 columns: 'age', 'bmi'"
    ):
        mb.mmd2(plain_y, x)
    assert mb.mmd2(x, y.values) == mb.mmd2(x, y)  # an array has no record to compare


def test_a_category_with_other_shares_has_another_scale():
    asked = {"group": "g", "hidden": "a", "among": "b", "columns": "site"}
    x, _ = groups(TABLE, **asked)
    _, y = groups({**TABLE, "site": ["n", "n", "n", "s"] * 7}, **asked)
    with pytest.raises(DataError, match=r"scaled over different rows in 2 columns: 'site=n', 'site=s'"):
        mb.mmd2(x, y)
    _, y = groups({**TABLE, "site": ["n", "s", "n", "west"] * 7}, **asked)
    with pytest.raises(DataError, match=r"only `Y` has 'site=west'"):
        mb.mmd2(x, y)


def test_groups_that_were_not_scaled_come_from_any_table():
    asked = {"group": "g", "hidden": "a", "among": "b", "scale": "none"}
    x, y = groups(TABLE, **asked)
    turned = dict(reversed(TABLE.items()))
    assert mb.mmd2(x, groups(turned, **asked)[1]) == mb.mmd2(x, y)


def test_the_record_says_what_was_subtracted_and_divided_by():
    x, y = groups(TABLE, "g", hidden="a", among="b")
    for j, name in enumerate(("age", "bmi")):
        centre, spread = x.record["scaling"][name]
        again = np.concatenate([x.values[:, j], y.values[:, j]]) * spread + centre
        np.testing.assert_allclose(again, TABLE[name], rtol=1e-14)


def test_array_is_taken_without_copy_and_read_only():
    X = np.arange(6.0).reshape(3, 2)
    group = as_group(X, "X")
    assert np.shares_memory(group.values, X)
    assert X.flags.writeable
    assert not group.values.flags.writeable
    assert group.name == "X"
    assert group.ids is None
    assert group.file_rows is None
    assert group.columns is None
    assert group.record == {}


def test_group_is_returned_as_it_is():
    group = as_group([[1.0], [2.0]], "Y")
    assert as_group(group, "X") is group


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", ">f8"])
def test_numbers_become_float64(dtype: str):
    group = as_group(np.array([[0, 1], [1, 1]], dtype=dtype), "X")
    assert group.values.dtype == np.dtype("float64")
    assert group.values.flags.c_contiguous
    assert group.values.tolist() == [[0.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_float64_has_not_are_refused(dtype):
    whole = np.array([[2**53 + 1, 1], [2**62, 2], [2**62 + 2**10, 3], [2**63 - 1, 4]], dtype=dtype)
    lost = [int(float(int(cell))) != int(cell) for cell in whole[:, 0]]
    assert lost == [True, False, False, True]
    words = rf"^`Y` has whole numbers beyond 2\^53, .* in 1 of 2 columns: column 0 \({sum(lost)} rows\)"
    with pytest.raises(DataError, match=words):
        as_group(whole, "Y")
    assert as_group(whole[1:3], "Y").values.tolist() == [[2.0**62, 2.0], [2.0**62 + 2**10, 3.0]]


def test_fortran_order_becomes_contiguous():
    X = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    group = as_group(X, "X")
    assert group.values.flags.c_contiguous
    np.testing.assert_array_equal(group.values, X)


class Tensor:
    """Acts like a torch tensor with a gradient on a GPU: NumPy gets it only after detach and cpu."""

    def __init__(self, values: np.ndarray, done: frozenset[str] = frozenset()):
        self.values, self.done = values, done

    def detach(self) -> Tensor:
        return Tensor(self.values, self.done | {"detach"})

    def cpu(self) -> Tensor:
        return Tensor(self.values, self.done | {"cpu"})

    def double(self) -> Tensor:
        return Tensor(self.values.astype(float), self.done)

    def is_floating_point(self) -> bool:
        return self.values.dtype.kind == "f"

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        if self.done != {"detach", "cpu"}:
            raise RuntimeError("detach and move to the CPU first")
        return self.values


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_tensors(dtype: str):
    assert as_group(Tensor(np.array([[1, 2]], dtype=dtype)), "X").values.tolist() == [[1.0, 2.0]]


class Sparse:
    def toarray(self) -> np.ndarray:
        return np.eye(2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.arange(3.0), r"`X` must be 2-D.*got shape \(3,\)\. .*`X\.reshape\(-1, 1\)`"),
        (np.zeros((2, 2, 2)), r"`X` must be 2-D.*got shape \(2, 2, 2\)\."),
        (7.0, r"`X` must be 2-D.*got shape \(\)\.$"),
        ([], r"`X` has no rows"),
        (np.empty((0, 3)), r"`X` has no rows; got shape \(0, 3\)\."),
        (np.empty((3, 0)), r"`X` has no columns; got shape \(3, 0\)\."),
        ([["a", "b"]], r"`X` must hold real numbers; got dtype <U1\..*DataFrame"),
        ([[1, None]], r"`X` must hold real numbers; got dtype object"),
        ([[1j]], r"`X` must hold real numbers; got dtype complex128\.$"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), r"must hold real numbers; got dtype datetime64\[D\]\.$"),
        ([[1.0], [2.0, 3.0]], r"got list that NumPy cannot turn into an array .*same length\?"),
        (
            "patients.csv",
            r"`X` must be an array or a DataFrame; got str\. For a file use `mmdbounds\.groups`",
        ),
        (None, r"got NoneType"),
        (Sparse(), r"`X` must be dense; got Sparse\. Call `\.toarray\(\)` first\."),
    ],
)
def test_what_is_refused(data: object, message: str):
    with pytest.raises(DataError, match=message) as caught:
        as_group(data, "X")
    assert "\n" not in str(caught.value)


def test_missing_values_are_counted_by_column():
    X = np.ones((4, 5))
    X[0, 1] = X[1, 1] = X[2, 1] = np.nan
    X[3, 4] = -np.inf
    with pytest.raises(DataError) as caught:
        as_group(X, "X")
    assert str(caught.value) == (
        "`X` has missing or infinite values in 2 of 5 columns: column 1 (3 rows), column 4 (1 row). "
        "Drop or fill them first."
    )


def test_five_columns_are_named_at_most():
    with pytest.raises(DataError, match=r"in 7 of 7 columns: .*column 4 \(1 row\) and 2 more\. Drop"):
        as_group(np.full((1, 7), np.nan), "Y")


def test_huge_values_are_finite_though_their_sum_is_not():
    assert as_group(np.full((3, 1), 1.7e308), "X").shape == (3, 1)


def test_masked_cells_are_missing():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    with pytest.raises(DataError, match=r"in 1 of 2 columns: column 1 \(1 row\)\."):
        as_group(X, "X")


def test_group_acts_like_an_array():
    group = as_group([[1.0, 2.0], [3.0, 4.0]], "X")
    assert len(group) == 2
    assert group.shape == (2, 2)
    assert np.shares_memory(np.asarray(group), group.values)
    assert np.asarray(group, dtype="float32").dtype == np.float32
    assert not np.shares_memory(np.array(group, copy=True), group.values)
    with pytest.raises(ValueError, match="copy"):
        np.array(group, dtype="float32", copy=False)


def test_repr_is_one_line_without_cells():
    group = Group(np.full((2, 1), 12345.0), name="MI\n", ids=np.array(["Smith", "Jones"]))
    assert repr(group) == "Group('MI\\n', 2 rows x 1 columns, with row names)"


def test_group_is_frozen_and_can_be_pickled():
    group = Group(np.eye(2), ids=np.array(["a", "b"]), record={"n": 2})
    with pytest.raises(AttributeError, match="name"):
        group.name = "other"
    again = pickle.loads(pickle.dumps(group))
    assert again.ids.tolist() == ["a", "b"]
    assert again.record == {"n": 2}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ids": ["a"]}, r"`ids` must have one entry for each of the 2 rows of `values`; got 1"),
        ({"file_rows": [1, 2, 3]}, r"`file_rows` must have one entry for each of the 2 rows"),
        ({"columns": ("a",)}, r"`columns` must have length 3"),
        ({"values": np.ones(3)}, r"`values` must be 2-D; got shape \(3,\)"),
    ],
)
def test_group_lengths_must_agree(wrong: dict, message: str):
    with pytest.raises(DataError, match=message):
        Group(**{"values": np.ones((2, 3)), **wrong})


@pytest.mark.full
def test_polars_frame():
    import polars as pl

    frame = pl.DataFrame({"a": [1, 2], "b": [True, False], "c": pl.Series([0.5, 1.5], dtype=pl.Float32)})
    group = as_group(frame, "X")
    assert group.values.tolist() == [[1.0, 1.0, 0.5], [2.0, 0.0, 1.5]]
    assert group.columns == ("a", "b", "c")
    assert group.ids is None


@pytest.mark.full
def test_polars_types_that_numpy_does_not_know():
    from decimal import Decimal

    import polars as pl

    frame = pl.DataFrame({"i": pl.Series([2**90], dtype=pl.Int128), "d": [Decimal("1.5")]})
    assert as_group(frame, "X").values.tolist() == [[2.0**90, 1.5]]
    with pytest.raises(DataError, match=r"would round, in 1 of 2 columns: 'i' \(1 row\)"):
        as_group(frame.with_columns(pl.col("i") + 1), "X")
    with pytest.raises(DataError, match=r"would round, in 1 of 1 column: 'd' \(1 row\)"):
        as_group(pl.DataFrame({"d": [Decimal(2**60) + Decimal("0.5")]}), "X")


@pytest.mark.full
def test_frames_that_are_refused():
    import datetime

    import polars as pl

    with pytest.raises(
        DataError, match=r"`X` has 1 column that is not numeric: 'who' \(String\)\. Drop or enc"
    ):
        as_group(pl.DataFrame({"a": [1], "who": ["x"]}), "X")
    with pytest.raises(
        DataError, match=r"`X` has 2 columns that are not numeric: 'd' \(Date\), 'l' \(List\)"
    ):
        as_group(pl.DataFrame({"d": [datetime.date(2020, 1, 1)], "l": [[1]]}), "X")
    with pytest.raises(DataError, match=r"`Y` has no rows; got shape \(0, 1\)"):
        as_group(pl.DataFrame({"a": []}, schema={"a": pl.Float64}), "Y")
    with pytest.raises(DataError, match=r"`Y` has no columns"):
        as_group(pl.DataFrame(), "Y")
    with pytest.raises(DataError, match=r"`X` is a lazy LazyFrame\. Call `\.collect\(\)`"):
        as_group(pl.LazyFrame({"a": [1]}), "X")
    with pytest.raises(DataError, match=r"`X` must be 2-D.*reshape"):
        as_group(pl.Series([1.0, 2.0]), "X")


@pytest.mark.full
def test_missing_cells_of_a_frame_name_the_columns():
    import polars as pl

    frame = pl.DataFrame(
        {"age": [1, None, None], "ok": [1.0, 2.0, 3.0], "bmi": [1.0, float("nan"), 3.0], "no": [None] * 3}
    )
    with pytest.raises(
        DataError, match=r"in 3 of 4 columns: 'age' \(2 rows\), 'bmi' \(1 row\), 'no' \(3 rows\)"
    ):
        as_group(frame, "X")


@pytest.mark.full
def test_column_names_keep_the_message_on_one_line():
    import polars as pl

    with pytest.raises(DataError, match=r"'a\\nb' \(1 row\), 'x{57}\.\.\.' \(1 row\)"):
        as_group(pl.DataFrame({"a\nb": [None], "x" * 500: [None]}), "X")


@pytest.mark.full
def test_pandas_index_names_the_rows_also_after_filtering():
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True]}, index=["r1", "r2", "r3"])
    assert as_group(frame, "X").ids.tolist() == ["r1", "r2", "r3"]
    group = as_group(frame.reset_index(drop=True).query("a != 2"), "X")
    assert group.ids.tolist() == ["0", "2"]
    assert group.values.tolist() == [[1.0, 1.0], [3.0, 1.0]]


@pytest.mark.full
def test_pandas_types():
    import pandas as pd

    frame = pd.DataFrame(
        {
            0: pd.array([1, 2], dtype="Int64"),
            1: pd.array([True, False], dtype="boolean"),
            2: pd.array([2**53 + 2, 1], dtype="int64[pyarrow]"),
        }
    )
    group = as_group(frame, "X")
    assert group.columns == ("0", "1", "2")
    assert group.values.tolist() == [[1.0, 1.0, 2.0**53 + 2], [2.0, 0.0, 1.0]]
    frame[2] += 1
    with pytest.raises(DataError, match=r"would round, in 1 of 3 columns: '2' \(1 row\)"):
        as_group(frame, "X")


@pytest.mark.full
def test_pandas_frames_that_are_refused():
    import pandas as pd

    with pytest.raises(DataError, match=r"`X` must be 2-D.*to_frame"):
        as_group(pd.Series([1.0, 2.0]), "X")
    with pytest.raises(DataError, match=r"`X` must be 2-D.*to_frame"):
        as_group(pd.Series(["a", "b"]), "X")
    with pytest.raises(DataError, match=r"more than one column called 'a'"):
        as_group(pd.DataFrame([[1, 2]], columns=["a", "a"]), "X")
    with pytest.raises(DataError, match=r"more than one column called '1'"):
        as_group(pd.DataFrame([[1, 2]], columns=[1, "1"]), "X")
    with pytest.raises(DataError, match=r"column names of several levels"):
        as_group(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "X")
    with pytest.raises(DataError, match=r"'c' \(complex128\)"):
        as_group(pd.DataFrame({"c": [1j]}), "X")
    with pytest.raises(DataError, match=r"'o' \(Object\)"):
        as_group(pd.DataFrame({"o": [1, "a"]}), "X")
    nullable = pd.DataFrame({"i": pd.array([1, None], dtype="Int64"), "b": pd.array([None, True])})
    with pytest.raises(DataError, match=r"'i' \(1 row\), 'b' \(1 row\)"):
        as_group(nullable, "X")


@pytest.mark.full
def test_pyarrow_table():
    import pyarrow as pa

    group = as_group(pa.table({"a": [2**53 + 2, 2], "b": [True, False]}), "X")
    assert group.values.tolist() == [[2.0**53 + 2, 1.0], [2.0, 0.0]]
    with pytest.raises(DataError, match=r"would round, in 1 of 1 column: 'a' \(1 row\)"):
        as_group(pa.table({"a": [2**53 + 1, 2]}), "X")
    assert group.ids is None
    with pytest.raises(DataError, match=r"'a' \(1 row\), 'b' \(1 row\)"):
        as_group(pa.table({"a": pa.array([1, None]), "b": pa.array([None, True])}), "X")
    with pytest.raises(DataError, match=r"`X` has more than one column called 'a'|of the same name"):
        as_group(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "X")


def test_importing_loads_numpy_alone():
    import subprocess
    import sys

    code = (
        "import sys, mmdbounds.tables as t; t.as_group([[1.0]], 'X');"
        "print({'polars', 'narwhals', 'pandas', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "set()", "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            np.zeros((5, 28, 28)),
            r"must be 2-D, .* got shape \(5, 28, 28\)\. To compare all .* `X\.reshape\(5, -1\)`",
        ),
        (np.zeros(5), r"got shape \(5,\)\. For one column use `X\.reshape\(-1, 1\)`"),
    ],
)
def test_hints_for_other_shapes(given: np.ndarray, message: str):
    with pytest.raises(DataError, match=message):
        as_group(given, "X")


@pytest.mark.full
def test_a_series_and_a_list_of_tensors():
    import pandas as pd
    import torch

    with pytest.raises(DataError, match=r"`X` must be 2-D, .* got a Series\. Use `\.to_frame\(\)`"):
        as_group(pd.Series([1.0, 2.0]), "X")
    tensors = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])]
    assert as_group(tensors, "X").values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(DataError, match="Are all rows of the same length"):
        as_group([*tensors, torch.zeros(3)], "X")
    with pytest.raises(DataError, match=r"got shape \(2, 3, 4\)\. To compare all"):
        as_group([torch.zeros(3, 4), torch.zeros(3, 4)], "X")
