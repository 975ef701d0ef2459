"""A test stays valid whichever rows were looked up, also if they were chosen after seeing everything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import mmdbounds as mb

pytestmark = pytest.mark.usefixtures("drawn")

N_PERMUTATIONS, LEVEL = 19, 0.05


class Misfiled:
    """Groups of which the truth is known: the rows of X that look most like Y were filed under Y."""

    def __init__(self, seed: int, shift: float = 0.0, n: int = 11, m: int = 2) -> None:
        rng = np.random.default_rng(seed)
        self.X, self.Y = rng.normal(size=(n, 2)), rng.normal(shift, 1.0, size=(n, 2))
        self.rng, self.m, self.seed = rng, m, seed
        # Without the rows that are furthest to the right, X and Y look different although they are not.
        self.hidden = np.argsort(-self.X[:, 0])[:m]
        self.filed_x = np.delete(self.X, self.hidden, axis=0)
        self.filed_y = np.concatenate([self.Y, self.X[self.hidden]])
        self.truth = np.array(["Y"] * n + ["X"] * m)

    def pvalue_of_the_truth(self) -> float:
        """The ordinary permutation test of the true groups, with the same random labellings."""
        none = mb.Contamination(n_moved=0)
        return mb.robust_test(self.X, self.Y, none, n_permutations=N_PERMUTATIONS, rng=self.seed).pvalue

    def pvalue(self, looked_up: np.ndarray, *, exactly: bool = False) -> float:
        verified = np.where(looked_up, self.truth, "")
        left = mb.Contamination(n_moved=int(np.count_nonzero((self.truth == "X") & ~looked_up)))
        return mb.robust_test(
            self.filed_x,
            self.filed_y,
            left,
            exactly=exactly,
            verified=(None, verified) if looked_up.any() else None,
            n_permutations=N_PERMUTATIONS,
            rng=self.seed,
        ).pvalue

    def everybody(self) -> np.ndarray:
        return np.ones(len(self.truth), dtype=bool)


@pytest.mark.filterwarnings("ignore::mmdbounds.errors.VerifiedWarning")
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_no_choice_of_rows_gives_less_than_the_truth(shift: float):
    for seed in range(6):
        case = Misfiled(seed, shift)
        true = case.pvalue_of_the_truth()
        assert case.pvalue(case.everybody()) == true
        for exactly in (True, False):
            some = case.rng.random(len(case.truth)) < case.rng.random()
            assert case.pvalue(some, exactly=exactly) >= true


def smallest(case: Misfiled) -> float:
    """The smallest p-value that somebody gets who sees everything, and chooses which rows to look up."""
    everybody = case.everybody()
    choices = [~everybody, case.truth == "Y", case.truth == "X", everybody, case.filed_y[:, 0] > 0.5]
    return min(case.pvalue(choice) for choice in choices)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mmdbounds.errors.VerifiedWarning")
def test_rows_chosen_after_seeing_the_data():
    n_trials = 2000
    rejected = sum(smallest(Misfiled(seed)) <= LEVEL for seed in range(n_trials))
    # More would happen in one of a thousand such studies, if the level is kept.
    assert rejected <= binom.isf(1e-3, n_trials, LEVEL)
