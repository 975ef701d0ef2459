"""Charts show the numbers of the result, and hold no text of the user but as values of fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.report import charts
from mmdbounds.report.of_sweep import sweep_contents
from mmdbounds.report.rows import RowNames
from mmdbounds.report.single_share import bounds_contents, contents_of_test
from report.made import CELL, COLUMN, GROUP, HIDDEN

EXPRESSION = re.compile(r"(datum\.f\d+( == chosen)?|isValid\(datum\.f\d+\))( && |$)")


@pytest.fixture
def specs(
    swept: mb.results.SweepResult, bounded: mb.results.BoundsResult, tested: mb.results.RobustTestResult
) -> dict[str, Any]:
    names = RowNames(is_open=True)
    every = [
        *sweep_contents(swept, names).figures,
        *bounds_contents(bounded, names).figures,
        *contents_of_test(tested).figures,
    ]
    return {f"{i} {figure.name}": figure.spec for i, figure in enumerate(every)}


def walked(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every plain value of a specification with the key it stands under."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from walked(part, name)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from walked(part, key)
    else:
        yield key, value


def test_fields_are_numbered_and_expressions_are_ours(specs: dict[str, Any]):
    assert len(specs) == 6
    for spec in specs.values():
        drawn = {name: part for name, part in spec.items() if name != "datasets"}
        for key, value in walked(drawn):
            if key == "field":
                assert re.fullmatch(r"f\d+", value)
            if key in ("filter", "test", "expr", "signal", "calculate"):
                assert EXPRESSION.sub("", value) == ""
        for values in spec["datasets"].values():
            assert all(re.fullmatch(r"f\d+", name) for value in values for name in value)


def test_names_of_the_user_are_values_and_nothing_else(specs: dict[str, Any]):
    for name, spec in specs.items():
        drawn = json.dumps({key: part for key, part in spec.items() if key != "datasets"})
        for text in (CELL, COLUMN, GROUP, HIDDEN, "patient"):
            assert text not in drawn
        assert (CELL in json.dumps(spec["datasets"])) == name.endswith("rows")


def test_the_band_is_that_of_the_points(swept: mb.results.SweepResult, specs: dict[str, Any]):
    points = specs["0 bounds"]["datasets"]["points"]
    ends = [[p.lower_certified, p.upper_certified] for p in swept.points]
    np.testing.assert_allclose([[p["f2"], p["f3"]] for p in points], ends, rtol=0)
    np.testing.assert_allclose([p["f1"] for p in points], [p.epsilon for p in swept.points], rtol=0)
    lines = specs["0 bounds"]["datasets"]["lines"]
    filed = [line["f2"] for line in lines if line["f3"] == charts.FILED]
    assert filed == [swept.observed] * 5
    assert specs["0 bounds"]["datasets"]["marks"] == [{"f0": swept.breakdown_epsilon, "f1": "breakdown"}]
    pvalues = specs["1 pvalues"]["datasets"]["points"]
    assert [[p["f2"], p["f3"]] for p in pvalues] == [[p.best_case, p.pvalue] for p in swept.points]


def test_the_slider_moves_every_chart_of_a_sweep(specs: dict[str, Any]):
    for name in ("0 bounds", "1 pvalues", "2 rows"):
        assert specs[name]["params"] == [{"name": "chosen", "value": 0}]
        assert "datum.f0 == chosen" in json.dumps(specs[name]["layer"])


def test_rows_that_move_are_filled(swept: mb.results.SweepResult, specs: dict[str, Any]):
    values = specs["2 rows"]["datasets"]["rows"]
    for place, point in enumerate(swept.points):
        for side, of in (("lower", charts.ROW_SIDES[0]), ("upper", charts.ROW_SIDES[1])):
            here = [v for v in values if v["f0"] == place and v["f4"] == of]
            assert sum(v["f5"] for v in here) == point.n_moved  # all 18 rows are kept
            assert [v["f3"] for v in here] == point.rows.get(f"{side}_change", [])


def test_the_histogram_counts_every_labelling(tested: mb.results.RobustTestResult, specs: dict[str, Any]):
    bars = specs["5 null"]["datasets"]["bars"]
    assert sum(bar["f2"] for bar in bars) == tested.n_permutations == 39
    assert [bars[0]["f0"], bars[-1]["f1"]] == [tested.null.min(), tested.null.max()]
    for bar in bars[:-1]:
        inside = (tested.null >= bar["f0"]) & (tested.null < bar["f1"])
        assert bar["f2"] == np.count_nonzero(inside)


def test_colours_can_be_seen_on_white_and_on_dark():
    def luminance(colour: str) -> float:
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for colour in (charts.BLUE, charts.ORANGE, charts.GREY):
        for ground in ("#ffffff", "#15171a"):
            light, dark = sorted([luminance(colour), luminance(ground)], reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3  # what WCAG asks of graphics
