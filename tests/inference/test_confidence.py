"""Confidence intervals: the union written out, what is promised and when, coverage."""

import itertools
import json
import math

import numpy as np
import pytest

import mmdbounds as mb
from lab.studies import confidence_coverage as study
from mmdbounds.counts import Counts
from mmdbounds.errors import MmdBoundsError
from mmdbounds.inference.confidence import ALIKE, alike, confidence_interval, largest_variance
from mmdbounds.inference.radii import deviation_radius, variance_radius
from mmdbounds.objective import group_sums
from mmdbounds.results.intervals import ConfidenceInterval
from mmdbounds.sums import make_sums
from notebooks import page_of
from problems import Signed, all_labellings, naive_values

BANDWIDTH = 1.0
ROUNDING = 1e-9


def far_groups(p=400, q=13, seed=0):
    """Groups so far apart, and X so large, that neither end is cut off; few enough labellings to list."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(0, 0.3, size=(p, 2)), rng.normal(0.8, 0.3, size=(q, 2))
    Y[:2] = rng.normal(0, 0.3, size=(2, 2))
    return X, Y


def naive_interval(X, Y, every_count, delta, bandwidth=BANDWIDTH):
    """The union over all counts of [sqrt(min) - r, sqrt(max) + r] over all labellings, by definition."""
    Z, p, q = np.concatenate([X, Y]), len(X), len(Y)
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * bandwidth**2))
    ends = []
    for m, m_d in every_count:
        counts = Counts(m, m_d, p + m - m_d, q - m + m_d)
        values = naive_values(K, all_labellings(p, q, counts), "biased")
        r = variance_radius(naive_variance(K, p, counts), counts.n_x, counts.n_y, 1.0, delta)
        ends.append((math.sqrt(values.min()) - r, math.sqrt(values.max()) + r, r))
    low, high, r = zip(*ends, strict=True)
    return max(0.0, min(low)), min(max(high), math.sqrt(2)), max(r)


def naive_variance(K, p, counts):
    """The variance that is allowed for, from every labelling: without pairs of rows that move together."""
    w_x, w_y = (1 / (n**2 * (n - 1)) for n in (counts.n_x, counts.n_y))
    pairs, least = K - np.diag(np.diag(K)), math.inf
    for u in all_labellings(p, len(K) - p, counts).astype(bool):
        filed = np.arange(len(K)) < p
        entering, leaving = u & ~filed, filed & ~u
        together = pairs[np.ix_(entering, entering)].sum() + pairs[np.ix_(leaving, leaving)].sum()
        apart = 2 * (pairs[np.ix_(entering, leaving)].sum() - entering.sum() * leaving.sum())
        within = w_x * pairs[np.ix_(u, u)].sum() + w_y * pairs[np.ix_(~u, ~u)].sum()
        least = min(least, within - (w_x + w_y) * (together - apart))
    return min(1 / counts.n_x + 1 / counts.n_y, 1 / counts.n_x + 1 / counts.n_y - least)


def interval(X, Y, epsilon, **options):
    return confidence_interval(
        X, Y, epsilon, **{"bandwidth": BANDWIDTH, "fixed_kernel": True, "rng": 0} | options
    )


@pytest.mark.parametrize("level", [0.02, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_one_count_by_definition(level, seed):
    X, Y = far_groups(seed=seed)
    result = interval(X, Y, mb.Contamination(n_moved=3), level=level, exactly=True, method="exhaustive")
    low, high, r = naive_interval(X, Y, [(3, 0)], 1 - level)
    assert 0 < low < high < math.sqrt(2)  # neither end is cut off, so both are tested
    np.testing.assert_allclose((*result.interval, result.radius), (low, high, r), rtol=0, atol=ROUNDING)
    assert (result.label, result.level, result.n_moved_range) == ("proved", level, (3, 3))


def test_several_counts_by_definition():
    X, Y = far_groups(p=60)
    every_count = range(5)
    result = interval(X, Y, 4 / 64, level=0.05, method="exhaustive")
    low, high, r = naive_interval(X, Y, [(m, 0) for m in every_count], 0.95)
    assert 0 < low < high < math.sqrt(2)
    assert low - ALIKE * r - ROUNDING <= result.low <= low + ROUNDING
    assert high - ROUNDING <= result.high <= high + ALIKE * r + ROUNDING
    assert result.n_moved_range == (min(every_count), 4)
    assert sorted(m for part in result.parts for m in range(part.n_moved[0], part.n_moved[1] + 1)) == list(
        every_count
    )


def test_two_ways_by_definition():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(0, 0.3, size=(40, 1)), rng.normal(1.1, 0.2, size=(12, 1))
    result = interval(
        X, Y, mb.Contamination(n_moved=2, n_moved_of_x=1), level=0.02, exactly=False, method="exhaustive"
    )
    low, high, r = naive_interval(X, Y, [(m, m_d) for m in range(3) for m_d in range(2)], 0.98)
    assert 0 < low < high < math.sqrt(2)
    assert low - ALIKE * r - ROUNDING <= result.low <= low + ROUNDING
    assert high - ROUNDING <= result.high <= high + ALIKE * r + ROUNDING
    assert result.n_moved_of_x == 1


def test_counts_that_share_a_radius_have_nearly_the_same():
    admissible, kernel = mb.Contamination(0.4).admissible(30, 90), mb.kernels.RBF(1.0)
    Z = np.random.default_rng(0).normal(size=(120, 1))
    totals = group_sums(make_sums(Z, kernel), 30, 90)
    runs = alike(totals, admissible, kernel, 0.05)
    assert sorted(c.n_moved for run, _ in runs for c in run) == [c.n_moved for c in admissible]
    assert 1 < len(runs) < len(admissible)
    for run, radius in runs:
        variances = [largest_variance(totals, [c], 1.0) for c in run]
        own = [variance_radius(v, c.n_x, c.n_y, 1.0, 0.05) for v, c in zip(variances, run, strict=True)]
        assert radius == max(own) <= (1 + ALIKE) * min(own)
        assert [c.n_moved for c in run] == list(range(run[0].n_moved, run[-1].n_moved + 1))


def test_nothing_misfiled_is_the_plain_statistic_and_the_radius():
    X, Y = far_groups(q=60)
    result = interval(X, Y, 0.0, level=0.5)
    value = math.sqrt(mb.mmd2(X, Y, bandwidth=BANDWIDTH, estimator="biased"))
    Z = np.concatenate([X, Y])
    K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / 2)
    r = variance_radius(naive_variance(K, 400, Counts(0, 0, 400, 60)), len(X), len(Y), 1.0, 0.5)
    assert r < deviation_radius(len(X), len(Y), 1.0, 0.5)
    np.testing.assert_allclose(result.interval, (value - r, min(value + r, math.sqrt(2))), rtol=0, atol=1e-8)


def test_larger_levels_and_more_misfiling_give_wider_intervals():
    X, Y = far_groups(p=120)
    by_level = [interval(X, Y, 0.02, level=level) for level in (0.01, 0.05, 0.1)]
    by_share = [interval(X, Y, epsilon, level=0.05, method="exhaustive") for epsilon in (0.0, 0.01, 0.03)]
    for results in (by_level, by_share):
        for inner, outer in itertools.pairwise(results):
            assert outer.low <= inner.low
            assert inner.high <= outer.high
        assert results[0].low > results[-1].low
        assert results[0].high < results[-1].high


def test_more_rows_give_shorter_intervals():
    widths = []
    for n in (30, 120, 480):
        rng = np.random.default_rng(1)
        X, Y = rng.normal(size=(n, 1)), rng.normal(2.0, 1.0, size=(n, 1))
        result = interval(X, Y, 0.0, level=0.9)
        widths.append(result.high - result.low)
    assert widths[0] > widths[1] > widths[2]


def test_a_kernel_with_negative_values_has_the_larger_radius_and_end():
    rng = np.random.default_rng(0)
    X, Y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in rng.normal(size=(2, 20, 2)))
    result = confidence_interval(X, Y, 0.0, kernel=Signed(), fixed_kernel=True, rng=0)
    assert result.radius == deviation_radius(20, 20, 1.0, 1 - 0.95, nonnegative=False)
    assert result.high <= 2
    assert confidence_interval(X[:2], Y[:2], 0.0, kernel=Signed(), fixed_kernel=True, rng=0).high == 2.0
    assert interval(X[:2], Y[:2], 0.0).high == math.sqrt(2)


def test_the_label_says_what_is_missing():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 2)), rng.normal(1, 1, size=(30, 2))
    given = {"level": 0.9, "rng": 0}

    def label(**options):
        result = confidence_interval(X, Y, 0.1, **given | options)
        return result.label, " ".join(result.why)

    assert label(bandwidth=1.0, fixed_kernel=True)[0] == "proved"
    assert label(kernel=mb.kernels.Laplacian(2.0), fixed_kernel=True)[0] == "proved"
    name, why = label(holdout=0.3)
    assert name == "proved"
    assert why.startswith("The bandwidth comes from 15 rows, drawn at random from both groups alike")
    for options, reason in (
        ({}, "The bandwidth was chosen on these rows"),
        ({"bandwidth": 1.0}, "It was not stated that the kernel was fixed"),
        ({"kernel": mb.kernels.RBF(1.0)}, "It was not stated that the kernel was fixed"),
        (
            {"bandwidth": 1.0, "fixed_kernel": True, "method": "s-sd"},
            "The bounds are values that labellings reach",
        ),
        ({"holdout": 0.3, "method": mb.Sharp(certify=False)}, "The bounds are values that labellings reach"),
    ):
        name, why = label(**options)
        assert name == "approximate"
        assert why.startswith(reason)


@pytest.mark.full
@pytest.mark.parametrize(
    "how", [{"scale": "robust"}, {"scale": "rank"}, {"scale": "none", "missing": "impute"}]
)
def test_whatever_is_taken_from_the_rows_themselves_proves_nothing(how):
    polars = pytest.importorskip("polars")
    values = np.random.default_rng(0).normal(size=50).tolist()
    if "missing" in how:
        values[3] = None
    frame = polars.DataFrame({"g": ["a"] * 20 + ["b"] * 30, "u": values})
    said = interval(*mb.groups(frame, "g", hidden="a", among="b", **how), 0.1)
    assert said.label == "approximate"
    assert "scaled by these rows, or filled in by them" in " ".join(said.why)


@pytest.mark.full
def test_a_table_scaled_by_its_own_rows_proves_nothing_unless_rows_are_held_out():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    frame = polars.DataFrame(
        {"g": ["a"] * 20 + ["b"] * 30, "u": rng.normal(size=50), "v": rng.gamma(2, size=50)}
    )
    X, Y = mb.groups(frame, "g", hidden="a", among="b")
    said = interval(X, Y, 0.1)
    assert said.label == "approximate"
    assert "scaled by these rows" in " ".join(said.why)
    held = confidence_interval(X, Y, 0.1, holdout=0.3, rng=0)
    assert held.label == "proved"
    assert held.provenance.data["scale"] == "standard, by the rows held out"
    assert (held.name_x, held.name_y, held.n_held_out) == ("a", "b", 15)
    raw = mb.groups(frame, "g", hidden="a", among="b", scale="none")
    assert interval(*raw, 0.1).label == "proved"


def test_the_same_seed_gives_the_same_and_is_in_the_record():
    X, Y = far_groups(p=40)
    made = confidence_interval(X, Y, 0.05, holdout=0.2, rng=5)
    again = confidence_interval(X, Y, 0.05, holdout=0.2, rng=made.provenance.seed)
    assert made.interval == again.interval
    assert made.provenance.options["holdout"] == 0.2
    assert made.provenance.estimator == "biased"
    other = confidence_interval(X, Y, 0.05, holdout=0.2, rng=6)
    assert other.provenance.bandwidth != made.provenance.bandwidth
    assert isinstance(confidence_interval(X, Y, 0.05, holdout=0.2).provenance.seed, int)


def test_a_result_is_frozen_saved_and_says_itself():
    X, Y = far_groups(p=40)
    made = confidence_interval(X, Y, 0.05, holdout=0.2, rng=5)
    back = ConfidenceInterval.from_dict(json.loads(made.to_json()))
    assert back.to_dict() == made.to_dict()
    assert back.interval == made.interval
    assert "\n" not in repr(made)
    assert made.label in repr(made)
    with pytest.raises(AttributeError, match="cannot assign"):
        made.low = 0.0
    summary = made.summary()
    assert max(map(len, summary.splitlines())) <= 100
    assert "root scale" in summary
    page_of(made)
    with pytest.raises(MmdBoundsError, match=r"the saved result lacks `low`\."):
        ConfidenceInterval.from_dict({k: v for k, v in made.to_dict().items() if k != "low"})


def test_the_words():
    X, Y = far_groups(p=40)
    proved = interval(X, Y, 0.05).summary()
    assert proved.startswith(
        "Assumed: at most 5 % of the true X rows are misfiled, that is at most 2 of the 13 rows filed under\n"
        "Y, or 4.76 %.\nWith 95 % confidence"
    )
    assert "(proved)" in proved
    near = confidence_interval(X, Y, 0.05, exactly=True, rng=0).summary()
    assert near.startswith(
        "Assumed: exactly 5 % of the true X rows are misfiled, that is exactly 2 of the 13 rows"
    )
    assert "approximately; not proved" in near
    two_way = interval(X, Y, mb.Contamination(n_moved=1, n_moved_of_x=1)).summary()
    assert "at most 1 of the 40 rows filed under X belongs to Y." in " ".join(two_way.split())


def test_a_printed_proved_end_is_still_proved():
    X, Y = far_groups(p=41)
    result = interval(X, Y, 0.05, level=0.05)
    words = result.summary().split()
    low, high = (float(words[words.index("between") + place]) for place in (1, 3))
    assert low <= result.low <= result.high <= high
    assert high - low < result.high - result.low + 2e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "linear"}, r"`kernel` must have a known bound, such as 'rbf'.*; got 'linear'\."),
        ({"kernel": "polynomial"}, r"`kernel` must have a known bound.*; got 'polynomial'\."),
        ({"kernel": lambda A, B: A @ B.T}, r"`kernel` must have a known bound.*; got 'function'\."),
        ({"level": 95}, r"`level` must be a number between 0 and 1; got 95\. Did you mean 0\.95\?"),
        ({"level": 1.0}, r"`level` must be a number between 0 and 1; got 1\."),
        ({"holdout": 0.0}, r"`holdout` must be a number between 0 and 1; got 0\."),
        ({"holdout": 0.02}, r"`holdout` must set at least 2 of the 50 rows aside; got 0\.02\."),
        (
            {"holdout": 0.2, "bandwidth": 1.0},
            r"`holdout` chooses a median bandwidth, so `kernel` must be one of",
        ),
        ({"holdout": 0.2, "kernel": Signed()}, r"`holdout` chooses a median bandwidth"),
        ({"holdout": 0.2, "kernel": mb.kernels.RBF(1.0)}, r"`holdout` chooses a median bandwidth"),
        ({"holdout": 0.2, "fixed_kernel": True}, r"`fixed_kernel` must be False where `holdout`"),
        (
            {"fixed_kernel": True},
            r"`fixed_kernel` must go with a number for `bandwidth` or a kernel object; got",
        ),
        ({"fixed_kernel": 1}, r"`fixed_kernel` must be True or False; got 1\."),
        ({"exactly": "yes"}, r"`exactly` must be True or False; got 'yes'\."),
        ({"rng": -1}, r"`rng` must be a whole number from 0"),
        ({"method": "sharpest"}, r"`method` must be one of"),
        ({"progress": 2}, r"`progress` must be True or False; got 2\."),
    ],
)
def test_refusals(options, message):
    rng = np.random.default_rng(0)
    with pytest.raises(MmdBoundsError, match=message):
        confidence_interval(rng.normal(size=(20, 2)), rng.normal(size=(30, 2)), 0.1, **options)


def test_counts_that_leave_no_row_are_refused():
    with pytest.raises(MmdBoundsError, match=r"the true `Y` would have 0 rows; the biased estimator needs"):
        interval([[0.0], [1.0]], [[0.5], [2.0]], mb.Contamination(n_moved=2))
    with pytest.raises(MmdBoundsError, match=r"`holdout` must leave rows in both groups"):
        confidence_interval([[0.0], [1.0], [3.0]], [[0.5]], 0.0, holdout=0.9, rng=0)


def test_the_closed_form_of_the_population():
    """The truth of the simulations, against an average over many rows."""
    setting = study.Setting(1.5, "random", 1000, 2, 0.0)
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(1500, 2)) for _ in range(2))
    Y[:, 0] += setting.shift
    sampled = mb.mmd2(X, Y, bandwidth=1.3)
    assert study.true_root_mmd(setting, 1.3) ** 2 == pytest.approx(sampled, abs=0.02)
    assert study.true_root_mmd(study.SETTINGS[0], 1.3) == 0.0


def finite_sample(setting, trial):
    """Return a finite-sample interval of one trial, the truth, and the bounds without the radius."""
    filed = study.draw(setting, np.random.default_rng([trial, 5]))
    made = confidence_interval(
        filed.X,
        filed.Y,
        filed.contamination,
        bandwidth=setting.bandwidth,
        fixed_kernel=True,
        exactly=True,
        rng=0,
    )
    assert made.label == "proved"
    (part,) = made.parts
    return made, study.true_root_mmd(setting, setting.bandwidth), math.sqrt(max(part.lower, 0.0))


@pytest.mark.parametrize("setting", study.SETTINGS, ids=lambda s: s.name)
def test_coverage_in_a_few_trials(setting):
    trials = [finite_sample(setting, trial) for trial in range(4)]
    assert all(made.low <= truth <= made.high for made, truth, _ in trials)
    if setting.shift == 0:  # the bounds alone cannot hold 0: the radius is what covers
        assert any(bare > truth for _, truth, bare in trials)
    if setting.shift == 3:
        assert all(made.low > 0 for made, _, _ in trials)  # so the lower end says something


@pytest.mark.slow
@pytest.mark.parametrize("setting", study.SETTINGS, ids=lambda s: s.name)
def test_coverage_is_at_least_nominal(setting):
    found = [finite_sample(setting, trial) for trial in range(500)]
    covered = sum(made.low <= truth <= made.high for made, truth, _ in found)
    assert covered >= 0.95 * len(found) - 2.326 * math.sqrt(0.95 * 0.05 * len(found))


def test_the_error_of_an_audit_is_part_of_that_of_the_interval():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(2.0, 1.0, size=(40, 2))
    audit = mb.Contamination.from_audit(40, 1, level=0.99)  # all rows were checked: the number is known
    how = {"bandwidth": 2.0, "fixed_kernel": True, "rng": 0}
    known = confidence_interval(X, Y, mb.Contamination(n_moved=1), level=1 - (1 - 0.95 - 0.01), **how)
    audited = confidence_interval(X, Y, audit, level=0.95, **how)
    assert audited.level == 0.95
    # The two levels differ by rounding only, which moves the radius by less than a part in 1e12.
    np.testing.assert_allclose(audited.interval, known.interval, rtol=1e-12)
    with pytest.raises(
        MmdBoundsError, match=r"below the confidence of the number misfiled; got 0.99 and 0.99"
    ):
        confidence_interval(X, Y, audit, level=0.99, **how)
