"""The result of a test, made by hand: what is not said of it means nothing of the kind."""

from made import make_provenance
from mmdbounds.results.testing import CountTest, RobustTestResult

COUNT = {"n_moved": 3, "n_moved_of_x": 0, "lower": 0.1, "certified": 0.09, "pvalue": 0.04, "attained": 0.03}


def made(**changes):
    given = {
        "statistic": 0.09,
        "pvalue": 0.04,
        "is_valid": True,
        "is_tight": False,
        "n_moved": 3,
        "null": [0.0, 0.1],
        "observed": 0.2,
        "pvalue_as_filed": 0.01,
        "counts": [CountTest(**COUNT)],
        "n_admissible": 1,
        "n_permutations": 2,
        "exactly": False,
        "epsilon": 0.1,
        "share_of_y": 0.2,
        "n_samples_X": 27,
        "n_samples_Y": 15,
        "provenance": make_provenance(),
    }
    return RobustTestResult(**{**given, **changes})


def test_without_a_word_it_is_one_way_and_nothing_is_added():
    result = made()
    assert (result.n_moved_of_x, result.most_moved_of_x, result.counts[0].n_moved_of_x) == (0, 0, 0)
    assert result.beta == 0.0
    assert (result.null_quantile, result.null_quantile_as_filed) == (None, None)
    assert (result.in_null_quantiles, result.as_filed_in_null_quantiles) == (None, None)
    assert (result.name_x, result.name_y, result.conditions, result.units_note) == ("X", "Y", (), "")
    saved = result.to_dict()
    del saved["n_moved_of_x"], saved["beta"]
    assert RobustTestResult.from_dict(saved).to_dict() == result.to_dict()


def test_ranges_are_over_all_counts():
    counts = [
        CountTest(**{**COUNT, "n_moved": m, "n_moved_of_x": m_d}) for m, m_d in ((4, 1), (2, 3), (7, 0))
    ]
    result = made(counts=counts, null_quantile=0.03, null_quantile_as_filed=0.4)
    assert (result.n_moved_range, result.most_moved_of_x) == ((2, 7), 3)
    assert result.in_null_quantiles == 0.09 / 0.03
    assert result.as_filed_in_null_quantiles == 0.2 / 0.4
    statistic, pvalue = result
    assert (statistic, pvalue) == (0.09, 0.04)
