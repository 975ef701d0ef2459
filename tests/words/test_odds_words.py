"""The sentences about limited odds, by hand; their results saved and drawn."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from made import make_provenance
from mmdbounds.results import Bound, BoundsResult, OddsBreakdown, OddsPoint, OddsSweepResult
from mmdbounds.words import odds as words
from mmdbounds.words.phrases import wrapped


def make_odds(**changes: Any) -> BoundsResult:
    none: dict[str, Any] = {"kind": "weights", "rows": [], "rows_of_x": []}
    made: dict[str, Any] = {
        "lower": Bound(side="lower", value=0.2, certified=0.19995, weights=[0.5, 1.5], **none),
        "upper": Bound(side="upper", value=0.4, certified=0.40001, weights=[1.5, 0.5], **none),
        "observed": 0.243,
        "odds": 2.0,
        "n_moved": 5,
        "epsilon": 0.2,
        "share_of_y": 0.1,
        "n_samples_X": 20,
        "n_samples_Y": 50,
        "name_x": "cases",
        "name_y": "controls",
        "provenance": make_provenance(),
    }
    return BoundsResult(**{**made, **changes})


def make_sweep(**changes: Any) -> OddsSweepResult:
    points = [
        OddsPoint(
            epsilon=epsilon,
            n_moved=m,
            odds=odds,
            lower=0.1875 - 0.0625 * odds,
            lower_certified=0.1875 - 0.0625 * odds,
            upper=0.25 + 0.125 * odds,
            upper_certified=None if odds == 2 else 0.40625,
            point=0.3,
        )
        for epsilon, m in ((0.1, 2), (0.2, 5))
        for odds in (1.0, 2.0)
    ]
    made: dict[str, Any] = {
        "points": points,
        "breakdown": [
            OddsBreakdown(epsilon=0.1, n_moved=2, odds=None),
            OddsBreakdown(epsilon=0.2, n_moved=5, odds=1.514),
        ],
        "chance": 0.1,
        "observed": 0.25,
        "exactly": False,
        "n_permutations": 99,
        "n_samples_X": 20,
        "n_samples_Y": 50,
        "name_x": "cases",
        "name_y": "controls",
        "provenance": make_provenance(),
    }
    return OddsSweepResult(**{**made, **changes})


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_range():
    text = one_line(make_odds().summary())
    assert text.startswith(
        "Assumed: at most 20 % of the true cases rows are misfiled, that is at most 5 of the 50 rows filed "
        "under controls, with odds of being misfiled within a factor of 2 of one value: no cases row had "
        "more than 4 times the odds of another. The squared MMD of the true populations is estimated to be "
        "between 0.1999 and 0.4001 (proved: no such odds give an estimate outside). As filed it is 0.243. If "
        "misfiling was random, the estimate is 0.3. If the odds differ by more, or more rows are misfiled, "
        "it can lie outside this range. This is an estimate for the populations"
    )
    assert "at least 0.1999 (proved); such odds reach 0.2" in text
    assert "labelling" not in text


def test_random_misfiling_is_one_number():
    text = one_line(make_odds(odds=1.0, exactly=True).summary())
    assert "exactly 5 of the 50 rows" in text
    assert "at random: every cases row had the same odds" in text
    assert "is estimated at 0.3. As filed it is 0.243." in text
    assert "between" not in text


def test_without_a_proof():
    unproved = dataclasses.replace(make_odds().upper, certified=None)
    text = one_line(make_odds(upper=unproved).summary())
    assert "between 0.2 and 0.4 (the smallest and the largest value found; that no such odds" in text
    assert "proved: no" not in text
    assert "largest found 0.4 not proved" in text


def test_a_sweep():
    text = one_line(make_sweep().summary())
    assert text.startswith(
        "Assumed: at most a given share of the true cases rows is misfiled, with odds within a factor of one "
        "value. The lower end falls to what chance alone would give (0.1; 95 % of random labellings have "
        "less) at a factor of 1.51 with 20 % misfiled. With 10 % misfiled, it stays above that at every "
        "factor tried. Below that factor the difference stands;"
    )
    never = make_sweep(breakdown=make_sweep().breakdown[:1])
    assert "have less) at every factor tried. This is a guide, not a test." in words.breakdown(never)
    assert "20 % 5 2 0.0625 0.3 0.5*" in text
    assert "* the upper end is the largest value found" in text
    assert words.breakdown(make_sweep(observed=0.09)).startswith("Even as filed the squared MMD, 0.09, is no")


@pytest.mark.parametrize("make", [make_odds, make_sweep])
def test_saved_and_back(make: Any):
    result = make()
    assert type(result).from_dict(json.loads(result.to_json())).to_json() == result.to_json()
    again = pickle.loads(pickle.dumps(result))
    assert again.to_json() == result.to_json()
    assert "\n" not in repr(result)


def test_ends_hold_their_weights():
    assert not make_odds().lower.weights.flags.writeable
    assert make_sweep().epsilons == (0.1, 0.2)
    assert make_sweep().odds == (1.0, 2.0)


@pytest.mark.full
def test_pictures(monkeypatch: pytest.MonkeyPatch):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "backend", "Agg")
    from matplotlib import pyplot

    def drawn(ax: Any) -> dict[str, Any]:
        return {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()}

    contours = drawn(make_sweep().plot())
    assert contours["breakdown: down at what chance alone would give"] == [[0.2, 1.514]]
    one = make_sweep(points=make_sweep().points[2:], breakdown=make_sweep().breakdown[1:])
    curve = drawn(one.plot())
    np.testing.assert_allclose(curve["lower end"], [[1, 0.125], [2, 0.0625]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(curve["upper end"], [[1, 0.40625], [2, 0.5]], rtol=0, atol=1e-12)
    chance = curve[mb.plotting.canvas.CHANCE_LABEL]
    np.testing.assert_allclose(chance, [[1, 0.1 / 0.81], [2, 0.1 / 0.81]], rtol=0, atol=1e-12)
    assert curve["breakdown: factor 1.51"][0][0] == 1.514
    shares = [point for point in make_sweep().points if point.odds == 1]
    assert [x for x, _ in drawn(make_sweep(points=shares).plot())["lower end"]] == [0.1, 0.2]
    single = drawn(make_odds().plot())
    assert single["estimate for the populations, odds within a factor of 2"] == [[0.19995, 0], [0.40001, 0]]
    np.testing.assert_allclose(single["if random"], [[0.3, 0]], rtol=0, atol=1e-12)
    with pytest.raises(mb.MmdBoundsError, match=r"^`plot_odds` draws results of type OddsSweepResult"):
        mb.plotting.plot_odds(mb.mmd_bounds([[0.0], [1.0], [2.0]], [[0.0], [1.0], [3.0]], 0.0))
    pyplot.close("all")


def test_a_number_and_its_sign_stay_on_one_line():
    for length in range(60, 130):
        assert "\n" not in wrapped(f"{'x' * length} 14.3 %").removeprefix("x" * length).lstrip("\n")
    assert wrapped("14.3 % of them") == "14.3 % of them"
