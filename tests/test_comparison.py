"""The options that every comparing function shares: flat keywords outside, one bundle inside."""

import inspect
import typing

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.problem import Comparison, ComparisonOptions

SHARED = set(typing.get_type_hints(ComparisonOptions))
FUNCTIONS = {
    "mmd2": ((), set()),
    "mmd_bounds": ((0.1,), set()),
    "robust_test": ((0.1,), set()),
    "sweep": ((), set()),
    "confidence_interval": ((0.1,), {"estimator"}),  # biased, or the theorem does not hold
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_name_every_option_one_by_one(name):
    known = inspect.signature(getattr(mb, name)).parameters
    assert SHARED & set(known) == SHARED - FUNCTIONS[name][1]
    assert not any(p.kind is p.VAR_KEYWORD for p in known.values())
    defaults = Comparison()
    for option in SHARED & set(known):
        assert known[option].default == getattr(defaults, option)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("kernl", r" Did you mean 'kernels?'\?"),
        ("sample_weight", ""),
        ("wrking_memory", " Did you mean 'working_memory'"),
    ],
)
def test_an_unknown_keyword_is_refused_as_python_would(name, option, hint):
    function, (arguments, _) = getattr(mb, name), FUNCTIONS[name]
    X, Y = np.zeros((3, 1)), np.ones((3, 1))
    with pytest.raises(
        TypeError, match=rf"^{name}\(\) got an unexpected keyword argument '{option}'\.{hint}"
    ):
        function(X, Y, *arguments, **{option: 1})


@pytest.mark.parametrize(
    ("name", "fixed"), [(n, f) for n, (_, left_out) in FUNCTIONS.items() for f in sorted(left_out)]
)
def test_an_option_that_a_function_fixes_is_not_taken(name, fixed):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument '{fixed}'"):
        getattr(mb, name)(np.zeros((3, 1)), np.ones((3, 1)), *FUNCTIONS[name][0], **{fixed: "rbf"})


def test_the_bundle_and_its_keywords_name_the_same_options():
    assert set(Comparison.__dataclass_fields__) == set(typing.get_type_hints(ComparisonOptions))


@pytest.mark.parametrize(
    ("name", "option", "hint"),
    [
        ("mmd2", "gamma", r"Did you mean 'bandwidth' = 1 / sqrt\(2 gamma\)\?"),
        ("mmd_bounds", "sigma", r"Did you mean 'bandwidth', the sigma in exp\(-d\^2 / \(2 sigma\^2\)\)\?"),
        ("mmd_bounds", "seed", r"Did you mean 'rng'\?"),
        ("robust_test", "random_state", r"Did you mean 'rng'\?"),
        ("robust_test", "alpha", r"Did you mean 'level'\?"),
        ("robust_test", "n_permutation", r"Did you mean 'n_permutations'\?"),
        ("mmd2", "seed", "$"),  # it draws nothing
    ],
)
def test_what_other_packages_call_an_option_is_understood(name, option, hint):
    X, Y = np.zeros((3, 1)), np.ones((3, 1))
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{option}'\. ?{hint}"):
        getattr(mb, name)(X, Y, *([0.1] if name != "mmd2" else []), **{option: 1})


def test_gamma_of_scikit_learn_is_the_bandwidth_that_the_hint_says():
    from sklearn.metrics.pairwise import rbf_kernel

    rng, gamma = np.random.default_rng(0), 0.7
    X, Y = rng.normal(size=(4, 2)), rng.normal(size=(5, 2))
    Z = np.concatenate([X, Y])
    K = rbf_kernel(Z, gamma=gamma)
    expected = mb.mmd2(K[:4], K[4:], kernel="precomputed")
    assert mb.mmd2(X, Y, bandwidth=1 / np.sqrt(2 * gamma)) == pytest.approx(expected, rel=1e-12)
