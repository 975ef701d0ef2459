"""The scikit-learn front: its own checks, and the same numbers as the functions behind it."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.metadata_routing import get_routing_for_object

import mmdbounds as mb
from mmdbounds.errors import DataError

# Why each cannot apply.
PRECOMPUTED = {
    "check_fit2d_1feature": "its labels come from the kernel matrix, and a single row gets one of them"
}
NO_OTHER_ARRAYS = {"check_array_api_input"}  # skips itself, unless SciPy is told to take other arrays


def made() -> tuple[np.ndarray, np.ndarray]:
    """Rows of two labels in a mixed order; those of "MI" hide among those of "healthy"."""
    rng = np.random.default_rng(3)
    y = rng.permutation(np.repeat(["healthy", "MI"], [16, 9]))
    return rng.normal(size=(25, 3)) + (y == "MI")[:, None], y


X, LABELS = made()
OF_X, OF_Y = X[LABELS == "MI"], X[LABELS == "healthy"]


class _Second:
    """Hides the second label: scikit-learn's checks draw labels of their own, so none can be named before."""

    def _hidden_label(self) -> Any:
        return self.classes_[1] if len(self.classes_) == 2 else super()._hidden_label()


class Bounds(_Second, mb.MMDBounds):
    pass


class Test(_Second, mb.RobustTest):
    __test__ = False


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.AmountWarning")  # some of their groups are that small
@pytest.mark.parametrize(
    ("estimator", "not_applicable"),
    [
        (Bounds(0.1), {}),
        (Bounds(0.1, method="s-sd", kernel="precomputed"), PRECOMPUTED),
        (Test(0.1, n_permutations=19), {}),
    ],
    ids=str,
)
def test_checks_of_scikit_learn(estimator: Any, not_applicable: dict[str, str]):
    checks = check_estimator(estimator, expected_failed_checks=not_applicable, on_fail=None, on_skip=None)
    other = {c["check_name"]: (c["status"], str(c["exception"])) for c in checks if c["status"] != "passed"}
    assert len(checks) > 35
    expected = {name for name, (how, _) in other.items() if how == "xfail"}
    assert expected == set(not_applicable)
    assert {name: how for name, how in other.items() if name not in expected | NO_OTHER_ARRAYS} == {}


def test_bounds_are_those_of_the_function():
    found = mb.MMDBounds(0.2, hidden="MI", rng=0).fit(X, LABELS)
    expected = mb.mmd_bounds(OF_X, OF_Y, 0.2, rng=0)
    assert found.interval_ == expected.interval == (found.lower_, found.upper_)
    assert found.observed_ == expected.observed == mb.mmd2(OF_X, OF_Y)
    assert found.classes_.tolist() == ["MI", "healthy"]
    assert (found.result_.name_x, found.result_.name_y) == ("MI", "healthy")
    said = found.result_.summary()
    assert said.startswith(
        "Assumed: at most 20 % of the true MI rows are misfiled, that is at most 2 of the 16 rows filed"
    )
    exact = mb.MMDBounds(0.2, hidden="MI", exactly=True, rng=0).fit(X, LABELS)
    assert exact.result_.exactly
    assert exact.interval_ == mb.mmd_bounds(OF_X, OF_Y, 0.2, exactly=True, rng=0).interval


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("contamination", [0.3, mb.Contamination(n_moved=3, n_moved_of_x=2)], ids=str)
def test_rows_are_places_in_the_data(side: str, contamination: Any):
    found = mb.MMDBounds(contamination, hidden="MI", exactly=True, bandwidth=2.0, rng=0).fit(X, LABELS)
    rows = getattr(found, f"{side}_rows_")
    flipped = LABELS.copy()
    flipped[rows] = np.where(LABELS[rows] == "MI", "healthy", "MI")
    assert (flipped != LABELS).sum() == found.result_.n_moved + found.result_.n_moved_of_x
    reached = mb.mmd2(X[flipped == "MI"], X[flipped == "healthy"], bandwidth=2.0)
    np.testing.assert_allclose(reached, getattr(found.result_, side).value, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("labels", "hidden", "name"),
    [
        (LABELS == "MI", True, "label = True"),
        ((LABELS == "MI").astype(int), 1, "label = 1"),
        (np.where(LABELS == "MI", 2.5, 1.5), 2.5, "label = 2.5"),
        (LABELS.astype(object), "MI", "MI"),
        (list(LABELS), "MI", "MI"),
        ((LABELS != "MI").astype(int), 0, "label = 0"),
        (LABELS != "MI", False, "label = False"),
    ],
)
def test_the_named_label_hides(labels: Any, hidden: Any, name: str):
    found = mb.MMDBounds(0.2, hidden=hidden, method="s-sd").fit(X, labels)
    assert found.interval_ == mb.mmd_bounds(OF_X, OF_Y, 0.2, method="s-sd").interval
    assert found.result_.name_x == name


def test_test_is_that_of_the_function():
    options = {"n_permutations": 99, "beta": 0.01, "rng": 4}
    found = mb.RobustTest(0.2, hidden="MI", **options).fit(X, LABELS)
    expected = mb.robust_test(OF_X, OF_Y, 0.2, **options)
    assert (found.statistic_, found.pvalue_) == tuple(expected)


def test_units_go_with_their_rows():
    unit = np.array([f"{label}{i // 2}" for i, label in enumerate(LABELS)])
    asked = mb.RobustTest(0.2, hidden="MI", n_permutations=49, rng=4)
    found = asked.fit(X, LABELS, unit=unit.tolist()).result_
    units = unit[LABELS == "MI"], unit[LABELS == "healthy"]
    expected = mb.robust_test(OF_X, OF_Y, 0.2, n_permutations=49, unit=units, rng=4)
    assert found.pvalue == expected.pvalue
    assert found.n_samples_X == len(set(units[0])) < len(OF_X)
    with pytest.raises(ValueError, match=f"`unit` must have one entry for each of the {len(X)} rows of `X`"):
        asked.fit(X, LABELS, unit=unit[:-1])


def test_a_precomputed_kernel_is_in_the_order_of_the_labels():
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8)
    found = mb.MMDBounds(0.2, hidden="MI", kernel="precomputed", rng=0).fit(K, LABELS).result_
    expected = mb.mmd_bounds(OF_X, OF_Y, 0.2, bandwidth=2.0, rng=0)
    for side in ("lower", "upper"):
        reached = getattr(found, side).value
        np.testing.assert_allclose(reached, getattr(expected, side).value, rtol=0, atol=1e-12)
    with pytest.raises(DataError, match=r"must be the N x N matrix with .*; got shape \(25, 7\)\.$"):
        mb.MMDBounds(0.2, hidden="MI", kernel="precomputed").fit(K[:, :7], LABELS)


def test_last_step_of_a_pipeline():
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = mb.mmd_bounds(scaled[LABELS == "MI"], scaled[LABELS != "MI"], 0.2, method="s-sd")
    asked = mb.MMDBounds(0.2, hidden="MI", method="s-sd")
    found = make_pipeline(StandardScaler(), asked).fit(X, LABELS)[-1]
    np.testing.assert_allclose(found.interval_, expected.interval, rtol=0, atol=1e-12)
    assert make_pipeline(StandardScaler(), PCA(2), clone(asked)).fit(X, LABELS)[-1].n_features_in_ == 2
    units = np.arange(len(X))
    tested = make_pipeline(StandardScaler(), mb.RobustTest(0.2, hidden="MI", n_permutations=19, rng=0))
    assert tested.fit(X, LABELS, robusttest__unit=units)[-1].result_.units_note


def test_what_is_known_of_rows_is_routed():
    units = [f"{label} {i // 4}" for i, label in enumerate(LABELS)]
    front = mb.RobustTest(0.2, hidden="MI", n_permutations=19, rng=0)
    alone = clone(front).fit(X, LABELS, unit=units)
    with config_context(enable_metadata_routing=True):
        asked = make_pipeline(StandardScaler(), clone(front).set_fit_request(unit=True))
        routed = asked.fit(X, LABELS, unit=units)[-1]
        assert get_routing_for_object(asked).consumes("fit", ["unit", "verified"]) == {"unit"}
        with pytest.raises(UnsetMetadataPassedError, match=r"\[unit\] are passed but are not explicitly set"):
            make_pipeline(StandardScaler(), clone(front)).fit(X, LABELS, unit=units)
        known = np.where(np.arange(len(X)) % 4 == 0, LABELS, "")
        bounds = mb.MMDBounds(0.2, hidden="MI", method="s-sd").set_fit_request(verified=True)
        found = make_pipeline(PCA(2), bounds).fit(X, LABELS, verified=known)[-1]
    assert found.result_.knowledge.n_verified_y == np.count_nonzero(known == "healthy")
    assert routed.result_.units_note == alone.result_.units_note


@pytest.mark.full
@pytest.mark.parametrize("container", ["polars", "default"])
def test_columns_of_set_output_arrive(container: str):
    import polars as pl

    """`set_output` belongs to transformers: these have none to set, and take whatever comes from one."""
    front = mb.MMDBounds(0.2, hidden="MI", method="s-sd")
    assert not hasattr(front, "set_output")
    scaler = StandardScaler().set_output(transform=container)
    table = pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])])
    found = make_pipeline(scaler, front).fit(table, LABELS)[-1]
    names = list(getattr(found, "feature_names_in_", []))
    assert names == (table.columns if container == "polars" else [])
    plain = mb.MMDBounds(0.2, hidden="MI", method="s-sd").fit(StandardScaler().fit_transform(X), LABELS)
    np.testing.assert_allclose(found.interval_, plain.interval_, rtol=0, atol=1e-12)


def test_rows_that_were_looked_up():
    known = np.array([label if i % 4 == 0 else "" for i, label in enumerate(LABELS)])
    known[[np.flatnonzero(LABELS == "healthy")[3], np.flatnonzero(LABELS == "MI")[5]]] = "MI", "healthy"
    pair = known[LABELS == "MI"], known[LABELS == "healthy"]
    fitted = mb.MMDBounds(0.2, hidden="MI", method="exhaustive").fit(X, LABELS, verified=known)
    named = [mb.Group(rows, name=name) for rows, name in ((OF_X, "MI"), (OF_Y, "healthy"))]
    result = mb.mmd_bounds(*named, 0.2, method="exhaustive", verified=pair)
    assert fitted.interval_ == result.interval
    assert fitted.result_.knowledge == result.knowledge
    assert result.knowledge.n_refiled_to_x == result.knowledge.n_refiled_to_y == 1
    np.testing.assert_array_equal(fitted.lower_rows_, np.flatnonzero(LABELS == "healthy")[result.lower.rows])
    assert not known[fitted.lower_rows_].astype(bool).any()
    tested = mb.RobustTest(0.2, hidden="MI", n_permutations=19, rng=0).fit(X, LABELS, verified=known)
    assert tested.result_.knowledge == result.knowledge


@pytest.mark.full
def test_names_of_columns():
    import polars as pl

    frame = pl.DataFrame(X, schema=["age", "weight", "<b>"])
    found = mb.MMDBounds(0.2, hidden="MI", method="s-sd").fit(frame, pl.Series(LABELS))
    assert found.feature_names_in_.tolist() == ["age", "weight", "<b>"]
    assert found.interval_ == mb.mmd_bounds(OF_X, OF_Y, 0.2, method="s-sd").interval
    assert not hasattr(found.fit(X, LABELS), "feature_names_in_")


@pytest.mark.parametrize(
    ("function", "front", "left_out"),
    [
        (mb.mmd_bounds, mb.MMDBounds, {"X", "Y", "verified"}),
        (mb.robust_test, mb.RobustTest, {"X", "Y", "unit", "verified"}),
    ],
)
def test_every_keyword_of_the_function_is_a_parameter(function: Any, front: Any, left_out: set[str]):
    of_function = inspect.signature(function).parameters
    of_front = inspect.signature(front).parameters
    assert set(of_front) == set(of_function) - left_out | {"hidden"}
    for name in set(of_front) - {"epsilon", "hidden"}:
        assert of_front[name].default == of_function[name].default
        assert of_front[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert [name for name, _ in zip(of_front, range(2), strict=False)] == ["epsilon", "hidden"]


def test_parameters_are_kept_cloned_and_shown():
    asked = mb.MMDBounds(
        mb.Contamination(n_moved=2), method=mb.Sharp(n_starts=3), kernel=mb.kernels.Laplacian(2.0)
    )
    assert asked.get_params()["epsilon"] == mb.Contamination(n_moved=2)
    copied = clone(asked).set_params(hidden="MI", rng=1)
    assert asked.hidden is None
    assert (copied.hidden, copied.rng) == ("MI", 1)
    assert copied.method == asked.method
    assert copied.fit(X, LABELS).result_.provenance.options["n_starts"] == 3
    assert not hasattr(clone(copied), "result_")
    assert repr(mb.MMDBounds(0.25, hidden="MI")) == "MMDBounds(epsilon=0.25, hidden='MI')"
    assert repr(mb.RobustTest()) == "RobustTest()"
    with pytest.raises(ValueError, match="Invalid parameter 'epsilom'"):
        asked.set_params(epsilom=0.2)


@pytest.mark.parametrize("again", [lambda kept: pickle.loads(pickle.dumps(kept)), copy.deepcopy])
def test_a_fitted_one_can_be_kept(again: Any):
    found = mb.RobustTest(0.2, hidden="MI", n_permutations=19, rng=0).fit(X, LABELS)
    kept = again(found)
    assert kept.get_params() == found.get_params()
    assert (kept.pvalue_, kept.result_.to_json()) == (found.pvalue_, found.result_.to_json())
    assert not kept.result_.null.flags.writeable


def test_the_seed_is_told():
    found = mb.MMDBounds(0.2, hidden="MI").fit(X, LABELS)
    seed = found.result_.provenance.seed
    assert mb.MMDBounds(0.2, hidden="MI", rng=seed).fit(X, LABELS).interval_ == found.interval_
    assert found.rng is None


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a"] * 25, {}, r"^`y` must hold two labels; got 1: 'a'\. Keep the rows of two groups\.$"),
        (
            np.arange(25) % 3,
            {},
            r"^`y` must hold two labels; got 3: 0, 1, 2\. Keep the rows of two groups\.$",
        ),
        (np.arange(25), {}, r"^`y` must hold two labels; got 25: 0, 1, 2, 3, 4, \.\.\.\. Keep"),
        (
            np.array(["a", 1, None] * 8 + [1], dtype=object),
            {},
            r"^`y` .* of one kind.*; got NoneType, int, str\.$",
        ),
        (LABELS, {"hidden": "M1"}, r"^`hidden` must be one of the labels in `y`, 'MI', 'healthy'; got 'M1'"),
        (LABELS, {"hidden": "health"}, r"got 'health'\. Did you mean 'healthy'\?$"),
        (LABELS, {"hidden": 1}, r"^`hidden` must be one of the labels in `y`, 'MI', 'healthy'; got 1\.$"),
        (LABELS, {"epsilon": 20}, r"^`epsilon` must be in \[0, 1\); got 20\. Did you mean 0\.2\?$"),
        (LABELS, {"kernel": "rbd"}, r"^`kernel` must be one of .*Did you mean 'rbf'\?$"),
        (LABELS, {"epsilon": 0.9}, r"misfiled rows cannot be among the"),
    ],
)
def test_refusals(labels: Any, options: dict[str, Any], message: str):
    with pytest.raises(mb.MmdBoundsError, match=message):
        mb.MMDBounds(**{"epsilon": 0.1, "hidden": "MI", **options}).fit(X, labels)


@pytest.mark.parametrize("front", [mb.MMDBounds, mb.RobustTest])
def test_neither_the_share_nor_the_hidden_label_is_guessed(front: Any):
    with pytest.raises(mb.MmdBoundsError, match=r"^`epsilon` must be the share of rows .*; got None\.$"):
        front(hidden="MI").fit(X, LABELS)
    with pytest.raises(
        DataError, match=r"^`hidden` must name .*; got None\. The labels in `y` are 'MI', 'healthy'\.$"
    ):
        front(0.1).fit(X, LABELS)
    assert clone(front()).get_params()["epsilon"] is None
    assert clone(front()).set_params(epsilon=0.1, hidden="MI").fit(X, LABELS).result_.name_x == "MI"


def test_nothing_is_checked_before_fit():
    """As scikit-learn wants it: parameters may be set one after the other."""
    assert mb.MMDBounds(epsilon="much").epsilon == "much"
    with pytest.raises(mb.MmdBoundsError, match="`epsilon` must be a number"):
        mb.MMDBounds(epsilon="much", hidden="MI").fit(X, LABELS)
