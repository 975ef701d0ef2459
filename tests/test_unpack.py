"""SciPy's habits: tests unpack as statistic and p-value, and whatever is returned or taken can be kept."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import mmdbounds as mb
from mmdbounds import contamination, mechanisms
from mmdbounds.inference import units
from mmdbounds.results import Result
from mmdbounds.words import SUMMARIES

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(12, 2)), RNG.normal(1.5, 1, size=(14, 2))
FEW: dict[str, Any] = {"n_permutations": 39, "rng": 0}

Z, LABELS = np.concatenate([X, Y]), list("aabbccddeeffaabbccddeeffaa")

MADE: dict[str, Callable[[], Any]] = {
    "BoundsResult": lambda: mb.mmd_bounds(X, Y, mb.Contamination(n_moved=2, n_moved_of_x=1), rng=0),
    "RobustTestResult": lambda: mb.robust_test(X, Y, 0.1, **FEW),
    "SweepResult": lambda: mb.sweep(X, Y, epsilons=[0.0, 0.1], **FEW),
    "FrontierResult": lambda: mb.sweep(X, Y, epsilons=[0.0, 0.1], y_in_x=0.2, **FEW),
    "AuditPlan": lambda: mb.plan_audit(14, 4),
    "AuditResult": lambda: mb.audit(X, Y, n_permutations=39),
    "ColumnTable": lambda: mb.column_table(X, Y, 0.2),
    "Evaluation": lambda: mb.evaluate(X, Y, 0.2, n_trials=2, rng=0),
    "ConfidenceInterval": lambda: mb.confidence_interval(X, Y, 0.1, rng=0),
    "HsicResult": lambda: mb.hsic_bounds(Z, LABELS, n_moved=1, rng=0),
    "IndependenceResult": lambda: mb.independence_test(Z, LABELS, n_moved=1, transitions=[("a", "b")], **FEW),
    "PairwiseTable": lambda: mb.pairwise_bounds(Z, LABELS, 0.3, **FEW),
    "OddsSweepResult": lambda: mb.odds_sweep(X, Y, [0.2], [1, 2], **FEW),
    "Simulated": lambda: mb.simulate(X, Y, 0.2, rng=0),
    "OneRowEach": lambda: mb.one_row_each(X, Y, list("aabbccddeeff"), list("ghijklmnopqrst"), rng=0),
    "Group": lambda: mb.groups(
        {"id": list("abcd"), "g": list("uuvv"), "x": [1.0, 2, 4, 5]}, "g", hidden="u", among="v", id="id"
    )[0],
    "Contamination": lambda: mb.Contamination(0.2),
    "Counts": lambda: mb.Contamination(0.2).counts(40, 60),
    "Sharp": lambda: mb.Sharp(n_starts=3, gap=0.1),
    "StepwiseDominance": lambda: mb.StepwiseDominance(n_steps=4, schedule="paper"),
    "Exhaustive": mb.Exhaustive,
    "RBF": lambda: mb.kernels.RBF(2.0),
    "Laplacian": lambda: mb.kernels.Laplacian(2.0),
    "Matern52": lambda: mb.kernels.Matern52(2.0),
    "Polynomial": lambda: mb.kernels.Polynomial(2),
    "Linear": mb.kernels.Linear,
    "Energy": lambda: mb.kernels.Energy(0.5),
}
PARTS = {  # held by those above
    *("Bound", "Provenance", "CountTest", "SweepPoint", "FrontierPoint", "KernelPart", "CountedBounds"),
    *("MethodCoverage", "Trial", "TrialBounds", "Knowledge"),
    *("OddsPoint", "OddsBreakdown", "PlanPoint", "ColumnRow", "LabelBound", "PairRow"),
}
WAYS = {
    **{
        f"pickle {n}": lambda kept, n=n: pickle.loads(pickle.dumps(kept, n))
        for n in (2, pickle.HIGHEST_PROTOCOL)
    },
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@cache
def made(name: str) -> Any:
    return MADE[name]()


def check_same(one: Any, other: Any, where: str) -> None:
    """Compare two objects field by field: types, values to the last bit, and who may write to them."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
        assert one.flags.writeable == other.flags.writeable, f"{where} can be changed after the round trip"
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            check_same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, Mapping):
        assert list(one) == list(other), where
        for key in one:
            check_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            check_same(a, b, f"{where}[{i}]")
    else:
        assert one == other or (one != one and other != other), where  # noqa: PLR0124 -- not a number


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
def test_comes_back_as_it_was(name: str, way: str):
    original = made(name)
    back = WAYS[way](original)
    check_same(original, back, name)
    assert repr(back) == repr(original)
    if isinstance(original, Result):
        assert (back.summary(), back.to_json()) == (original.summary(), original.to_json())


def test_none_is_forgotten():
    modules = (mb, mb.results, mb.kernels, contamination, mechanisms, units)
    public = [getattr(module, name) for module in modules for name in vars(module) if name[0] != "_"]
    public += [getattr(module, name) for module in (mb, mb.results, mb.kernels) for name in module.__all__]
    classes = {each.__name__ for each in public if isinstance(each, type) and dataclasses.is_dataclass(each)}
    assert set(MADE) | PARTS <= classes
    named = {name for module in (mb, mb.results) for name in module.__all__} & classes
    assert named <= set(MADE) | PARTS
    assert all(type(made(name)).__name__ == name for name in MADE)
    assert {type(made(name)).__name__ for name in MADE if isinstance(made(name), Result)} == set(SUMMARIES)


@pytest.mark.parametrize("name", MADE)
def test_fields_cannot_be_changed(name: str):
    original = made(name)
    for field in dataclasses.fields(original):
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError), match=r"."):
            setattr(original, field.name, None)


def test_a_test_unpacks_like_scipys():
    result = made("RobustTestResult")
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    theirs = stats.ttest_ind(X[:, 0], Y[:, 0])
    assert len(list(result)) == len(list(theirs)) == 2
    assert tuple(result) == (result.statistic, result.pvalue)
    with pytest.raises(ValueError, match="not enough values to unpack"):
        _, _, _ = result


@pytest.mark.parametrize("name", ["BoundsResult", "SweepResult", "Evaluation"])
def test_others_do_not_pretend_to_be_a_pair(name: str):
    """A bound is no pair of numbers: the ends are `interval`, proved or not."""
    with pytest.raises((TypeError, mb.MmdBoundsError), match=r"not iterable|non-iterable|there is no method"):
        _, _ = made(name)


def test_options_travel_to_other_processes_and_give_the_same():
    asked = {"method": mb.Sharp(n_starts=3), "kernel": mb.kernels.Laplacian(2.0), "rng": 1}
    sent = pickle.loads(pickle.dumps(asked))
    assert mb.mmd_bounds(X, Y, 0.2, **sent).interval == mb.mmd_bounds(X, Y, 0.2, **asked).interval


@pytest.mark.parametrize("name", [name for name in MADE if name in SUMMARIES or name.endswith("Result")])
def test_results_are_compared_by_value(name: str):
    result = made(name)
    again = [
        pickle.loads(pickle.dumps(result)),
        copy.deepcopy(result),
        type(result).from_dict(result.to_dict()),
    ]
    again.append(type(result).from_dict(json.loads(result.to_json())))
    for each in again:
        assert each == result
        assert hash(each) == hash(result)
    assert result != "a result"


def test_results_that_say_something_else_differ():
    result = made("BoundsResult")
    moved = dataclasses.replace(result.lower, rows=result.lower.rows[::-1])
    assert dataclasses.replace(result, lower=moved) != result
    assert dataclasses.replace(result, observed=result.observed + 1) != result
    assert made("RobustTestResult") != result
