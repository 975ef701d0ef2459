"""Charts show the numbers of the result, and hold no text of the user but as values of fields."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mmdbounds as mb
from mmdbounds.report import charts
from mmdbounds.report.of_audit import audit_part
from mmdbounds.report.of_columns import columns_part
from mmdbounds.report.of_sweep import sweep_part
from mmdbounds.report.rows import RowNames
from mmdbounds.report.single_share import bounds_part, part_of_test
from report.made import CELL, COLUMN, GROUP, HIDDEN

EXPRESSION = re.compile(r"(datum\.f\d+( == chosen)?|isValid\(datum\.f\d+\))( && |$)")


@pytest.fixture
def specs(
    swept: mb.results.SweepResult,
    bounded: mb.results.BoundsResult,
    tested: mb.results.RobustTestResult,
    columns: mb.results.ColumnTable,
    audited: mb.results.AuditResult,
) -> dict[str, Any]:
    names = RowNames(is_open=True)
    parts = {
        "sweep": sweep_part(swept, names),
        "bounds": bounds_part(bounded, names),
        "test": part_of_test(tested),
        "columns": columns_part(columns),
        "audit": audit_part(audited, names),
    }
    return {f"{kind} {figure.name}": figure.spec for kind, part in parts.items() for figure in part.figures}


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
    assert len(specs) == 10
    for spec in specs.values():
        drawn = {name: part for name, part in spec.items() if name != "datasets"}
        for key, value in walked(drawn):
            if key == "field":
                assert re.fullmatch(r"f\d+", value)
            if key in ("filter", "test", "expr", "signal", "calculate"):
                assert EXPRESSION.sub("", value) == ""
        for values in spec["datasets"].values():
            assert all(re.fullmatch(r"f\d+", name) for value in values for name in value)


def test_names_of_the_user_are_values_or_titles_of_axes(specs: dict[str, Any]):
    for name, spec in specs.items():
        drawn = {key: part for key, part in spec.items() if key != "datasets"}
        for key, value in walked(drawn):
            said = " ".join(value.split()) if isinstance(value, str) else ""
            for text in (CELL, COLUMN, "patient", *((GROUP[:30], HIDDEN[:9]) if key != "title" else ())):
                assert text not in said
        assert (CELL in json.dumps(spec["datasets"])) == ("rows" in name)
        assert (COLUMN in json.dumps(spec["datasets"])) == (name == "columns columns")
    titles = [value for _, value in walked(specs["columns columns"]["layer"]) if isinstance(value, str)]
    assert HIDDEN in " ".join(titles)


def test_the_band_is_that_of_the_points(swept: mb.results.SweepResult, specs: dict[str, Any]):
    points = specs["sweep bounds"]["datasets"]["points"]
    ends = [[p.lower_certified, p.upper_certified] for p in swept.points]
    np.testing.assert_allclose([[p["f2"], p["f3"]] for p in points], ends, rtol=0)
    np.testing.assert_allclose([p["f1"] for p in points], [p.epsilon for p in swept.points], rtol=0)
    lines = specs["sweep bounds"]["datasets"]["lines"]
    filed = [line["f2"] for line in lines if line["f3"] == charts.FILED]
    assert filed == [swept.observed] * 5
    assert specs["sweep bounds"]["datasets"]["marks"] == [{"f0": swept.breakdown_epsilon, "f1": "breakdown"}]
    pvalues = specs["sweep pvalues"]["datasets"]["points"]
    assert [[p["f2"], p["f3"]] for p in pvalues] == [[None, p.pvalue] for p in swept.points]


def test_the_slider_moves_every_chart_of_a_sweep(specs: dict[str, Any]):
    for name in ("sweep bounds", "sweep pvalues", "sweep rows-lower", "sweep rows-upper"):
        assert specs[name]["params"] == [{"name": "chosen", "value": 0}]
        assert "datum.f0 == chosen" in json.dumps(specs[name]["layer"])


def test_rows_that_move_are_filled(swept: mb.results.SweepResult, specs: dict[str, Any]):
    for side in ("lower", "upper"):
        values = specs[f"sweep rows-{side}"]["datasets"]["rows"]
        for place, point in enumerate(swept.points):
            here = [v for v in values if v["f0"] == place]
            assert sum(v["f4"] for v in here) == point.n_moved  # all 18 rows are kept
            assert [v["f3"] for v in here] == point.rows.get(f"{side}_change", [])


def test_columns_are_drawn_with_their_bounds(columns: mb.results.ColumnTable, specs: dict[str, Any]):
    values = specs["columns columns"]["datasets"]["columns"]
    rows = {row.name: row for row in columns.rows}
    assert len(values) == len(rows) == 3
    for value in values:
        row = rows[value["f0"]]
        drawn = [value[name] for name in ("f2", "f3", "f4", "f6")]
        assert drawn == [row.standardised, row.standardised_lower, row.standardised_upper, row.keeps_sign]
        assert value["f5"] == (charts.KEPT if row.keeps_sign else charts.LOST)


def test_gaps_are_shaded_where_proofs_differ_from_what_is_found(swept: mb.results.SweepResult):
    def lines_of(result: mb.results.SweepResult) -> list[Any]:
        return sweep_part(result, RowNames()).figures[0].spec["datasets"]["lines"]

    tight = [dataclasses.replace(p, lower=p.lower_certified, upper=p.upper_certified) for p in swept.points]
    alike = dataclasses.replace(swept, points=tuple(tight))
    assert {line["f5"] for line in lines_of(alike)} == {None}
    apart = [dataclasses.replace(p, lower_certified=p.lower_certified - 0.1) for p in tight]
    lines = lines_of(dataclasses.replace(swept, points=tuple(apart)))
    gaps = [(line["f2"], line["f5"]) for line in lines if line["f3"] == charts.FOUND_LOWER]
    assert gaps == [(p.lower, p.lower_certified) for p in apart]
    assert charts.FOUND_UPPER not in {line["f3"] for line in lines}


def test_the_histogram_counts_every_labelling(tested: mb.results.RobustTestResult, specs: dict[str, Any]):
    bars = specs["test null"]["datasets"]["bars"]
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
