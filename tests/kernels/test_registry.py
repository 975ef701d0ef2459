"""Names of kernels: how they are spelt, listed, registered and refused."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds import kernels
from mmdbounds.errors import MmdBoundsError
from mmdbounds.kernels import BandwidthKernel, PairKernel, kernel_class, kernel_names, register
from mmdbounds.kernels.base import Kernel
from mmdbounds.kernels.registry import is_shipped

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(9, 2)), rng.normal(0.5, 1.0, size=(11, 2))


class Cauchy(BandwidthKernel):
    """A kernel of somebody's own."""

    name = "cauchy"
    spellings = ("rational_quadratic",)
    geometry = "distance2"

    def value(self, t):
        return 1 / (1 + t / self.bandwidth**2)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("RBF", "rbf"),
        ("gaussian", "rbf"),
        ("Squared-Exponential", "rbf"),
        ("radial basis function", "rbf"),
        ("l1", "laplacian"),
        ("Laplace", "laplacian"),
        ("Matern 5/2", "matern52"),
        ("matern-2.5", "matern52"),
        ("poly", "polynomial"),
        ("dot_product", "linear"),
    ],
)
def test_what_people_type_is_understood(typed, name):
    assert mb.mmd2(X, Y, kernel=typed) == mb.mmd2(X, Y, kernel=name)
    made = mb.mmd_bounds(X, Y, 0.1, kernel=typed, method="s-sd").provenance
    assert made.kernel == name


def test_other_spellings_work_wherever_a_name_does():
    found = [
        mb.confidence_interval(X, Y, 0.1, kernel=name, holdout=0.5, method="s-sd", rng=0).interval
        for name in ("gaussian", "rbf")
    ]
    assert found[0] == found[1]
    evaluated = mb.evaluate(X, Y, epsilon=0.1, methods=["s-sd"], kernel="l1", n_trials=2, rng=0)
    assert evaluated.provenance.kernel == "laplacian"


@pytest.mark.parametrize("typed", ["Precomputed", "PRE_COMPUTED"])
def test_a_matrix_is_a_matrix_however_it_is_spelt(typed):
    K = np.eye(20)
    assert mb.mmd2(K[:9], K[9:], kernel=typed) == mb.mmd2(K[:9], K[9:], kernel="precomputed")
    assert kernels.is_precomputed(typed)
    assert kernels.is_precomputed(kernels.Precomputed())
    assert not kernels.is_precomputed("rbf")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("rbd", "rbf"), ("gausian", "gaussian"), ("laplacan", "laplacian"), ("matren52", "matern52")],
)
def test_an_unknown_name_is_refused_with_all_names_and_the_nearest(typed, meant):
    names = ", ".join(map(repr, kernel_names()))
    message = re.escape(
        f"`kernel` must be one of {names}, a kernel object or a function k(A, B); "
        f"got {typed!r}. Did you mean {meant!r}?"
    )
    with pytest.raises(MmdBoundsError, match=f"^{message}$"):
        kernel_class(typed)


def test_no_two_kernels_share_a_spelling_and_each_is_listed_under_its_name():
    spellings = []
    for name, (_, made) in kernels.SHIPPED.items():
        cls = kernel_class(name)
        assert (cls.name, cls.__name__, getattr(kernels, made)) == (name, made, cls)
        spellings += [re.sub(r"\W|_", "", each) for each in (name, *cls.spellings)]
    # "matern_5/2" is "matern52" without what does not matter, and stands there to be shown.
    assert len(set(spellings)) == len(spellings) - 1


def test_a_registered_kernel_is_found_and_listed():
    assert register(Cauchy) is Cauchy
    assert kernel_class("CAUCHY") is kernel_class("rational quadratic") is Cauchy
    assert kernel_names()[-1] == "cauchy"
    assert "cauchy" in kernel_names("bandwidth")
    assert "cauchy" not in kernel_names("slope")
    assert not is_shipped(Cauchy(1.0))
    register(Cauchy)  # again, as a notebook does
    with pytest.raises(MmdBoundsError, match=r"must be one of .*'cauchy', a kernel object"):
        mb.mmd2(X, Y, kernel="unknown")


def named(name, **declared):
    return type("Named", (PairKernel,), {"name": name, "value": lambda self, t: t, **declared})


@dataclass(frozen=True)
class NeedsMore(PairKernel):
    power: float
    name = "needs more"
    geometry = "inner"

    def value(self, t):
        return t**self.power


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Cauchy(1.0), r"^`register` takes a class derived from PairKernel; got "),
        (kernels.FunctionKernel, r"^`register` takes a class derived from PairKernel; got "),
        (type("Bare", (PairKernel,), {}), r"^the kernel Bare has no formula\. Define `value`\.$"),
        (named(""), r'^the kernel Named has no name\. Set `name = "\.\.\."` in the class\.$'),
        (named("new"), r"^`geometry` of Named must be one of 'distance2', 'l1', 'inner'\.$"),
        (named("R-B-F", geometry="l1"), r"^a kernel called 'R-B-F' is there already: RBF\.$"),
        (named("new", geometry="l1", spellings=("gauss",)), r"called 'gauss' is there already: RBF\.$"),
        (NeedsMore, r"^NeedsMore must need no arguments apart from a bandwidth"),
    ],
)
def test_what_cannot_be_registered(cls, message):
    with pytest.raises(MmdBoundsError, match=message):
        register(cls)
    assert list(kernel_names()) == list(kernels.SHIPPED)


def test_lists_in_docstrings_and_help_are_made_from_the_registry():
    from mmdbounds.cli.options import kernel_names as names_of_the_flag

    with_formula, sloped = (
        ", ".join(f'``"{name}"``' for name in kernel_names(having)) for having in ("formula", "slope")
    )
    shown = [" ".join(of.__doc__.split()) for of in (mb.mmd2, mb.baselines.QuasiNewton)]
    for names, text in zip((with_formula, sloped), shown, strict=True):
        assert names in text
        assert "<kernels" not in text
    assert names_of_the_flag() == list(kernel_names("formula"))


def test_a_kernel_is_named_in_its_own_room_only():
    source = Path(mb.__file__).parent
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "matern52" in path.read_text(encoding="utf-8")
    }
    assert found == {"kernels/__init__.py", "kernels/matern.py"}


def test_a_subclass_with_another_formula_inherits_nothing_that_is_true_of_the_old_one():
    class Other(kernels.RBF):
        name = "other"

        def value(self, t):
            return 1 - 2 * super().value(t)

    class Renamed(kernels.RBF):
        name = "renamed"

    other, renamed = Other(1.0), Renamed(1.0)
    assert (other.forms, other.squared_scale, other.sensitivity) == (None, None, None)
    assert (other.is_positive_definite, other.is_nonnegative, other.upper_bound) == (None, False, np.inf)
    assert (other.has_slope, other.has_tensor) == (False, False)
    assert renamed.forms is kernels.RBF.forms
    assert renamed.has_slope
    assert renamed.is_positive_definite


def test_a_base_class_promises_nothing():
    assert Kernel.is_positive_definite is None
    assert Cauchy(1.0).upper_bound == np.inf
    assert not Cauchy(1.0).is_nonnegative


def test_options_are_the_fields_that_make_the_kernel_again():
    @dataclass(frozen=True)
    class Powered(BandwidthKernel):
        power: float = 2.0
        name = "powered"
        geometry = "l1"

        def value(self, t):
            return (1 + t / self.bandwidth) ** -self.power

    assert Powered(3.0, 1.5).options() == {"power": 1.5}
    assert mb.kernels.RBF(1.0).options() == {}
