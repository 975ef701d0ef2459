"""A sweep and a test give one answer at the level; drawing that stops early gives a valid one."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.contamination import Contamination
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference import count_range, worst_case
from problems import sample_function


def filed(seed):
    """Two groups that differ by little or much, in numbers or whole numbers."""
    rng = np.random.default_rng([seed, 77])
    p, q, d = rng.integers(8, 25), rng.integers(8, 25), rng.integers(1, 4)
    X, Y = rng.normal(size=(p, d)), rng.normal(rng.choice([0.0, 0.7, 1.5]), 1.0, size=(q, d))
    return (X.round(), Y.round()) if rng.random() < 0.4 else (X, Y)


def check_one_answer(seed):
    """Compare a sweep with the tests next to its breakdown, and at another number."""
    X, Y = filed(seed)
    rng = np.random.default_rng([seed, 78])
    level, most = float(rng.choice([0.05, 0.1, 0.2])), len(Y) // 2
    how = {"level": level, "n_permutations": 99, "rng": seed, "kernel": rng.choice(["rbf", "laplacian"])}
    curve = mb.sweep(X, Y, epsilons=[most / (len(X) + most)], **how)
    holds = -1 if curve.holds_n_moved is None else curve.holds_n_moved
    assert curve.is_tight
    for n_moved in {max(holds, 0), min(holds + 1, most), int(rng.integers(0, most + 1))}:
        test = mb.robust_test(X, Y, Contamination(n_moved=n_moved), **how)
        assert test.is_significant is (n_moved <= holds), (seed, n_moved)
        assert (test.pvalue <= level) == (n_moved <= holds), (seed, n_moved)


@pytest.mark.parametrize("block", range(3))
def test_sweep_and_test_agree_at_the_level(block):
    for seed in range(10 * block, 10 * block + 10):
        check_one_answer(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_sweep_and_test_agree_at_the_level_on_many(block):
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check_one_answer(seed)


def poor_floors(monkeypatch):
    """Make the proofs of a test poor until more is spent on a count."""
    searched = worst_case.WorstCase._search

    def poor(self, counts, side, n_starts, slack, patience):
        found = searched(self, counts, side, n_starts, slack, patience)
        return found if patience > 1.0 else replace(found, certified=found.certified - 0.01)

    monkeypatch.setattr(worst_case.WorstCase, "_search", poor)
    monkeypatch.setattr(count_range, "FEW", 1000)  # no floors for many counts at once


def test_a_pvalue_is_made_tighter_until_the_level_is_decided_about(monkeypatch):
    """At any level between what is proved cheaply and what a labelling has."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(12, 2)), rng.normal(0.9, 1.0, size=(14, 2))
    ask = partial(mb.robust_test, X, Y, Contamination(n_moved=2), n_permutations=199, rng=0)
    tight = ask(level=0.9)
    poor_floors(monkeypatch)
    loose = ask(level=0.9)
    assert loose.pvalue > tight.pvalue
    assert loose.is_significant  # at that level nothing more is needed
    for level in (tight.pvalue, (loose.pvalue + tight.pvalue) / 2):
        decided = ask(level=level)
        assert decided.is_significant
        assert decided.pvalue == tight.pvalue
    monkeypatch.setattr(worst_case, "PATIENT", 1.0)
    undecided = ask(level=tight.pvalue)
    assert undecided.is_significant is None
    assert undecided.pvalue == loose.pvalue
    words = " ".join(undecided.summary().split())
    assert "level this is undecided: the proof is not tight enough." in words


def test_a_decision_needs_a_proof(monkeypatch):
    from mmdbounds.search import sharp

    monkeypatch.setattr(sharp, "DENSE_ROWS", 5)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(3.0, 1.0, size=(30, 2))
    test = mb.robust_test(X, Y, 0.05, kernel=sample_function, n_permutations=99, rng=0)
    assert (test.is_valid, test.pvalue, test.is_significant) == (False, 0.01, None)


def test_the_error_of_the_amount_is_part_of_the_decision():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(3.0, 1.0, size=(30, 2))
    how = {"n_permutations": 99, "rng": 0}
    assert mb.robust_test(X, Y, 0.05, beta=0.04, **how).is_significant
    assert mb.robust_test(X, Y, 0.05, beta=0.041, **how).is_significant is False
    assert mb.robust_test(X, Y, 0.05, beta=0.041, level=0.06, **how).is_significant


def test_a_level_of_nothing_is_refused():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(30, 2))
    with pytest.raises(MmdBoundsError, match="`level` must be larger than 0"):
        mb.robust_test(X, Y, 0.1, level=0)
