"""Rows that an audit names by their effect, where label errors are simulated: not what chance would find."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

import mmdbounds as mb


def tumours():
    data = load_breast_cancer()
    rows = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    return rows[data.target == 0], rows[data.target == 1]


def digits():
    data = load_digits()
    return data.data[data.target == 3] / 16, data.data[data.target == 8] / 16


@pytest.mark.parametrize("true_groups", [tumours, digits])
@pytest.mark.parametrize("mechanism", ["random", "nonrandom"])
def test_mislabelled_rows_are_among_the_first_from_the_start(true_groups, mechanism):
    """Six to ten times as frequent in the first tenth as in all; as by chance if all rows may move."""
    filed = mb.simulate(*true_groups(), 0.2, mechanism=mechanism, rng=0)
    tenth = round(len(filed.Y) / 10)
    result = mb.audit(filed.X, filed.Y, by="effect", n_next=tenth, n_permutations=39, rng=0)
    found = np.isin(result.next_rows, filed.rows_of_y).mean()
    assert found > 4 * filed.n_moved / len(filed.Y)
