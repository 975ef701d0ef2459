"""Breast tumours (Wisconsin diagnostic data, shipped with scikit-learn), some of them misfiled.

569 tumours with 30 measurements each, 212 malignant and 357 benign (Wolberg, Street and
Mangasarian 1995; UCI Machine Learning Repository, CC BY 4.0). The true diagnosis of all of them is
known; rows are misfiled here, so that the truth can be shown beside the bounds.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.checks import check_share


@dataclass(frozen=True, eq=False)
class FiledTumours:
    """The table as filed, and the truth behind it.

    Attributes
    ----------
    patients
        Names of the rows, P001 to P569.
    values
        Measurements, shape (569, 30), in their own units.
    columns
        Their names.
    filed, truth
        ``"malignant"`` or ``"benign"`` for each row, as filed and in truth.
    """

    patients: tuple[str, ...]
    values: NDArray[np.float64]
    columns: tuple[str, ...]
    filed: NDArray[np.str_]
    truth: NDArray[np.str_]

    @property
    def overlooked(self) -> NDArray[np.intp]:
        """The rows that are misfiled."""
        return np.flatnonzero(self.filed != self.truth)

    def table(self, diagnosis: NDArray[np.str_]) -> dict[str, Any]:
        """Return the columns by name, as `mmdbounds.groups` takes them.

        Parameters
        ----------
        diagnosis
            What goes into the last column: `filed` or `truth`.
        """
        measured = dict(zip(self.columns, self.values.T, strict=True))
        return {"patient": list(self.patients), **measured, "diagnosis": diagnosis}

    def to_csv(self) -> str:
        """Return the table as filed as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        table = self.table(self.filed)
        writer.writerow(table)
        writer.writerows(zip(*(np.asarray(column).tolist() for column in table.values()), strict=True))
        return text.getvalue()


def overlooked_tumours(epsilon: float = 0.1) -> FiledTumours:
    """Return the tumours, a share `epsilon` of the malignant ones, the smallest, filed as benign."""
    from sklearn.datasets import load_breast_cancer

    check_share(epsilon, "epsilon")
    data = load_breast_cancer()
    values = np.asarray(data.data, dtype=np.float64)
    truth = np.where(data.target == 0, "malignant", "benign")
    malignant = np.flatnonzero(truth == "malignant")
    radius = values[malignant, list(data.feature_names).index("mean radius")]
    n_overlooked = math.floor(epsilon * len(malignant) + 1e-9)
    smallest = malignant[np.argsort(radius, kind="stable")[:n_overlooked]]
    filed = truth.copy()
    filed[smallest] = "benign"
    patients = tuple(f"P{i + 1:03d}" for i in range(len(values)))
    return FiledTumours(patients, values, tuple(str(n) for n in data.feature_names), filed, truth)
