"""Values that no labelling has, and sides that cross: said plainly, everywhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

from made import LOWER, UPPER, bound, result
from mmdbounds.errors import DataError, MmdBoundsError
from mmdbounds.results import Bound, BoundsResult
from mmdbounds.results.bounds import KINDS
from mmdbounds.words import bounds as words


def test_one_side_of_another_kind():
    mixed = result(upper=bound(UPPER, kind="resized labelling"))
    assert words.finding(mixed).startswith("These are the paper's printed quantile steps")
    assert words.side_lines(mixed.lower, mixed)[1] == "    moves 2 rows filed under healthy: Y[6], Y[14]"
    assert "by resized labelling, neither attained nor proved" in repr(mixed)


def test_nothing_misfiled():
    nothing = result(n_moved=0, epsilon=0.0, share_of_y=0.0)
    assert words.finding(nothing) == "Nothing is misfiled, so the squared MMD is 0.3837."


def test_repr_of_the_printed_schedule():
    resized = result(lower=bound(LOWER, kind="resized labelling"))
    assert "by resized labelling, neither attained nor proved, observed" in repr(resized)


def test_no_table_of_rows():
    weighted = result(
        lower=bound(LOWER, kind="weights", rows=[]), upper=bound(UPPER, kind="weights", rows=[])
    )
    refused = r"^there is no table of rows: no rows reach the values of method 's-sd' \(weights\)\. Leave out"
    with pytest.raises(MmdBoundsError, match=refused):
        weighted.row_table()


@pytest.mark.parametrize("kind", KINDS)
def test_json_keeps_the_kind(kind: str):
    one = result(lower=bound(LOWER, kind=kind, rows=[]), upper=bound(UPPER, kind=kind, rows=[]))
    saved = json.loads(one.to_json())
    assert saved["lower"]["kind"] == saved["upper"]["kind"] == kind
    assert saved["lower"]["rows"] == []
    back = BoundsResult.from_dict(saved)
    assert back.summary() == one.summary()
    assert repr(back) == repr(one)


@pytest.mark.parametrize("rows", [{"rows": [1, 2]}, {"rows": [1], "rows_of_x": [0]}])
def test_rows_that_reach_nothing_are_refused(rows: dict[str, list[int]]):
    with pytest.raises(
        DataError, match=r"^`rows` must be empty for kind='weights', which no rows reach; got 2\.$"
    ):
        Bound(side="lower", value=0.0, kind="weights", **{"rows_of_x": [], **rows})


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
