"""Values that no labelling has, and sides that cross: said plainly, everywhere."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from made import LOWER, UPPER, bound, result
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.results import Bound, BoundsResult
from mmdbounds.results.bounds import KINDS
from mmdbounds.search.baselines import Bootstrap
from mmdbounds.words import bounds as words


def of_kind(kind: str, low: float = 0.27602, high: float = 0.39744, **changes: Any) -> BoundsResult:
    """A result with another kind of value on both sides, and no rows."""
    status = {"free points": "12 iterations", "resampling": "1,000 resamples, alpha 0.1667"}[kind]
    lower, upper = (
        bound(side, kind=kind, rows=[], value=value, status=status)
        for side, value in ((LOWER, low), (UPPER, high))
    )
    return result(lower=lower, upper=upper, **changes)


def test_summary_of_resampled_values():
    assert of_kind("resampling").summary().splitlines()[:9] == [
        "Assumed: exactly 20 % of the true MI rows are misfiled, that is exactly 2 of the 1,234 rows filed",
        "under healthy.",
        "The values below are quantiles of resampled values, neither attained nor proved: they say how much",
        "the value as filed varies, and nothing about misfiling; as filed the squared MMD is 0.3837.",
        "",
        "  lower quantile         0.276   1,000 resamples, alpha 0.1667; neither attained nor proved",
        "  as filed              0.3837",
        "  upper quantile        0.3974   1,000 resamples, alpha 0.1667; neither attained nor proved",
        "",
    ]


def test_summary_of_free_points():
    assert of_kind("free points").summary().splitlines()[:9] == [
        "Assumed: exactly 20 % of the true MI rows are misfiled, that is exactly 2 of the 1,234 rows filed",
        "under healthy.",
        "The values below have 2 free points instead of rows: neither attained nor proved, they bound",
        "nothing; as filed the squared MMD is 0.3837.",
        "",
        "  smallest found         0.276   12 iterations; neither attained nor proved",
        "  as filed              0.3837",
        "  largest found         0.3974   12 iterations; neither attained nor proved",
        "",
    ]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "have 2 free points instead"),
        ({"n_moved": 1}, "have 1 free point instead"),
        ({"n_moved": 1200}, "have 1,200 free points instead"),
        ({"exactly": False}, "have at most 2 free points instead"),
    ],
)
def test_number_of_free_points(changes: dict[str, Any], text: str):
    assert text in words.finding(of_kind("free points", **changes))


@pytest.mark.parametrize("kind", ["free points", "resampling"])
def test_never_rows_never_labellings(kind: str):
    text = of_kind(kind).summary()
    for wrong in ("moves", "Labellings reach", "can be as small", "to check first", "(proved)", "Y["):
        assert wrong not in text
    assert "neither attained" in of_kind(kind)._repr_html_()


def test_nothing_misfiled():
    nothing = {"n_moved": 0, "epsilon": 0.0, "share_of_y": 0.0}
    none = of_kind("free points", 0.3837, 0.3837, **nothing)
    assert words.finding(none) == "Nothing is misfiled, so the squared MMD is 0.3837."
    assert "free points" not in none.summary()
    drawn = of_kind("resampling", **nothing)  # they vary all the same
    assert "and nothing about misfiling" in words.finding(drawn)
    assert "\n  lower quantile         0.276 " in drawn.summary()
    assert "Nothing is misfiled" not in drawn.summary()


def test_one_side_of_another_kind():
    mixed = result(upper=bound(UPPER, kind="free points", rows=[]))
    assert "2 free points instead of rows" in words.finding(mixed)
    assert words.side_lines(mixed.lower, mixed)[1] == "    moves 2 rows filed under healthy: Y[6], Y[14]"
    assert mixed.row_table()["in_lower"].sum() == 2
    assert not mixed.row_table()["in_upper"].any()
    assert "by free points, neither attained nor proved" in repr(mixed)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("free points", "[0.27602, 0.39744] by free points, neither attained nor proved, observed 0.3837"),
        ("resampling", "[0.27602, 0.39744] by resampling, neither attained nor proved, observed 0.3837"),
    ],
)
def test_repr_says_it(kind: str, text: str):
    assert repr(of_kind(kind)).startswith(f"BoundsResult(mmd2 in {text}, exactly 2 of 1234 rows")


def test_repr_of_the_printed_schedule():
    resized = result(lower=bound(LOWER, kind="resized labelling"))
    assert "by resized labelling, neither attained nor proved, observed" in repr(resized)


@pytest.mark.parametrize("kind", ["free points", "resampling"])
def test_no_table_of_rows(kind: str):
    refused = rf"^there is no table of rows: no rows reach the values of method 's-sd' \({kind}\)\. Use"
    with pytest.raises(MmdBoundsError, match=refused):
        of_kind(kind).row_table()


@pytest.mark.parametrize("kind", KINDS)
def test_json_keeps_the_kind(kind: str):
    one = result(lower=bound(LOWER, kind=kind, rows=[]), upper=bound(UPPER, kind=kind, rows=[]))
    saved = json.loads(one.to_json())
    assert saved["lower"]["kind"] == saved["upper"]["kind"] == kind
    assert saved["lower"]["rows"] == []
    back = BoundsResult.from_dict(saved)
    assert back.summary() == one.summary()
    assert repr(back) == repr(one)


@pytest.mark.parametrize("kind", ["free points", "resampling"])
@pytest.mark.parametrize("rows", [{"rows": [1, 2]}, {"rows": [1], "rows_of_x": [0]}])
def test_rows_that_reach_nothing_are_refused(kind: str, rows: dict[str, list[int]]):
    with pytest.raises(
        DataError, match=rf"^`rows` must be empty for kind='{kind}', which no rows reach; got 2\.$"
    ):
        Bound(side="lower", value=0.0, kind=kind, **{"rows_of_x": [], **rows})


def test_an_unknown_kind_is_refused():
    with pytest.raises(DataError, match=r"^`kind` must be one of 'labelling', .*; got 'guess'\.$"):
        bound(LOWER, kind="guess")


CROSSED = "The two sides cross: the lower value is above the upper one, so nothing lies between them."


def test_crossed_labellings():
    crossed = result(lower=bound(LOWER, value=0.5))
    assert words.finding(crossed) == f"{CROSSED} Labellings reach both; method='sharp' searches further."
    assert crossed.interval == (0.5, UPPER.value)  # never reordered
    assert crossed.is_crossed
    assert crossed.width < 0
    assert "mmd2 in [0.5, 0.39744] attained, crossed, observed" in repr(crossed)
    table = crossed.summary().splitlines()[5:]
    assert table[0].startswith("  smallest found           0.5 ")
    assert table[3].startswith("  largest found         0.3974 ")


@pytest.mark.parametrize("kind", ["free points", "resampling"])
def test_other_kinds_that_cross(kind: str):
    crossed = of_kind(kind, 0.5, 0.4)
    assert words.finding(crossed).endswith(f" as filed the squared MMD is 0.3837. {CROSSED}")
    assert crossed.interval == (0.5, 0.4)
    assert "neither attained nor proved, crossed, observed" in repr(crossed)


def test_printed_steps_that_cross():
    crossed = result(lower=bound(LOWER, value=0.5, kind="resized labelling"))
    assert words.finding(crossed).endswith(f"so the values below bound nothing. {CROSSED}")


def test_sides_that_do_not_cross():
    assert not result().is_crossed
    assert not result(lower=bound(LOWER, value=UPPER.value)).is_crossed
    rounded = result(lower=bound(LOWER, value=np.nextafter(UPPER.value, 1)))
    assert not rounded.is_crossed
    proved = result(lower=bound(LOWER, value=0.5, certified=0.1), upper=bound(UPPER, certified=0.6))
    assert not proved.is_crossed
    assert "cross" not in words.finding(proved)


def test_a_computed_result():
    rng = np.random.default_rng(0)
    Y = mb.Group(rng.normal(1, 1, size=(15, 2)), ids=np.array([f"P{i}" for i in range(15)]))
    drawn = mb.mmd_bounds(
        rng.normal(size=(12, 2)), Y, 0.2, method=Bootstrap(n_resamples=20), rng=0, exactly=True
    )
    text = drawn.summary()
    assert "quantiles of resampled values" in text
    assert "20 resamples, alpha 0.1667; neither attained nor proved" in text
    assert "Method bootstrap (n_resamples=20); seed 0; kernel rbf" in text
    assert "P1" not in text
    assert BoundsResult.from_dict(json.loads(drawn.to_json())).to_json() == drawn.to_json()
    with pytest.raises(MmdBoundsError, match=r"of method 'bootstrap' \(resampling\)\. Use method='sharp'\.$"):
        drawn.row_table()
