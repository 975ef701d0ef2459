"""p-values from the statistic on labellings: by definition, and valid by enumeration of all orders."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from mmdbounds.inference.null import Null


def some_null(seed):
    """A null of two sizes with ties: of either all labellings were counted, or random ones are drawn."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    values = rng.integers(0, 8, size=(n, 2)).astype(float)
    kind = seed % 4
    huge = 10**30 if rng.random() < 0.5 else 1  # Python's numbers, or NumPy's
    lengths = rng.integers(1, n + 1, size=2)
    ways = [np.array([int(w) * huge for w in rng.integers(1, 9, size=m)], dtype=object) for m in lengths]
    counted = {i: (values[: lengths[i], i], ways[i]) for i in (0, 1) if kind >> i & 1}
    some = values[:, [i for i in (0, 1) if i not in counted]]
    return Null(2, counted, some)


@pytest.mark.parametrize("seed", range(20))
def test_is_the_share_of_labellings_that_are_no_smaller(seed):
    null = some_null(seed)
    for place, threshold in itertools.product((0, 1), (-1.0, 0.0, 2.5, 3.0, 7.0)):
        values = null.column(place)
        if null.is_counted(place):
            shares = [Fraction(int(w)) for w in null._weights[:, place] if w]
            naive = sum(w for w, v in zip(shares, values, strict=True) if v >= threshold) / sum(shares)
            np.testing.assert_allclose(
                null.shares(place), [float(w / sum(shares)) for w in shares], rtol=1e-15
            )
        else:
            naive = Fraction(1 + sum(v >= threshold for v in values.tolist()), 1 + len(values))
        assert null.pvalue(threshold, place) == float(naive)  # to the last bit: 1/20 is 0.05
    both = null.pvalues(np.array([3.0, 2.5]), [0, 1])
    assert both.tolist() == [null.pvalue(3.0, 0), null.pvalue(2.5, 1)]
    assert null.pvalues(np.array([2.5, 3.0]), [1, 0]).tolist() == both.tolist()[::-1]


@pytest.mark.parametrize("seed", range(20))
def test_mean_and_deviation_are_over_all_labellings(seed):
    null = some_null(seed)
    for place in (0, 1):
        values = null.column(place)
        each = np.full(len(values), 1 / len(values)) if null.shares(place) is None else null.shares(place)
        mean = (each * values).sum()
        assert null.means[place] == pytest.approx(mean, rel=1e-13)
        assert null.deviations[place] == pytest.approx(
            np.sqrt((each * (values - mean) ** 2).sum()), abs=1e-12
        )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("level", [0.01, 0.05, 0.25, 0.5, 0.99])
def test_beyond_the_critical_value_and_only_there_the_pvalue_is_at_most_the_level(seed, level):
    null = some_null(seed)
    for place in (0, 1):
        values = null.column(place)
        critical = null.critical(level, place, values)
        for value in values:
            assert (null.pvalue(value, place) <= level) == (value > critical)
        if np.isfinite(critical):
            assert null.pvalue(np.nextafter(critical, np.inf), place) <= level
        smallest = null.pvalue(np.nextafter(values.max(), np.inf), place)
        assert null.is_counted(place) or (critical == np.inf) == (smallest > level)
