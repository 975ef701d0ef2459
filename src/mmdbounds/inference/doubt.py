"""Which rows look misfiled to a classifier: an order in which to check them, and no more than that."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmdbounds.checks import check_count, check_seed
from mmdbounds.errors import MmdBoundsError
from mmdbounds.sums.protocol import Float64s
from mmdbounds.tables import as_groups


def label_doubt(
    X: Any,
    Y: Any,
    *,
    classifier: Any = None,
    n_folds: int = 5,
    two_way: bool = False,
    rng: int | np.random.Generator | None = None,
) -> Float64s:
    """Return how much a cross-validated classifier doubts the label of each row of Y.

    The rows are split into folds. A classifier that was fitted to the other folds, with the labels as filed,
    says of each row how probable the other group is (one minus the classifier's *self-confidence*).

    Parameters
    ----------
    X, Y : array-like of shape (p, d) and (q, d)
        The groups as filed: arrays, DataFrames, or what `groups` returns. Never scaled here.
    classifier : scikit-learn classifier, optional
        It must have ``predict_proba``. Default: logistic regression of the standardised columns, with both
        groups weighted equally.
    n_folds : int, default=5
        Number of folds; each group needs at least as many rows.
    two_way : bool, default=False
        Whether the doubts about the rows of X follow those about the rows of Y, as `BoundsResult.row_table`
        takes them for two-way misfiling.
    rng : int or Generator, optional
        Seed of the folds.

    Returns
    -------
    ndarray of shape (q,) or (q + p,)
        Probability of the other group, for each row of Y (and of X).

    Notes
    -----
    The classifier learns from labels of which some are wrong, so the probabilities are not calibrated. They
    order the rows (``result.row_table(scores=...)``); they neither prove nor estimate how many are misfiled.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(5, 1, size=(50, 2))
    >>> Y[7] = 0.0
    >>> int(mb.label_doubt(X, Y, rng=0).argmax())
    7
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    groups = as_groups(X, Y, ("X", "Y"))
    p, q = len(groups[0]), len(groups[1])
    n_folds = check_count(n_folds, "n_folds", least=2)
    if n_folds > min(p, q):
        msg = f"`n_folds` must not exceed the rows of the smaller group, {min(p, q)}; got {n_folds}."
        raise MmdBoundsError(msg)
    chosen = _default() if classifier is None else classifier
    if not hasattr(chosen, "predict_proba"):
        msg = f"`classifier` must have `predict_proba`; got {type(chosen).__name__}."
        raise MmdBoundsError(msg)
    rows = np.concatenate([group.values for group in groups])
    is_x = np.arange(p + q) < p
    # scikit-learn takes seeds of 32 bits.
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=check_seed(rng) % 2**32)
    belongs_to_x = cross_val_predict(chosen, rows, is_x, cv=folds, method="predict_proba")[:, 1]
    of_y = np.asarray(belongs_to_x[p:], dtype=np.float64)
    return np.concatenate([of_y, 1 - belongs_to_x[:p]]) if two_way else of_y


def _default() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000))
