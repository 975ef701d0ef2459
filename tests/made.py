"""Results made up by hand, for tests of what is done with them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mmdbounds.results import Bound, BoundsResult, Provenance


def make_provenance(**changes: Any) -> Provenance:
    """A record of how a result was made."""
    made: dict[str, Any] = {
        "method": "s-sd",
        "options": {"n_steps": None, "schedule": "even"},
        "kernel": "rbf",
        "bandwidth": 0.1,
        "estimator": "unbiased",
        "backend": "matrix",
        "device": "cpu",
        "dtype": "float64",
        "seed": None,
        "n_pairs": 12,
        "seconds": 0.1 + 0.2,
        "version": "1.2.3",
    }
    return Provenance(**{**made, **changes})


def make_result(**changes: Any) -> BoundsResult:
    """A one-way result: 2 of 6 rows of Y moved, names and effects on the lower side alone."""
    lower = Bound(
        side="lower",
        value=-1 / 3,
        rows=[4, 2],
        rows_of_x=[],
        ids=["é", ""],
        ids_of_x=[],
        file_rows=[9, 7],
        file_rows_of_x=[],
        effects=[0.5, np.nan, 0.25, 0.0, 1.0, 2.0],
        status="2 steps",
    )
    upper = Bound(side="upper", value=0.7, rows=np.array([0, 1]), rows_of_x=np.array([], dtype=np.intp))
    made: dict[str, Any] = {
        "lower": lower,
        "upper": upper,
        "observed": 0.5,
        "n_samples_X": 4,
        "n_samples_Y": 6,
        "n_moved": 2,
        "exactly": True,
        "epsilon": 1 / 3,
        "share_of_y": 1 / 3,
        "provenance": make_provenance(),
    }
    return BoundsResult(**{**made, **changes})


LOWER = Bound(side="lower", value=0.27602, rows=[6, 14], rows_of_x=[], status="2 steps")
UPPER = Bound(side="upper", value=0.39744, rows=[0, 1], rows_of_x=[], status="2 steps")
MADE = Provenance(
    method="s-sd",
    options={"n_steps": None, "schedule": "even", "weights": "sums"},
    kernel="rbf",
    bandwidth=6.3820812,
    estimator="unbiased",
    backend="matrix",
    device="cpu",
    dtype="float64",
    seed=None,
    n_pairs=323761,
    seconds=0.0841,
    version="1.0",
)
RESULT = BoundsResult(
    lower=LOWER,
    upper=UPPER,
    observed=0.3837,
    n_samples_X=8,
    n_samples_Y=1234,
    n_moved=2,
    exactly=True,
    epsilon=0.2,
    share_of_y=2 / 1234,
    name_x="MI",
    name_y="healthy",
    provenance=MADE,
)


def result(**changes: Any) -> BoundsResult:
    """`RESULT` with changes."""
    return dataclasses.replace(RESULT, **changes)


def bound(which: Bound, **changes: Any) -> Bound:
    """`LOWER` or `UPPER` with changes."""
    return dataclasses.replace(which, **changes)
