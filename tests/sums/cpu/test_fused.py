"""What the compiled code is told of a kernel."""

import numpy as np
import pytest

import mmdbounds as mb

pytest.importorskip("numba")

from mmdbounds.sums.cpu import fused
from mmdbounds.sums.cpu.engines import take_one_by_one

BY_PRODUCT = {
    "rbf": mb.kernels.RBF(1.0),
    "matern52": mb.kernels.Matern52(1.0),
    "polynomial": mb.kernels.Polynomial(degree=2, gamma=1.0, coef0=3.0),
    "linear": mb.kernels.Linear(),
}


@pytest.mark.parametrize("name", BY_PRODUCT)
def test_only_the_exponential_is_held_to_distances_of_at_least_0_and_only_where_rounding_is_large(name):
    kernel = BY_PRODUCT[name]
    for dtype in ("float64", "float32"):
        for far, clamped in ((0.0, False), (1e15, name == "rbf")):
            kind, offset, degree = fused.parameters(kernel, dtype, far)
            form = kernel.forms.far if clamped else kernel.forms.row
            assert kind == (fused.PRODUCT_ITSELF if form is None else fused.FORMS.index(form))
            assert (offset, degree) == ((3.0, 2) if name == "polynomial" else (0.0, 1))
            assert offset.dtype == np.dtype(dtype)


def test_a_kind_is_one_formula():
    kinds = {
        name: {fused.parameters(kernel, "float64", far)[0] for far in (0.0, 1e15)}
        for name, kernel in BY_PRODUCT.items()
    }
    assert kinds["linear"] == {fused.PRODUCT_ITSELF}
    assert len(set().union(*kinds.values())) == len(kinds) + 1  # the Gaussian has two
    of_distances = {name for name, found in kinds.items() if max(found) <= fused.LAST_DISTANCE_KIND}
    assert of_distances == {name for name, kernel in BY_PRODUCT.items() if kernel.geometry == "distance2"}
    assert len(fused.FORMS) <= fused.N_PLACES


def naive_rows(scores, known, columns, gain, count):
    """The rows with the largest scores, one by one, until one has no column."""
    scores, taken, total = list(scores), [], [0.0] * len(scores)
    for _ in range(count):
        row = scores.index(max(scores))
        if row not in known:
            break
        taken.append(row)
        column = columns[known.index(row)]
        scores = [s + gain * c for s, c in zip(scores, column, strict=True)]
        total = [t + c for t, c in zip(total, column, strict=True)]
        scores[row] = -np.inf
    return taken, total


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("gain", [-2.0, 0.5])
def test_rows_are_taken_one_by_one_as_their_columns_say(compiled, gain):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        # Halves and whole numbers: nothing is rounded, and ties are exact.
        scores = rng.integers(-8, 8, size=9) / 2
        known = rng.permutation(9)[:6]
        columns = rng.integers(-3, 4, size=(6, 9)).astype(float)
        place = np.full(9, -1, dtype=np.intp)
        place[known] = np.arange(6)
        expected = naive_rows(scores, known.tolist(), columns, gain, 4)
        rows, total = take_one_by_one(scores.copy(), place, columns, gain, 4, 0.0, compiled=compiled)
        assert (rows.tolist(), total.tolist()) == expected
