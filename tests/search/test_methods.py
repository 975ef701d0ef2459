"""The list of methods: their names, how they are recorded, and one that comes from outside the package."""

import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.counts import Counts, Movable
from mmdbounds.errors import MmdBoundsError
from mmdbounds.objective import Labelling, Quadratic
from mmdbounds.problem import Comparison, pose
from mmdbounds.search import METHODS, EachSide, Found, Method, as_method, method_names, register_method

NAMES = ("sharp", "s-sd", "sd", "exhaustive")


@dataclass(frozen=True)
class RandomLabelling(EachSide):
    """Moves random rows: the least that a method can do."""

    n_tries: int = 2
    name: ClassVar[str] = "random"

    def search(self, totals, counts, estimator, side):
        rng = np.random.default_rng([counts.n_moved, side == "upper"])
        f = Quadratic(totals, counts, estimator)
        tries = [Labelling(f, rng.permutation(totals.q)[: counts.n_moved]) for _ in range(self.n_tries)]
        best = (max if side == "upper" else min)(tries, key=lambda one: one.value())
        return Found.at(best, status=f"{self.n_tries} tries")


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(METHODS, "data", dict(METHODS.data))
    register_method(RandomLabelling())


def clouds(n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n // 3, 2)), rng.normal(0.5, 1.0, size=(n - n // 3, 2))


def test_the_names_are_those_that_the_methods_have():
    assert method_names() == tuple(METHODS) == NAMES
    assert [METHODS[name].name for name in NAMES] == list(NAMES)
    assert len(METHODS) == len(NAMES)
    assert all(as_method(name) is METHODS[name] for name in NAMES)


def test_the_front_door_explains_every_name():
    assert [name for name in NAMES if f'``"{name}"``' not in mb.mmd_bounds.__doc__] == []


def test_names_are_listed_without_importing_a_method():
    code = (
        "import sys; from mmdbounds.search import method_names; assert 'sharp' in method_names(); "
        "print([m for m in sys.modules if m.startswith(('mmdbounds.search.', 'mmdbounds.sums', 'scipy'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["s-sd", "sd"])
def test_what_was_asked_is_recorded(name):
    X, Y = clouds(60)
    made = mb.mmd_bounds(X, Y, 0.1, method=name, exactly=True).provenance
    assert made.method == name
    again = mb.mmd_bounds(X, Y, 0.1, method=type(METHODS[name])(**made.options), exactly=True).provenance
    assert (again.method, again.options) == (name, made.options)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (mb.StepwiseDominance(), "s-sd"),
        (mb.StepwiseDominance(n_steps=1), "sd"),
        (mb.StepwiseDominance(n_steps=2), "s-sd"),
        (mb.StepwiseDominance(n_steps=1, schedule="paper"), "s-sd"),  # `--method sd` has no schedule
    ],
)
def test_objects_have_the_name_of_what_they_do(method, name):
    assert method.name == name


@pytest.mark.parametrize("n", [200, 6000])
def test_a_method_from_outside_is_used_by_its_name(registered, n):
    X, Y = clouds(n)
    options = {"method": "random", "bandwidth": 1.0, "progress": False}
    result = mb.mmd_bounds(X, Y, 0.1, **options, exactly=True)
    m = result.n_moved
    assert (result.provenance.method, result.provenance.options) == ("random", {"n_tries": 2})
    assert result.upper.status == "2 tries"
    assert result.lower.n_moved == result.upper.n_moved == m > 0
    assert result.upper.certified is None
    for bound in (result.lower, result.upper):
        in_c = np.isin(np.arange(len(Y)), bound.rows)
        moved = np.concatenate([X, Y[in_c]]), Y[~in_c]
        np.testing.assert_allclose(mb.mmd2(*moved, bandwidth=1.0), bound.value, rtol=0, atol=1e-11)
    assert (
        mb.mmd_bounds(X, Y, 0.1, **{**options, "method": RandomLabelling()}, exactly=True).interval
        == result.interval
    )


@pytest.mark.parametrize("n", [200, 6000])
def test_a_method_from_outside_is_evaluated(registered, n):
    X, Y = clouds(n)
    how = {"epsilon": 0.1, "n_trials": 2, "rng": 0, "n_processes": 1, "progress": False, "bandwidth": 1.0}
    found = mb.evaluate(X, Y, methods=["random", "s-sd"], **how)
    narrow, wide = found["random"], found["s-sd"]
    assert narrow.method == "random"
    assert 0 < narrow.mean_interval_width < wide.mean_interval_width  # random rows are far from extreme


def test_intervals_take_it_too(registered):
    X, Y = clouds(60)
    found = mb.confidence_interval(X, Y, 0.1, method="random", rng=0)
    assert found.provenance.options["n_tries"] == 2


def test_what_is_not_given_has_defaults():
    class Plain(Method):
        name = "plain"

        def both_sides(self, task):
            return Found(0.0, None, kind="weights"), Found(1.0, None, kind="weights")

    method = Plain()
    assert (method.is_random, method.options()) == (False, {})
    assert method.check(Counts(1, 0, 2, 2), 1, 3) is None
    with pytest.raises(MmdBoundsError, match=r"does not know which rows may move .*Use method='sharp'"):
        method.check(Counts(1, 0, 2, 2, movable=Movable(0, 2)), 1, 3)
    result = mb.mmd_bounds(*clouds(30), 0.1, method=method)
    assert result.interval == (0.0, 1.0)
    assert result.provenance.seed is None


def test_counts_that_estimator_or_method_cannot_handle_are_refused():
    X, Y = clouds(30)
    options = {
        "kernel": "rbf",
        "bandwidth": 1.0,
        "backend": "auto",
        "dtype": "float64",
        "working_memory": 1024,
    }
    problem = pose(X, Y, Comparison(estimator="unbiased", **options))
    counts = mb.Contamination(n_moved=3, n_moved_of_x=2).counts(10, 20)
    assert problem.checked_counts([counts]) == [counts]
    assert problem.checked_counts([counts], METHODS["sharp"].check) == [counts]
    with pytest.raises(mb.MmdBoundsError, match=r"^`schedule='paper'` is for one-way misfiling\."):
        problem.checked_counts([counts], mb.StepwiseDominance(schedule="paper").check)
    with pytest.raises(
        mb.MmdBoundsError, match=r"the true `Y` would have 1 row; the unbiased estimator needs"
    ):
        problem.checked_counts([mb.Contamination(n_moved=19).counts(10, 20)])
    with pytest.raises(mb.MmdBoundsError, match=r"^`X` has 1 row; the unbiased estimator needs at"):
        pose(X[:1], Y, Comparison(estimator="unbiased", **options)).checked_counts([])


class Nameless:
    def both_sides(self, task):
        raise NotImplementedError


@dataclass(frozen=True)
class Named(RandomLabelling):
    name: str = ""


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            RandomLabelling,
            r"^`method` must be a name or a method object; got a class\. Did you mean R.*\(\)\?$",
        ),
        (Nameless(), r"^a method needs `name`, `is_random`, `check`, `options`\. Derive its class from mmd"),
        (
            Named(name="sharp"),
            r"^the `name` of a method must be a text that no other method has; got 'sharp'\.$",
        ),
        (Named(), r"^the `name` of a method must be a text that no other method has; got ''\.$"),
        (Named(name=3), r"^the `name` of a method must be a text that no other method has; got 3\.$"),
    ],
)
def test_what_cannot_be_registered(method, message):
    with pytest.raises(mb.MmdBoundsError, match=message):
        register_method(method)
    assert method_names() == NAMES


def test_a_name_that_nobody_has():
    with pytest.raises(
        mb.MmdBoundsError, match=r"'exhaustive' or a method object; got 'sharpe'\. Did you mean 'sh"
    ):
        as_method("sharpe")
    with pytest.raises(AttributeError, match=r"^module 'mmdbounds.search' has no attribute 'Sharpe'$"):
        mb.search.Sharpe  # noqa: B018


@pytest.mark.parametrize("spelt", ["S-SD", "s-sd", "S_SD", "ssd"])
def test_methods_are_found_as_the_paper_writes_them(spelt: str):
    X, Y = [[0.0], [1.0], [3.0]], [[2.0], [4.0], [5.0], [7.0]]
    found = mb.mmd_bounds(X, Y, 0.3, method=spelt, rng=0)
    assert found.provenance.method == "s-sd"
    assert found.interval == mb.mmd_bounds(X, Y, 0.3, method="s-sd", rng=0).interval
