"""What a page says around its numbers: true for every kind of result, and no more than is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.words import explaining

rng = np.random.default_rng(1)
X, Y = rng.normal(1, 1, size=(20, 3)), rng.normal(size=(30, 3))


@pytest.fixture(scope="module")
def bounds() -> mb.results.BoundsResult:
    return mb.mmd_bounds(X, Y, 0.1, rng=0)


@pytest.fixture(scope="module")
def curve() -> mb.results.SweepResult:
    return mb.sweep(X, Y, epsilons=[0, 0.1], n_permutations=39, rng=0)


def test_the_share_is_said_as_it_was_typed(bounds: mb.results.BoundsResult):
    said = "Assumed: at most 10 % of the true X rows are misfiled, that is at most 2 of the 30 rows "
    assert explaining.assumed(bounds) == f"{said}filed under Y, or 9.09 %."
    exact = mb.mmd_bounds(X, Y, 0.2, exactly=True, rng=0)  # 5 of 25
    assert explaining.assumed(exact) == (
        "Assumed: exactly 20 % of the true X rows are misfiled, that is exactly 5 of the 30 rows filed "
        "under Y."
    )
    assert "at most 10 %" in explaining.assumed(mb.column_table(X, Y, 0.1))
    both = explaining.assumed(mb.column_table(X, Y, mb.Contamination(0.1, y_in_x=0.08)))
    assert both == (
        "Assumed: at most 10 % of the true X rows and at most 8 % of the true Y rows are misfiled, that is "
        "at most 2 of the 30 rows filed under Y and at most 2 of the 20 filed under X."
    )
    assert ", or the other way round." in explaining.compared(
        mb.column_table(X, Y, mb.Contamination(0.1, y_in_x=0.1))
    )


@pytest.mark.parametrize(
    "amount",
    [mb.Contamination(n_moved=2), (0.05, 0.2), mb.Contamination(n_moved=2, n_moved_of_x=1), 0.0, 0.01],
)
def test_other_amounts_are_said_as_everywhere(amount: mb.Contamination):
    result = mb.mmd_bounds(X, Y, amount, rng=0)
    assert explaining.assumed(result) in " ".join(result.summary().split())


def test_nothing_is_claimed_of_rows_about_which_something_is_known(bounds: mb.results.BoundsResult):
    free = "Nothing was assumed about which ones."
    assert free in explaining.methods([bounds], bounds.provenance)
    verified = np.array(["Y"] * 5 + [""] * 25)
    known = mb.mmd_bounds(X, Y, 0.1, verified=(None, verified), rng=0)
    text = explaining.methods([known], known.provenance)
    assert free not in text
    assert "none of the 5 verified" in text


def test_methods_claim_no_more_than_is_proved(bounds: mb.results.BoundsResult, curve: mb.results.SweepResult):
    proved = "The results hold for every set of rows that this allows."
    text = explaining.methods([bounds, curve], bounds.provenance)
    assert proved in text
    assert "the largest over all admissible labellings" in text
    found = mb.mmd_bounds(X, Y, 0.1, method="s-sd")
    open_curve = replace(curve, is_valid=False)
    text = explaining.methods([found, open_curve], found.provenance)
    assert proved not in text
    assert "the largest found over all admissible labellings" in text


def test_effect_sizes_are_multiples_of_chance_and_the_best_column(
    bounds: mb.results.BoundsResult, curve: mb.results.SweepResult
):
    table = mb.column_table(X, Y, 0.1)
    chance, best = explaining.effect_sizes([bounds, curve, table])
    point = curve.points[1]
    low, high = (f"{end / point.null_quantile:.2g}" for end in (point.lower_certified, point.upper_certified))
    assert f"between {low} and {high} times" in chance
    sure = max(table.rows, key=lambda row: row.auc_lower)
    exceeds = f"{sure.auc:.3g} as filed, and between {sure.auc_lower:.3g} and {sure.auc_upper:.3g}"
    assert f"{sure.name}, a row of X exceeds a row of Y with a probability of {exceeds}" in best
    # The other way round, the same column is told from the other side.
    mirrored = mb.column_table(-X, -Y, 0.1)
    [other] = explaining.effect_sizes([mirrored])
    assert f"a row of Y exceeds a row of X with a probability of {exceeds}" in other
    assert explaining.effect_sizes([mb.column_table(X, Y + 1, 0.3)]) == []  # could be explained away
    # A curve without this number of misfiled rows says nothing about it.
    assert explaining.point_at(replace(curve, points=curve.points[:1]), bounds) is None
