"""The scikit-learn front: all rows as `X`, their labels as `y`, results as attributes that end in ``_``."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mmdbounds.bounds import mmd_bounds
from mmdbounds.contamination import Contamination, as_contamination
from mmdbounds.errors import DataError, MmdBoundsError, did_you_mean, shown_value
from mmdbounds.inference.robust import robust_test
from mmdbounds.inference.units import Units
from mmdbounds.kernels import is_precomputed
from mmdbounds.problem import Bandwidth, DType, KernelLike
from mmdbounds.results import Estimator
from mmdbounds.search import Method
from mmdbounds.tables import Group, as_group
from mmdbounds.tables.by_row import ByRow, index_of
from mmdbounds.tables.cells import EXACT_UP_TO
from mmdbounds.tables.group_column import group_name

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils import ClassifierTags, Tags
    from sklearn.utils.validation import validate_data
except ImportError:
    MISSING = (
        "`MMDBounds` and `RobustTest` need scikit-learn. Install it with: pip install 'mmdbounds[sklearn]'."
    )
    raise MmdBoundsError(MISSING) from None

LABELS_NAMED = 5  # in a message


@dataclass(frozen=True, eq=False)
class Filed:
    """The rows as two groups, and where each of their rows stood in the data."""

    X: Group
    Y: Group
    places_of_x: NDArray[np.intp]
    places_of_y: NDArray[np.intp]
    index: tuple[str, ...] | None  # names of the rows in the data


class _TwoLabels(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both estimators share: two labels of `y` become two groups."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        # No classifier, but `y` is two labels as for one: this is how scikit-learn's own checks learn that.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _filed(self, X: Any, y: Any) -> Filed:
        """Return checked rows as two groups; sets `classes_` and what is known of the columns."""
        if self.epsilon is None:
            msg = "`epsilon` must be the share of rows that may be misfiled, for example 0.1; got None."
            raise MmdBoundsError(msg)
        as_contamination(self.epsilon, takes_odds=True)  # one amount: an estimator has one result
        index = index_of(X)
        if index is None:  # in a pipeline only the labels may still have names
            index = index_of(y)
        elif index_of(y) not in (None, index):
            y = np.array(ByRow.of(y, "`y` must be a list").for_rows(index, len(index), "y", "`X`"))
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        if np.abs(rows).max() >= EXACT_UP_TO:
            as_group(X, "X")  # refuses whole numbers that were rounded just now
        self.classes_ = _sorted_labels(labels)
        hidden = self._hidden_label()
        of_x, of_y = np.flatnonzero(labels == hidden), np.flatnonzero(labels != hidden)
        if is_matrix := is_precomputed(self.kernel):
            if rows.shape[0] != rows.shape[1]:
                msg = f"`X` must be the N x N matrix with kernel='precomputed'; got shape {rows.shape}."
                raise DataError(msg)
            rows = rows[:, np.concatenate([of_x, of_y])]
        names = getattr(self, "feature_names_in_", None)
        # The columns of a matrix of kernel values are rows, which have just changed places.
        columns = None if names is None or is_matrix else tuple(map(str, names))
        (among,) = self.classes_[self.classes_ != hidden]
        return Filed(
            Group(rows[of_x], name=group_name(hidden, "label"), columns=columns),
            Group(rows[of_y], name=group_name(among, "label"), columns=columns),
            of_x,
            of_y,
            index,
        )

    @staticmethod
    def _by_group(given: Any, argument: str, filed: Filed) -> tuple[Any, Any] | None:
        """Return what was given for each row as a pair, for the rows of the two groups."""
        if given is None:
            return None
        found = ByRow.of(given, f"`{argument}` must be a list or 1-D array with one entry for each row")
        n_rows = len(filed.places_of_x) + len(filed.places_of_y)
        entries = found.for_rows(filed.index, n_rows, argument, "`X`")
        return [entries[i] for i in filed.places_of_x], [entries[i] for i in filed.places_of_y]

    def _options(self) -> dict[str, Any]:
        """Return the keywords of the function that does the work."""
        return {name: value for name, value in self.get_params(deep=False).items() if name != "hidden"}

    def _hidden_label(self) -> Any:
        """Return the label of the group that hides; which one that is cannot be guessed."""
        known = self.classes_.tolist()
        shown = ", ".join(map(repr, known[:LABELS_NAMED])) + (", ..." if len(known) > LABELS_NAMED else "")
        if len(known) != 2:
            msg = f"`y` must hold two labels; got {len(known)}: {shown}. Keep the rows of two groups."
            raise DataError(msg)
        if self.hidden is None:
            msg = (
                f"`hidden` must name the label whose rows may be hidden among the others; got None. "
                f"The labels in `y` are {shown}."
            )
            raise DataError(msg)
        if not isinstance(self.hidden, Hashable) or self.hidden not in known:
            hint = did_you_mean(self.hidden, map(str, known)) if isinstance(self.hidden, str) else ""
            msg = f"`hidden` must be one of the labels in `y`, {shown}; got {shown_value(self.hidden)}.{hint}"
            raise DataError(msg)
        return self.classes_[known.index(self.hidden)]


def _sorted_labels(labels: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError:  # text and numbers have no order
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        msg = f"`y` must hold labels of one kind, text or numbers; got {kinds}."
        raise DataError(msg) from None


class MMDBounds(_TwoLabels):
    """Bounds on the squared MMD between two labels, for those who think in ``fit(X, y)``.

    `mmd_bounds` with other manners: `X` holds the rows of both groups and `y` their labels, options are set
    first, and what was found are attributes. It works as the last step of a `sklearn.pipeline.Pipeline`.

    Parameters
    ----------
    epsilon : float or Contamination
        Share of the true rows of the hidden label that carry the other one. It must be given: `fit` refuses
        `None`, which stands here only because scikit-learn wants a default.
    hidden : label
        The label whose rows may be hidden among those of the other. It must be given too: nothing in the data
        says which it is.
    method, kernel, bandwidth, estimator, exactly, backend, dtype, working_memory, rng, progress
        As in `mmd_bounds`. `rng` is what scikit-learn calls ``random_state``: a whole number or a NumPy
        Generator; without it a seed is drawn, and ``result_.provenance.seed`` tells it. With
        ``kernel="precomputed"``, `X` in `fit` is the N x N matrix in the order of `y`.

    Attributes
    ----------
    lower_, upper_, interval_
        Both ends of the interval, certified if both are proved, else both as found
        (``result_.is_certified`` tells).
    observed_
        Squared MMD of the groups as labelled.
    lower_rows_, upper_rows_
        Positions in `X`, from 0, of the rows whose labels change to reach ``result_.lower.value`` and
        ``result_.upper.value``. With two-way misfiling rows of both labels.
    result_
        The `BoundsResult`.
    classes_
        The two labels, sorted.
    n_features_in_, feature_names_in_
        Number of columns, and their names where `X` has names that are text.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import mmdbounds as mb
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
    >>> found = make_pipeline(StandardScaler(), mb.MMDBounds(0.1, hidden=0, method="s-sd")).fit(X, y)
    >>> found[-1].lower_ < found[-1].observed_ < found[-1].upper_
    True
    """

    def __init__(
        self,
        epsilon: float | Contamination | None = None,
        *,
        hidden: Any = None,
        method: str | Method = "sharp",
        kernel: KernelLike = "rbf",
        bandwidth: Bandwidth = "median",
        estimator: Estimator = "unbiased",
        exactly: bool | None = None,
        backend: str = "auto",
        dtype: DType = "float64",
        working_memory: float = 1024,
        rng: int | np.random.Generator | None = None,
        progress: bool | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.hidden = hidden
        self.method = method
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.estimator = estimator
        self.exactly = exactly
        self.backend = backend
        self.dtype = dtype
        self.working_memory = working_memory
        self.rng = rng
        self.progress = progress

    def fit(self, X: Any, y: Any, *, verified: Any = None) -> Self:
        """Bound the squared MMD between the rows of the two labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of both groups; never scaled here.
        y : array-like of shape (n_samples,)
            Their labels, two different ones.
        verified : array-like of shape (n_samples,), optional
            The true label of rows that were looked up, `None` or NaN for all others, or a mask of rows that
            are confirmed; as in `mmd_bounds`.

        Returns
        -------
        self
            The fitted estimator.
        """
        filed = self._filed(X, y)
        known = self._by_group(verified, "verified", filed)
        self.result_ = mmd_bounds(filed.X, filed.Y, verified=known, **self._options())
        self.interval_ = self.result_.interval
        self.lower_, self.upper_ = self.interval_
        self.observed_ = self.result_.observed
        self.lower_rows_, self.upper_rows_ = (
            np.sort(np.concatenate([filed.places_of_x[side.rows_of_x], filed.places_of_y[side.rows]]))
            for side in (self.result_.lower, self.result_.upper)
        )
        return self


class RobustTest(_TwoLabels):
    """A two-sample test between two labels that stays valid when some are wrong, as ``fit(X, y)``.

    `robust_test` with other manners, as `MMDBounds` is `mmd_bounds` with other manners. Whatever comes before
    it in a pipeline must not look at `y`, or the p-value is not valid: scaling and PCA do not, a choice of
    columns by their relation to `y` does.

    Parameters
    ----------
    epsilon, hidden, rng
        As in `MMDBounds`.
    n_permutations, exactly, level, beta, kernel, bandwidth, estimator, \
backend, dtype, working_memory, progress
        As in `robust_test`.

    Attributes
    ----------
    statistic_, pvalue_
        The proved lower bound of the squared MMD at the worst count, and the largest p-value over all
        labellings considered.
    result_
        The `RobustTestResult`.
    classes_, n_features_in_, feature_names_in_
        As in `MMDBounds`.

    Examples
    --------
    >>> import numpy as np, mmdbounds as mb
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], 60)
    >>> X = rng.normal(size=(120, 2)) + y[:, None]
    >>> mb.RobustTest(0.05, hidden=1, rng=0).fit(X, y).pvalue_
    0.001
    """

    def __init__(
        self,
        epsilon: float | Contamination | None = None,
        *,
        hidden: Any = None,
        n_permutations: int = 999,
        exactly: bool | None = None,
        level: float = 0.05,
        beta: float = 0.0,
        kernel: KernelLike = "rbf",
        bandwidth: Bandwidth = "median",
        estimator: Estimator = "unbiased",
        backend: str = "auto",
        dtype: DType = "float64",
        working_memory: float = 1024,
        rng: int | np.random.Generator | None = None,
        progress: bool | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.hidden = hidden
        self.n_permutations = n_permutations
        self.exactly = exactly
        self.level = level
        self.beta = beta
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.estimator = estimator
        self.backend = backend
        self.dtype = dtype
        self.working_memory = working_memory
        self.rng = rng
        self.progress = progress

    def fit(self, X: Any, y: Any, *, unit: Units | None = None, verified: Any = None) -> Self:
        """Test whether the rows of the two labels differ.

        Parameters
        ----------
        X, y, verified
            As in `MMDBounds.fit`.
        unit : array-like of shape (n_samples,), optional
            The unit (patient, household) of each row, where several rows share one; as in `robust_test`.

        Returns
        -------
        self
            The fitted estimator.
        """
        filed = self._filed(X, y)
        known, units = self._by_group(verified, "verified", filed), self._by_group(unit, "unit", filed)
        self.result_ = robust_test(filed.X, filed.Y, verified=known, unit=units, **self._options())
        self.statistic_, self.pvalue_ = self.result_.statistic, self.result_.pvalue
        return self
