"""The tumours of the demo: real values, a made-up misfiling that is what it says."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from lab.datasets import overlooked_tumours
from mmdbounds.cli.getting_started import OVERLOOKED, TUMOURS
from mmdbounds.errors import MmdBoundsError
from mmdbounds.tables import groups


def test_tumours():
    tumours = overlooked_tumours(0.1)
    assert tumours.values.shape == (569, 30)
    assert len(set(tumours.patients)) == 569
    assert (tumours.patients[0], tumours.patients[-1]) == ("P001", "P569")
    assert np.count_nonzero(tumours.truth == "malignant") == 212
    assert len(tumours.columns) == 30


def test_the_smallest_malignant_ones_are_overlooked():
    tumours = overlooked_tumours(0.1)
    radius = tumours.values[:, tumours.columns.index("mean radius")]
    overlooked = tumours.overlooked
    assert len(overlooked) == 21  # a tenth of 212, rounded down
    assert set(tumours.truth[overlooked]) == {"malignant"}
    assert set(tumours.filed[overlooked]) == {"benign"}
    still = (tumours.truth == "malignant") & (tumours.filed == "malignant")
    assert radius[overlooked].max() <= radius[still].min()


@pytest.mark.parametrize(("epsilon", "count"), [(0.0, 0), (0.25, 53), (0.99, 209)])
def test_share(epsilon: float, count: int):
    assert len(overlooked_tumours(epsilon).overlooked) == count


def test_share_is_checked():
    with pytest.raises(MmdBoundsError, match=r"`epsilon` must be in \[0, 1\); got 10\. Did you mean 0\.1\?"):
        overlooked_tumours(10)


def test_csv_and_columns_are_the_same_table(tmp_path):
    tumours = overlooked_tumours(0.1)
    lines = list(csv.reader(io.StringIO(tumours.to_csv())))
    assert lines[0] == ["patient", *tumours.columns, "diagnosis"]
    assert len(lines) == 570
    assert lines[1][0] == "P001"
    assert [float(cell) for cell in lines[569][1:-1]] == tumours.values[568].tolist()
    assert [line[-1] for line in lines[1:]] == tumours.filed.tolist()
    path = tmp_path / "tumours.csv"
    path.write_text(tumours.to_csv())
    options = {"group": "diagnosis", "hidden": "malignant", "among": "benign", "id": "patient"}
    for from_file, from_columns in zip(
        groups(path, **options), groups(tumours.table(tumours.filed), **options), strict=True
    ):
        np.testing.assert_array_equal(from_file.values, from_columns.values)
        assert from_file.ids.tolist() == from_columns.ids.tolist()


def test_table_with_the_truth():
    tumours = overlooked_tumours(0.1)
    X, Y = groups(tumours.table(tumours.truth), "diagnosis", hidden="malignant", among="benign", id="patient")
    assert (len(X), len(Y)) == (212, 357)


def test_the_package_ships_this_table():
    tumours = overlooked_tumours(0.1)
    assert TUMOURS.read_text(encoding="utf-8") == tumours.to_csv()
    assert [tumours.patients[row] for row in tumours.overlooked] == list(OVERLOOKED)
