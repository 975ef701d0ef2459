"""The charts of a page as Vega-Lite specifications.

Fields are called f0, f1, ...: names and cells of a user's file come as values of fields, names of groups
also in the titles of axes, which Vega never evaluates. Series differ by colour and by dashes or shapes.
`words` says what a chart shows, for those who do not see it.
"""

from __future__ import annotations

import textwrap
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
TITLE_WIDTH = 46  # characters of a line below a chart: as many as a phone shows
NARROW_WIDTH = 32  # the same where names stand left of the chart
LABEL_ROOM = 1 / 3  # part of a chart that is wide enough for a name beside a vertical line
BAND = 0.3  # opacity of what is shaded: seen on white and on dark

UPPER, LOWER, FILED = "upper bound", "lower bound", "as filed"
CHANCE = "95 % of what chance alone would give"
FOUND_UPPER, FOUND_LOWER = "largest value found", "smallest value found"
WORST = "largest p-value"
KEPT, LOST = "keeps its sign", "could lose its sign"  # short: beside long names a phone has little room
VALUE_TITLES = {"f1": "what", "f2": "value"}
# Colour and dashes of each series.
STYLES: dict[str, tuple[str, list[int]]] = {
    UPPER: (ORANGE, [1, 0]),
    LOWER: (BLUE, [1, 0]),
    FOUND_UPPER: (ORANGE, [4, 3]),
    FOUND_LOWER: (BLUE, [4, 3]),
    FILED: (GREY, [2, 3]),
    CHANCE: (GREY, [8, 4]),
    WORST: (ORANGE, [1, 0]),
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
    "symbolOpacity": 1,
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


def quantitative(field: str, title: str | list[str], **more: Any) -> Spec:
    """Return a position on an axis."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def in_lines(text: str, width: int = TITLE_WIDTH) -> list[str]:
    """Return the title of a horizontal axis in lines that fit."""
    return textwrap.wrap(text, width, max_lines=3, placeholder=" ...")


def over_shares(
    points: Values, lines: Values, x: Spec, y: Spec, hover: Sequence[str], marks: Values, words: str
) -> Spec:
    """Return curves over the share of misfiled rows, with a band between two of them.

    Points are f0: place, f1: share, f2 and f3: ends of the band; from f4 on the texts for hovering, whose
    titles are `hover`. Lines are f0: place, f1: share, f2: value, f3: name of the series, f4: whether it has
    a dot, f5: the value up to which it is shaded, if any. Marks are f0: a share with a vertical line, f1:
    what it is. `x` and `y` are the positions on the axes, of the fields f1 and f2.
    """
    looks = series(list(dict.fromkeys(line["f3"] for line in lines)), "f3")
    texts = tooltip({f"f{4 + i}": title for i, title in enumerate(hover)})
    band = {"type": "area", "opacity": BAND, "color": GREY, "clip": True}
    curve = {"type": "line", "strokeWidth": 2, "clip": True}
    dot = {"type": "point", "filled": True, "size": 70, "opacity": 1, "clip": True}
    both, moving = "isValid(datum.f2) && isValid(datum.f3)", f"{HERE} && isValid(datum.f2) && datum.f4"
    gap = {"x": x, "y": y, "y2": {"field": "f5"}, "color": looks["color"]}
    layers = [
        layer("points", band, {"x": x, "y": y, "y2": {"field": "f3"}}, both),
        *([layer("lines", {**band, "opacity": 0.5}, gap, "isValid(datum.f5)")] if _shaded(lines) else []),
        layer("lines", curve, {"x": x, "y": y, **looks}),
        *_marked(marks, x),
        layer("points", {"type": "rule", "strokeWidth": 1.5, "color": DARK}, {"x": x}, HERE, "here"),
        layer("lines", dot, {"x": x, "y": y, "color": looks["color"]}, moving),
        layer("points", {"type": "rule", "strokeWidth": 22, "opacity": 0}, {"x": x, "tooltip": texts}),
    ]
    return spec(280, layers, {"points": points, "lines": lines, "marks": marks}, words)


def _shaded(lines: Values) -> bool:
    return any(line["f5"] is not None for line in lines)


def _marked(marks: Values, over: Spec) -> list[Spec]:
    """Return vertical lines with their names at the top; left of them if possible, where curves are low."""
    if not marks:
        return []
    first, last = over["scale"].get("domain", (0.0, 1.0))
    is_right = min(mark["f0"] for mark in marks) < first + LABEL_ROOM * (last - first)
    x = {"field": "f0", "type": "quantitative"}
    beside = {"align": "left", "dx": 5} if is_right else {"align": "right", "dx": -5}
    text = {"type": "text", **beside, "baseline": "top", "dy": 2, "fontSize": 12, "color": DARK}
    name = {"x": x, "y": {"value": 0}, "text": {"field": "f1", "type": "nominal"}}
    return [layer("marks", DOTTED, {"x": x}), layer("marks", text, name)]


def row_changes(values: Values, side: str, statistic: str, words: str) -> Spec:
    """Return what single rows do to one of the two bounds.

    Values are f0: place of the share, f1: rank of the row, f2: its name, f3: change, f4: whether the row is
    moved there; f5 and f6: the change, and whether it is moved, as text.
    """
    of_bound = f"change of the {side} ({statistic})"
    encoding = {
        "y": _ranked("f2", "f1"),
        "x": quantitative("f3", in_lines(of_bound, NARROW_WIDTH), axis={"format": "~g", "tickCount": 4}),
        "tooltip": tooltip({"f2": "row", "f5": "changes the bound by", "f6": "moved there"}),
    }
    mark = {"type": "point", "size": 70, "strokeWidth": 1.6, "color": STYLES[side][0]}
    # Hidden, not left out: where none of these rows moves, a scale of no values would be a warning.
    filled = {"condition": {"test": "datum.f4", "value": 1}, "value": 0}
    known = f"{HERE} && isValid(datum.f3)"
    layers = [
        _zero(),
        layer("rows", {**mark, "opacity": 1}, encoding, known),
        layer("rows", {**mark, "filled": True}, {**encoding, "opacity": filled}, known),
    ]
    n_rows = 1 + max((value["f1"] for value in values), default=0)
    return spec(20 * n_rows, layers, {"rows": values, "zero": [{"f0": 0}]}, words)


def _ranked(field: str, rank: str) -> Spec:
    """Return the position of names, one below the other, by their rank."""
    by = {"sort": {"field": rank, "op": "min"}, "axis": {"labelLimit": 150, "grid": True}}
    return {"field": field, "type": "nominal", "title": None, **by}


def _zero() -> Spec:
    return layer("zero", {"type": "rule", "color": GREY}, {"x": {"field": "f0", "type": "quantitative"}})


def column_differences(values: Values, axis: str, hover: Sequence[str], words: str) -> Spec:
    """Return each column's difference as a dot, and what misfiling can make of it as an interval.

    Values are f0: name, f1: rank, f2: as filed, f3 and f4: ends, f5: `KEPT` or `LOST`, f6: whether it is the
    first; from f7 on the texts for hovering, whose titles are `hover`.
    """
    x, title = {"axis": {"tickCount": 5}}, in_lines(axis, NARROW_WIDTH)
    colours = {"domain": [KEPT, LOST], "range": [BLUE, GREY]}
    by = {"field": "f5", "type": "nominal", "legend": {"columns": 1, "symbolType": "stroke"}}
    texts = tooltip({"f0": "column", **{f"f{7 + i}": name for i, name in enumerate(hover)}})
    whole = {
        "y": _ranked("f0", "f1"),
        "x": quantitative("f3", title, **x),
        "x2": {"field": "f4"},
        "color": {**by, "scale": colours},
        "strokeWidth": {"condition": {"test": "datum.f6", "value": 5}, "value": 2.5},
        "tooltip": texts,
    }
    filed = {"y": _ranked("f0", "f1"), "x": quantitative("f2", title, **x), "tooltip": texts}
    diamond = {"type": "point", "shape": "diamond", "filled": True, "size": 70, "color": ORANGE, "opacity": 1}
    layers = [
        _zero(),
        layer("columns", {"type": "rule", "opacity": 1}, whole),
        layer("columns", diamond, filed),
    ]
    return spec(22 * len(values), layers, {"columns": values, "zero": [{"f0": 0}]}, words)


def interval(
    ranges: Values, values: Values, names: Sequence[str], axis: str, words: str, *, zero: bool = False
) -> Spec:
    """Return a range on one line, with values on it.

    Ranges are f0 and f1: ends, f2: whether it is a gap between what is proved and what is found. Values are
    f0: the value, f1: which of up to three `names`, f2: the value in digits.
    """
    x = quantitative("f0", in_lines(axis), scale={"zero": zero}, axis={"tickCount": 6})
    looks = markers(names, "f1", {UPRIGHT: ORANGE, "circle": BLUE, "diamond": GREY})
    band = {"type": "rule", "strokeWidth": 10, "opacity": 0.5}
    gap = {"condition": {"test": "datum.f2", "value": ORANGE}, "value": GREY}
    mark = {"type": "point", "size": 140, "strokeWidth": 2, "opacity": 1}
    layers = [
        layer("ranges", band, {"x": x, "x2": {"field": "f1"}, "color": gap}),
        layer("values", mark, {"x": x, **looks, "tooltip": tooltip(VALUE_TITLES)}),
    ]
    return spec(60, layers, {"ranges": ranges, "values": values}, words)


def histogram(
    bars: Values,
    marks: Values,
    names: Sequence[str],
    axis: str,
    words: str,
    height: str = "random labellings",
) -> Spec:
    """Return how often labellings have which value, and where the values found are.

    Bars are f0 and f1: their ends, f2: how many; marks are f0: a value, f1: which of `names`, f2: in digits.
    """
    x = quantitative("f0", in_lines(axis), bin={"binned": True}, axis={"tickCount": 6, "grid": False})
    count = {"x": x, "x2": {"field": "f1"}, "y": quantitative("f2", height)}
    value = {"x": quantitative("f0", in_lines(axis)), **series(names, "f1"), "tooltip": tooltip(VALUE_TITLES)}
    layers = [
        layer("bars", {"type": "bar", "color": GREY, "opacity": 0.5}, count),
        layer("marks", {"type": "rule", "strokeWidth": 2.5}, value),
    ]
    return spec(240, layers, {"bars": bars, "marks": marks}, words)
