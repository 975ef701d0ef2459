"""The charts of a page as Vega-Lite specifications.

Fields are called f0, f1, ...: names and cells of a user's file come as values of fields, or not at all.
Series differ by colour and by dashes or shapes. `words` says what a chart shows, for those who do not see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]
Values = list[dict[str, Any]]

CHOSEN = "chosen"  # the parameter that holds the place of the share that the slider is at
BLUE, ORANGE, GREY, DARK = "#2f7fc1", "#c8651b", "#808080", "#333333"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
DOTTED = {"type": "rule", "color": GREY, "strokeDash": [2, 3], "strokeWidth": 1.5}
UPRIGHT = "M0,-1V1"  # a short upright line, as a path
HERE = f"datum.f0 == {CHOSEN}"
X_TITLE = "share of the true X rows that are misfiled"

UPPER, LOWER, FILED = "upper bound", "lower bound", "as filed"
CHANCE = "95 % of what chance alone would give"
WORST, BEST = "largest p-value", "smallest p-value"
VALUE_TITLES = {"f1": "value", "f2": "squared MMD"}
# Colour and dashes of each series.
STYLES: dict[str, tuple[str, list[int]]] = {
    UPPER: (ORANGE, [1, 0]),
    LOWER: (BLUE, [1, 0]),
    FILED: (GREY, [2, 3]),
    CHANCE: (GREY, [8, 4]),
    WORST: (ORANGE, [1, 0]),
    BEST: (BLUE, [6, 3]),
}


AXIS = {
    "labelFontSize": 12,
    "titleFontSize": 12,
    "labelColor": DARK,
    "titleColor": DARK,
    "titleFontWeight": "normal",
    "titlePadding": 8,
    "gridColor": "#e4e4e4",
    "domainColor": "#999999",
    "tickColor": "#999999",
}
LEGEND = {
    "orient": "top",
    "direction": "horizontal",
    "columns": 2,
    "title": None,
    "labelFontSize": 12,
    "labelColor": DARK,
    "labelLimit": 300,
    "symbolSize": 90,
}


def spec(height: int, layers: list[Spec], datasets: dict[str, Values], words: str) -> Spec:
    """Return a chart as wide as the page, and `height` pixels high."""
    return {
        "description": words,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "background": "white",
        "params": [{"name": CHOSEN, "value": 0}],
        "datasets": datasets,
        "layer": layers,
        "config": {"aria": False, "font": FONT, "view": {"stroke": None}, "axis": AXIS, "legend": LEGEND},
    }


def layer(data: str, mark: Spec, encoding: Spec, where: str | None = None, name: str | None = None) -> Spec:
    """Return a layer of a chart, of all values or of those where an expression holds."""
    drawn: Spec = {"data": {"name": data}, "mark": mark, "encoding": encoding}
    if where is not None:
        drawn["transform"] = [{"filter": where}]
    return drawn if name is None else {"name": name, **drawn}


def series(names: Sequence[str], field: str) -> Spec:
    """Return colour and dashes by series, with one legend for both."""
    colours, dashes = zip(*(STYLES[name] for name in names), strict=True)
    n_columns = 2 if max(map(len, names)) < 20 else 1  # on a phone longer labels would be cut off
    legend = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 300, "columns": n_columns}
    by = {"field": field, "type": "nominal", "legend": legend}
    return {
        "color": {**by, "scale": {"domain": names, "range": colours}},
        "strokeDash": {**by, "scale": {"domain": names, "range": dashes}},
    }


def markers(names: Sequence[str], field: str, looks: Mapping[str, str]) -> Spec:
    """Return colour and shape by series, with one legend for both; `looks` has the colour of each shape."""
    by = {"field": field, "type": "nominal"}
    return {
        "color": {**by, "scale": {"domain": names, "range": list(looks.values())[: len(names)]}},
        "shape": {**by, "scale": {"domain": names, "range": list(looks)[: len(names)]}},
    }


def tooltip(titles: Mapping[str, str]) -> list[Spec]:
    """Return what is shown on hovering: fields that hold text, and what they are called."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in titles.items()]


def quantitative(field: str, title: str, **more: Any) -> Spec:
    """Return a position on an axis."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def over_shares(
    points: Values,
    lines: Values,
    names: Sequence[str],
    y: Spec,
    hover: Sequence[str],
    marks: Values,
    words: str,
) -> Spec:
    """Return curves over the share of misfiled rows, with a band between two of them.

    Points are f0: place, f1: share, f2 and f3: ends of the band; from f4 on the texts for hovering, whose
    titles are `hover`. Lines are f0: place, f1: share, f2: value, f3: which of `names`. Marks are f0: a share
    with a vertical line, f1: what it is. `y` is the position on the vertical axis, of field f2.
    """
    x = quantitative("f1", X_TITLE, axis={"format": "~%", "grid": False, "tickCount": 6})
    looks = series(names, "f3")
    texts = tooltip({f"f{4 + i}": title for i, title in enumerate(hover)})
    band = {"type": "area", "opacity": 0.14, "color": GREY, "clip": True}
    curve = {"type": "line", "strokeWidth": 2, "clip": True}
    dot = {"type": "point", "filled": True, "size": 70, "opacity": 1, "clip": True}
    both, moving = "isValid(datum.f2) && isValid(datum.f3)", f"{HERE} && isValid(datum.f2) && datum.f4"
    layers = [
        layer("points", band, {"x": x, "y": y, "y2": {"field": "f3"}}, both),
        layer("lines", curve, {"x": x, "y": y, **looks}),
        *_marked(marks),
        layer("points", {"type": "rule", "strokeWidth": 1.5, "color": DARK}, {"x": x}, HERE, "here"),
        layer("lines", dot, {"x": x, "y": y, "color": looks["color"]}, moving),
        layer("points", {"type": "rule", "strokeWidth": 22, "opacity": 0}, {"x": x, "tooltip": texts}),
    ]
    return spec(280, layers, {"points": points, "lines": lines, "marks": marks}, words)


def _marked(marks: Values) -> list[Spec]:
    """Return vertical lines with their names at the top."""
    x = {"field": "f0", "type": "quantitative"}
    at_top = {"align": "left", "baseline": "top", "dx": 5, "dy": 2}
    text = {"type": "text", **at_top, "fontSize": 12, "color": DARK}
    name = {"x": x, "y": {"value": 0}, "text": {"field": "f1", "type": "nominal"}}
    return [layer("marks", DOTTED, {"x": x}), layer("marks", text, name)] if marks else []


ROW_SIDES = (LOWER, UPPER)  # the two ends that a row can change


def row_changes(values: Values, words: str) -> Spec:
    """Return what single rows do to the two ends.

    Values are f0: place of the share, f1: rank of the row, f2: its name, f3: change, f4: which of
    `ROW_SIDES`, f5: whether the row is moved there; f6 and f7: the change, and whether it is moved, as text.
    """
    ranked = {"sort": {"field": "f1", "op": "min"}, "axis": {"labelLimit": 150, "grid": True}}
    encoding = {
        "y": {"field": "f2", "type": "nominal", "title": None, **ranked},
        "x": quantitative("f3", "change of the bound (squared MMD)", axis={"format": "~g", "tickCount": 5}),
        **markers(ROW_SIDES, "f4", {"circle": BLUE, "square": ORANGE}),
        "tooltip": tooltip({"f2": "row", "f4": "changes the", "f6": "by", "f7": "moved there"}),
    }
    mark = {"type": "point", "size": 70, "strokeWidth": 1.6}
    # Hidden, not left out: where none of these rows moves, a scale of no values would be a warning.
    filled = {"condition": {"test": "datum.f5", "value": 1}, "value": 0}
    known = f"{HERE} && isValid(datum.f3)"
    zero = layer("zero", {"type": "rule", "color": GREY}, {"x": {"field": "f0", "type": "quantitative"}})
    layers = [
        zero,
        layer("rows", {**mark, "opacity": 1}, encoding, known),
        layer("rows", {**mark, "filled": True}, {**encoding, "opacity": filled}, known),
    ]
    n_rows = 1 + max((value["f1"] for value in values), default=0)
    return spec(20 * n_rows, layers, {"rows": values, "zero": [{"f0": 0}]}, words)


def interval(low: float, high: float, values: Values, names: Sequence[str], words: str) -> Spec:
    """Return a range on one line, with values on it.

    Values are f0: the value, f1: which of up to three `names`, f2: the value in digits.
    """
    x = quantitative("f0", "squared MMD", scale={"zero": False}, axis={"tickCount": 6})
    looks = markers(names, "f1", {UPRIGHT: ORANGE, "circle": BLUE, "diamond": GREY})
    band = {"type": "rule", "strokeWidth": 8, "color": GREY, "opacity": 0.35}
    mark = {"type": "point", "size": 140, "strokeWidth": 2, "opacity": 1}
    layers = [
        layer("range", band, {"x": x, "x2": {"field": "f1"}}),
        layer("values", mark, {"x": x, **looks, "tooltip": tooltip(VALUE_TITLES)}),
    ]
    return spec(60, layers, {"range": [{"f0": low, "f1": high}], "values": values}, words)


def histogram(bars: Values, marks: Values, names: Sequence[str], words: str, height: str) -> Spec:
    """Return how often labellings have which value, and where the values found are.

    Bars are f0 and f1: their ends, f2: how many; marks are f0: a value, f1: which of `names`, f2: in digits.
    """
    x = quantitative("f0", "squared MMD", bin={"binned": True}, axis={"tickCount": 6, "grid": False})
    count = {"x": x, "x2": {"field": "f1"}, "y": quantitative("f2", height)}
    value = {"x": quantitative("f0", "squared MMD"), **series(names, "f1"), "tooltip": tooltip(VALUE_TITLES)}
    layers = [
        layer("bars", {"type": "bar", "color": GREY, "opacity": 0.5}, count),
        layer("marks", {"type": "rule", "strokeWidth": 2.5}, value),
    ]
    return spec(240, layers, {"bars": bars, "marks": marks}, words)
