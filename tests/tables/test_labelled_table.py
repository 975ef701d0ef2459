"""A table of several groups: the same rows, in the same units, as `groups` makes of two of them."""

from __future__ import annotations

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.errors import DataError, GroupColumnWarning
from mmdbounds.tables.grouped_table import labelled_table

TABLE = {
    "g": ["a", "b", None, "b", "a", "c", "c"],
    "x": [1.0, 2.0, 99.0, 4.0, 3.0, None, 7.0],
    "town": ["u", "v", "u", "u", "v", "v", "u"],
    "same": [1, 1, 1, 1, 1, 1, 1],
}


def test_rows_labels_and_record():
    Z, labels = labelled_table(TABLE, "g", missing="drop", scale="none")
    assert labels == ["a", "b", "b", "a", "c"]
    assert Z.values[:, 0].tolist() == [1.0, 2.0, 4.0, 3.0, 7.0]
    assert Z.record["n_of_groups"] == {"a": 2, "b": 2, "c": 1}
    assert (Z.record["n_dropped_rows"], Z.record["n_missing_group"]) == (1, 1)
    assert Z.record["dropped_constant_columns"] == ["same"]


def test_two_groups_are_scaled_as_by_groups():
    table = {
        name: [cell for cell, g in zip(cells, TABLE["g"], strict=True) if g in ("a", "b")]
        for name, cells in TABLE.items()
    }
    Z, labels = labelled_table(table, "g")
    X, Y = mb.groups(table, "g", hidden="a", among="b")
    is_x = np.array(labels) == "a"
    np.testing.assert_array_equal(Z.values[is_x], X.values)
    np.testing.assert_array_equal(Z.values[~is_x], Y.values)
    assert Z.columns == X.columns


def test_a_column_that_tells_one_group_is_pointed_out():
    n = 40
    table = {"g": ["a"] * n + ["b"] * n + ["c"] * n, "code": [0.0] * 2 * n + [1.0] * n}
    table["x"] = np.random.default_rng(0).normal(size=3 * n).tolist()
    with pytest.warns(GroupColumnWarning, match="code"):
        labelled_table(table, "g")


def test_refusals():
    with pytest.raises(DataError, match=r"column 'g' holds no group: all its values are missing\."):
        labelled_table({"g": [None, None], "x": [1.0, 2.0]}, "g")
    with pytest.raises(DataError, match=r"there is no column 'h', named in `group=`"):
        labelled_table(TABLE, "h")
