"""A larger amount gives a wider interval: in a sweep to the bit, in two calls but for the gap."""

from itertools import pairwise

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.search.sharp import leading_rows, learned

SHARES = (0.05, 0.12, 0.2, 0.3, 0.4)


def groups(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(20, 2)), rng.normal(rng.uniform(0, 1.5), 1.2, size=(24, 2))


def check(results, equal=1e-12):
    for smaller, larger in pairwise(results):
        # Nothing that the smaller amount reaches is outside of what the larger one's proof leaves.
        assert larger.lower.certified <= smaller.lower.value + equal
        assert smaller.upper.value - equal <= larger.upper.certified
        assert larger.lower.certified <= smaller.lower.certified + smaller.lower.gap + equal
        assert smaller.upper.certified - smaller.upper.gap - equal <= larger.upper.certified


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("y_in_x", [0.0, 0.06])
@pytest.mark.parametrize("dense_rows", [2500, 0])
def test_bounds_of_larger_amounts_are_wider_but_for_the_gap(seed, y_in_x, dense_rows, monkeypatch):
    monkeypatch.setattr("mmdbounds.search.sharp.DENSE_ROWS", dense_rows)
    monkeypatch.setattr(learned, "STEPS", 40)
    monkeypatch.setattr(leading_rows, "LEADING", 12)
    method = mb.Sharp(n_starts=2)
    amounts = [mb.Contamination(share, y_in_x=y_in_x) for share in SHARES]
    check([mb.mmd_bounds(*groups(seed), amount, method=method, rng=seed) for amount in amounts])


@pytest.mark.parametrize("seed", range(3))
def test_in_a_sweep_what_is_proved_is_nested(seed):
    found = mb.sweep(*groups(seed), epsilons=list(SHARES), n_permutations=19, rng=seed)
    for smaller, larger in pairwise(found.points):
        assert larger.lower <= smaller.lower
        assert larger.lower_certified <= smaller.lower_certified
        assert larger.upper >= smaller.upper
        assert larger.upper_certified >= smaller.upper_certified
