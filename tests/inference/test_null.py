"""p-values from the statistic on labellings: by definition, and valid by enumeration of all orders."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from mmdbounds.inference.null import Null


def stopped_naively(values, threshold, h):
    """Besag and Clifford's p-value: a loop that stops."""
    count = 0
    for n_drawn, value in enumerate(values, start=1):
        count += value >= threshold
        if count == h:
            return h / n_drawn
    return (1 + count) / (1 + len(values))


def drawn_null(values, stop_after=None, batch=None):
    """A null of random labellings, drawn in batches."""
    values = np.asarray(values, dtype=float).reshape(len(values), -1)
    width = batch or len(values)
    batches = (values[start : start + width] for start in range(0, len(values), width))
    return Null(values.shape[1], {}, batches, len(values), stop_after)


def some_null(seed, stop_after=None, batch=None):
    """A null of two sizes with ties: of either all labellings were counted, or random ones are drawn."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    values = rng.integers(0, 8, size=(n, 2)).astype(float)
    kind = 0 if stop_after is not None else seed % 4
    if kind == 0:
        return drawn_null(values, stop_after, batch)
    huge = 10**30 if rng.random() < 0.5 else 1  # Python's numbers, or NumPy's
    lengths = rng.integers(1, n + 1, size=2)
    ways = [np.array([int(w) * huge for w in rng.integers(1, 9, size=m)], dtype=object) for m in lengths]
    counted = {i: (values[: lengths[i], i], ways[i]) for i in (0, 1) if kind >> i & 1}
    some = values[:, [i for i in (0, 1) if i not in counted]]
    return Null(2, counted, iter([some]), n)


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


@pytest.mark.parametrize("h", [1, 2, 3, 5, 6, 9])
def test_stopping_is_valid_by_the_law_of_ranks(h):
    """Every order of 1 + 6 different values, the first being the truth: each has the same chance.

    The truth has h larger ones among the first k with a chance of 1 - h / (k + 1), no more and no less.
    """
    found = [drawn_null(order[1:], h).pvalue(order[0], 0) for order in itertools.permutations(range(7))]
    attained, counts = np.unique(found, return_counts=True)
    shares = np.cumsum(counts) / len(found)
    np.testing.assert_allclose(shares, attained, rtol=1e-12)  # exact, at every level that it can have
    if h <= 6:
        assert attained.tolist()[-1] == 1.0
        assert set(np.round(attained, 12)) == {round(h / n, 12) for n in range(h, 7)} | {
            round(k / 7, 12) for k in range(1, h + 1)
        }


def early(null, seed, n_batches, batch=2):
    """The same null when only some batches were drawn."""
    other = some_null(seed, stop_after=null.stop_after, batch=batch)
    for _ in range(n_batches - 1):
        if not other.is_complete:
            other.draw()
    return other


def whole_null(seed, h):
    null = some_null(seed, stop_after=h)
    while not null.is_complete:
        null.draw()
    return null


@pytest.mark.parametrize("seed", range(20))
def test_stopping_is_the_loop_that_stops(seed):
    h = 1 + seed % 5
    null = whole_null(seed, h)
    for place, threshold in itertools.product((0, 1), (-1.0, 2.5, 6.0, 8.0)):
        expected = stopped_naively(null.statistics[:, place], threshold, h)
        assert null.pvalue(threshold, place) == expected
        for n_batches in (1, 2, 4, 9):  # stopped for another size
            some = early(null, seed, n_batches)
            assert expected <= some.pvalue(threshold, place) <= 1.0
            if some.is_stopped(threshold, place):
                assert some.pvalue(threshold, place) == expected
            larger = [some.pvalue(t, place) for t in (-1.0, 2.0, 3.0, 5.0, 9.0)]
            assert larger == sorted(larger, reverse=True)


def test_what_has_stopped_first_has_the_largest_pvalue():
    """So a test over several numbers is done once one of them has stopped."""
    n_seen = 0
    for seed, n_batches in itertools.product(range(30), (1, 2, 3)):
        null = whole_null(seed, 2)
        some = early(null, seed, n_batches)
        done = [place for place in (0, 1) if some.is_stopped(4.0, place)]
        if len(done) == 1:
            n_seen += 1
            assert some.pvalue(4.0, done[0]) == null.pvalues(np.array([4.0, 4.0]), [0, 1]).max()
    assert n_seen > 5
